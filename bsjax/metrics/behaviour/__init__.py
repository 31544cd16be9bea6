"""Behavioural choices: agreement of observers, thresholds, and linear read-outs of choices from responses."""
