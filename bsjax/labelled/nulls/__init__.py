"""Scores by chance: the same comparison after the responses of stimuli were exchanged."""
