"""Passes over stimuli: what is planned, run, recorded and kept."""
