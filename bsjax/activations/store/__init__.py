"""Activations on disk: computed once, found again by the content of all that they are made of.

A store is a folder. Each entry is one layer's activations for a sequence of stimuli, and has a folder of its own, named
by the digest of its recipe: ``values.npy``, which any program can read, and ``entry.json``, which says what it is. What
is being computed lies in ``.unfinished`` and appears in its place when it is whole.
"""

from bsjax.activations.store.default import default_store
from bsjax.activations.store.entries import Entry
from bsjax.activations.store.files import Problem, Unwritable
from bsjax.activations.store.recipe import Recipe
from bsjax.activations.store.store import ActivationStore
from bsjax.activations.store.writer import EntryTooLarge, Writer

__all__ = ["ActivationStore", "Entry", "EntryTooLarge", "Problem", "Recipe", "Unwritable", "Writer", "default_store"]
