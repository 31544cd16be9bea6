"""Passes over stimuli: planning, running, and storage of results."""
