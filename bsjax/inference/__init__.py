"""Statements from scores: which models differ, which are as good, and which reach the ceiling."""
