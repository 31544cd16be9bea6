"""Other implementations, each in an environment and a process of its own."""

from .brainscore import BrainScore

__all__ = ["BrainScore"]
