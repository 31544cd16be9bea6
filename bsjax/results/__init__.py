"""Persistent results: the store of scores, queries, and aggregation over the tree of benchmarks."""

from typing import TYPE_CHECKING

from bsjax.core.public_names import on_first_use

if TYPE_CHECKING:
    from bsjax.results.store import ResultStore as ResultStore
    from bsjax.results.store import ResultStore as open  # noqa: F401

__getattr__, __dir__, __all__ = on_first_use(globals())
