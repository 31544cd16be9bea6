"""Draws and permutations of stimuli, neuroids and subjects."""
