"""Decompositions and systems of symmetric matrices, for many of them at once."""
