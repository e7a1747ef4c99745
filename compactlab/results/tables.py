"""Rows of replays as Arrow tables with the documented columns, and as pandas frames."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any

from compactlab.columns import ARROW, DTYPES, KEY, TABLES, WHEN_ASKED
from compactlab.errors import UnknownName

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


MOST = 2**63 - 1  # of a column of whole numbers


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
    return pa.schema([pa.field(c.name, ARROW[c.type]) for c in TABLES[table]])


def checked(rows: Rows) -> Rows:
    """The rows, if every whole number in them fits a table; OverflowError names the column."""
    for name, columns in TABLES.items():
        several = [rows.run] if name == "runs" else getattr(rows, name)
        for row in several:
            for column, value in zip(columns if name == "runs" else columns[len(KEY):], row,
                                     strict=False):
                if type(value) is int and abs(value) > MOST:
                    raise OverflowError(f"{column.name} is beyond what a table holds")
    return rows


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
    """The values as a column; lone surrogates, which no text of a table can hold, become `?`."""
    import pyarrow as pa

    try:
        return pa.array(values, type=type)
    except UnicodeEncodeError:
        return pa.array([value.encode("utf-8", "replace").decode() if isinstance(value, str)
                         else value for value in values], type=type)


def join(parts: Iterable[Tables]) -> Tables:
    """The tables of several parts, all of the same tables, one behind the other."""
    import pyarrow as pa

    found = list(parts) or [tables(())]
    joined = {name: pa.concat_tables([getattr(part, name) for part in found])
              for name, _ in found[0].items()}
    return Tables(**{name: table.combine_chunks() for name, table in joined.items()})


def to_pandas(table: pa.Table) -> pd.DataFrame:
    """The table as pandas with nullable types, as a replay's own tables have; missing is NA."""
    import pandas as pd
    import pyarrow as pa

    types: dict[Any, Any] = {pa.field("", arrow).type: pd.api.types.pandas_dtype(DTYPES[name])
                             for name, arrow in ARROW.items()}
    return table.to_pandas(types_mapper=types.get)
