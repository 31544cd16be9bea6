"""Import and export of a store: tables of scores, full scores as JSON, other stores, Brain-Score's leaderboard."""

from bsjax.results.exchange.exported import export
from bsjax.results.exchange.imported import check_place, import_scores
from bsjax.results.exchange.merging import Imported, merge

__all__ = ["Imported", "check_place", "export", "import_scores", "merge"]
