"""Computations that devices do in different ways, each behind a name that says what is computed."""
