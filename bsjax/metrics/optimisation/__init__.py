"""Minimisation of smooth functions, as compilable programs that can be batched."""
