"""Results that last: the store of scores, queries, and aggregation up the benchmark tree."""

from bsjax.results.store import ResultStore

__all__ = ["ResultStore", "open"]

open = ResultStore
