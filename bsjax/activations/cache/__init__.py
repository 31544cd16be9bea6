"""Cache of activations on disk, addressed by the content of everything that determines them.

A cache is a folder. Each entry holds one layer's activations for a sequence of stimuli, in a subfolder named by the
digest of its recipe: ``values.npy``, which any program can read, and ``entry.json``, which describes it. Entries that
are being computed are in ``.unfinished`` and are moved to their place when complete.
"""

from typing import TYPE_CHECKING

from bsjax.core.public_names import on_first_use

if TYPE_CHECKING:
    from bsjax.activations.cache.cache import ActivationCache as ActivationCache
    from bsjax.activations.cache.cache import default_cache as default_cache
    from bsjax.activations.cache.entries import Entry as Entry
    from bsjax.activations.cache.files import Problem as Problem
    from bsjax.activations.cache.files import Unwritable as Unwritable
    from bsjax.activations.cache.recipe import Recipe as Recipe
    from bsjax.activations.cache.writer import EntryTooLarge as EntryTooLarge
    from bsjax.activations.cache.writer import Writer as Writer

__getattr__, __dir__, __all__ = on_first_use(globals())
