"""The environments that other implementations run in."""

from .environment import interpreter

__all__ = ["interpreter"]
