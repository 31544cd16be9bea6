"""Cache of activations on disk, addressed by the content of everything that determines them.

A cache is a folder. Each entry holds one layer's activations for a sequence of stimuli, in a subfolder named by the
digest of its recipe: ``values.npy``, which any program can read, and ``entry.json``, which describes it. Entries that
are being computed are in ``.unfinished`` and are moved to their place when complete.
"""

from bsjax.activations.cache.cache import ActivationCache
from bsjax.activations.cache.default import default_cache
from bsjax.activations.cache.entries import Entry
from bsjax.activations.cache.files import Problem, Unwritable
from bsjax.activations.cache.recipe import Recipe
from bsjax.activations.cache.writer import EntryTooLarge, Writer

__all__ = ["ActivationCache", "Entry", "EntryTooLarge", "Problem", "Recipe", "Unwritable", "Writer", "default_cache"]
