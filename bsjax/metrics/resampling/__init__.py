"""Similarities of many draws or subsets of the stimuli."""
