"""Activations on disk: computed once, found again by the content of all that they are made of.

A cache is a folder. Each entry is one layer's activations for a sequence of stimuli, and has a folder of its own, named
by the digest of its recipe: ``values.npy``, which any program can read, and ``entry.json``, which says what it is. What
is being computed lies in ``.unfinished`` and appears in its place when it is whole.
"""

from bsjax.activations.cache.cache import ActivationCache
from bsjax.activations.cache.default import default_cache
from bsjax.activations.cache.entries import Entry
from bsjax.activations.cache.files import Problem, Unwritable
from bsjax.activations.cache.recipe import Recipe
from bsjax.activations.cache.writer import EntryTooLarge, Writer

__all__ = ["ActivationCache", "Entry", "EntryTooLarge", "Problem", "Recipe", "Unwritable", "Writer", "default_cache"]
