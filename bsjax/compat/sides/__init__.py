"""Scores, metrics and models from one side to the other: as bsjax has them, and as plugins do."""
