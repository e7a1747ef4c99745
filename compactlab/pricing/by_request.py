"""Prices of a session that changed its model: a row for each request."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from compactlab.caching.money import Prices
from compactlab.pricing.table import PriceRow


class PriceList(Protocol):
    """What bills are made with: one row, or a row for each request."""

    @property
    def model(self) -> str: ...

    @property
    def prices_as_of(self) -> str: ...

    def at(self, prompt: int, request: int = 0) -> Prices:
        """The prices of a request by its number, whose prompt has so many tokens."""
        ...


class Mixed(NamedTuple):
    """A row for each request, by its number; behind the last one that row holds on."""

    rows: tuple[PriceRow, ...]

    @property
    def model(self) -> str:
        """The models, in the order in which they were used."""
        return ", ".join(dict.fromkeys(row.model for row in self.rows))

    @property
    def prices_as_of(self) -> str:
        """Days and sources, each once."""
        return "; ".join(dict.fromkeys(row.prices_as_of for row in self.rows))

    def at(self, prompt: int, request: int = 0) -> Prices:
        """See `PriceList.at`."""
        return self.rows[min(request, len(self.rows) - 1)].at(prompt)
