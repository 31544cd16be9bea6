"""What goes in and out of a store: tables of scores, whole scores as JSON, other stores, Brain-Score's leaderboard."""

from bsjax.results.exchange.exported import export
from bsjax.results.exchange.imported import check_place, import_scores
from bsjax.results.exchange.merging import Imported, merge

__all__ = ["Imported", "check_place", "export", "import_scores", "merge"]
