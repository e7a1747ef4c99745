"""Rows of replays as Arrow tables with the documented columns, and as pandas frames."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any

from compactlab.columns import KEY, TABLES, WHEN_ASKED
from compactlab.errors import UnknownName

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


MOST = 2**63 - 1  # of a column of whole numbers; only nonsense is larger


@dataclass(frozen=True)
class Rows:
    """What one replay gives: its row of `runs`, and its rows of the other tables.

    Each in the order of its columns in `columns.TABLES`; all but `run` without the key columns,
    which are the first of `run`. Columns that are left out at the end are missing.
    """

    run: Sequence[Any]
    requests: Sequence[Sequence[Any]] = ()
    compactions: Sequence[Sequence[Any]] = ()
    quality: Sequence[Sequence[Any]] = ()


@dataclass(frozen=True)
class Tables:
    """The tables of a run, in the order of `columns.TABLES`; `quality` only when asked for."""

    runs: pa.Table
    requests: pa.Table
    compactions: pa.Table
    quality: pa.Table | None = None

    def items(self) -> tuple[tuple[str, pa.Table], ...]:
        """(name, table) of each table that is there."""
        found = ((name, getattr(self, name)) for name in TABLES)
        return tuple((name, table) for name, table in found if table is not None)


def schema(table: str) -> pa.Schema:
    """The Arrow schema of a table; every column may hold nulls. UnknownName for another table."""
    import pyarrow as pa

    if table not in TABLES:
        raise UnknownName("table", table, TABLES)
    types = {"string": pa.string(), "int": pa.int64(), "float": pa.float64(), "bool": pa.bool_()}
    return pa.schema([pa.field(c.name, types[c.type]) for c in TABLES[table]])


def tables(replays: Iterable[Rows], *, quality: bool = False) -> Tables:
    """The tables of some replays, that of `quality` if asked for; rows stay in the order given."""
    runs: list[Sequence[Any]] = []
    others = {name: _Columns(len(TABLES[name]) - len(KEY)) for name in TABLES
              if name != "runs" and (quality or name not in WHEN_ASKED)}
    for rows in replays:
        key = rows.run[: len(KEY)]
        runs.append([*rows.run, *repeat(None, len(TABLES["runs"]) - len(rows.run))])
        for name, made in others.items():
            made.add(key, getattr(rows, name))
    by_column = [list(column) for column in zip(*runs, strict=True)]
    return Tables(
        _table("runs", by_column or [[] for _ in TABLES["runs"]]),
        **{name: _table(name, made.columns) for name, made in others.items()})


class _Columns:
    """Rows gathered column by column, with the key of their replay in front."""

    def __init__(self, width: int) -> None:
        self.columns: list[list[Any]] = [[] for _ in range(len(KEY) + width)]

    def add(self, key: Sequence[Any], rows: Sequence[Sequence[Any]]) -> None:
        for column, value in zip(self.columns, key, strict=False):
            column.extend(repeat(value, len(rows)))
        given = [list(values) for values in zip(*rows, strict=True)]
        for at, column in enumerate(self.columns[len(KEY) :]):
            column.extend(given[at] if at < len(given) else repeat(None, len(rows)))


def _table(name: str, columns: Sequence[Sequence[Any]]) -> pa.Table:
    import pyarrow as pa

    wanted = schema(name)
    arrays = [_array(column, field.type) for column, field in zip(columns, wanted, strict=True)]
    return pa.Table.from_arrays(arrays, schema=wanted)


def _array(values: Sequence[Any], type: pa.DataType) -> Any:
    """The values as a column; what no column can hold comes as near as it can."""
    import pyarrow as pa

    try:
        return pa.array(values, type=type)
    except (UnicodeEncodeError, OverflowError):
        return pa.array([_holdable(value) for value in values], type=type)


def _holdable(value: Any) -> Any:
    """A text without lone surrogates, a whole number of 64 bits."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return min(max(value, -MOST), MOST) if isinstance(value, int) else value


def join(parts: Iterable[Tables]) -> Tables:
    """The tables of several parts, all of the same tables, one behind the other."""
    import pyarrow as pa

    found = list(parts) or [tables(())]
    joined = {name: pa.concat_tables([getattr(part, name) for part in found])
              for name, _ in found[0].items()}
    return Tables(**{name: table.combine_chunks() for name, table in joined.items()})


def frame(table: pa.Table) -> pd.DataFrame:
    """The table as pandas with nullable types, as a replay's own tables have; missing is NA."""
    import pandas as pd
    import pyarrow as pa

    types = {
        pa.string(): pd.StringDtype(),
        pa.int64(): pd.Int64Dtype(),
        pa.float64(): pd.Float64Dtype(),
        pa.bool_(): pd.BooleanDtype(),
    }
    return table.to_pandas(types_mapper=types.get)
