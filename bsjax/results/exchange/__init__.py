"""Import and export of a store: tables of scores, full scores as JSON, other stores, Brain-Score's leaderboard."""

from typing import TYPE_CHECKING

from bsjax.core.public_names import on_first_use

if TYPE_CHECKING:
    from bsjax.results.exchange.exported import export as export
    from bsjax.results.exchange.imported import check_place as check_place
    from bsjax.results.exchange.imported import import_scores as import_scores
    from bsjax.results.exchange.merging import Imported as Imported
    from bsjax.results.exchange.merging import merge as merge

__getattr__, __dir__, __all__ = on_first_use(globals())
