"""Minimisation of smooth functions, in forms that compile and batch."""
