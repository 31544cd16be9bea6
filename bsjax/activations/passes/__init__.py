"""Passes over stimuli: their plan, their runs, and what is kept of them."""
