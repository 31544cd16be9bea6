"""Choices of observers, their agreement, thresholds, and read-outs of choices from responses."""
