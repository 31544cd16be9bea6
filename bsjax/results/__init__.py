"""Persistent results: the store of scores, queries, and aggregation over the tree of benchmarks."""

from bsjax.results.store import ResultStore

__all__ = ["ResultStore", "open"]

open = ResultStore
