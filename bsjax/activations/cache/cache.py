"""The activation cache: a folder of limited size, shared by any number of processes and threads."""

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

from bsjax.activations.cache.claims import claimed, wait
from bsjax.activations.cache.entries import UNFINISHED, Entry, discard, empty_trash, entries_in
from bsjax.activations.cache.files import NOTE, Damaged, Problem, checked_note, file_size, mapped, writing
from bsjax.activations.cache.recipe import Recipe
from bsjax.activations.cache.writer import EntryTooLarge, Writer
from bsjax.core.files import cache_dir
from bsjax.core.identity.opened import Notes, unchanged
from bsjax.core.memory import parse_bytes
from bsjax.core.messages import in_words

_SIZE_VARIABLE, _DEFAULT_SIZE = "BSJAX_CACHE_SIZE", "50GB"


class ActivationCache:
    """Activations on disk, addressed by their recipe.

    When the cache is full, the least recently used entries are evicted. An entry appears complete or not at all, and
    one process writes it at a time. A process that has mapped an entry keeps it after eviction.

    The recipe covers everything about a model that is known before it runs: weights, code, and the values that the
    code reads. Files, folders and environment variables that are read while the model runs are recorded with the
    activations, with their digests, and checked before the activations are reused. Some changes cannot be detected,
    and stale activations are then returned:

    - changes of what an installed library reads by itself, of its own variables, and of files that a C library opens
      without Python, other than HDF5 and safetensors;
    - user code that replaces a function of the standard library, if only a library calls it;
    - changes of random numbers, the time, data from a network or another process, and objects that the code looks up
      by ``getattr``, ``eval`` or ``import`` with a name built at run time;
    - changes of a weight or a setting while an extraction runs.

    With ``cache=None``, activations of such a model are computed every time.

    Args:
        root: the folder; by default ``activations`` in ``$BSJAX_HOME``. It is created on the first write.
        max_bytes: limit on the total size of entries, also as ``"10GB"``; by default ``$BSJAX_CACHE_SIZE``, or 50 GB.

    Raises:
        ValueError: ``max_bytes`` is not a size.

    Example:
        >>> import tempfile
        >>> recipe = Recipe("conv1", "model", "preprocessing", "", ("image 1", "image 2"), ())
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     cache = ActivationCache(Path(folder), "1GB")
        ...     with cache.write(recipe, "resnet", (2, 3), np.float32) as writer:
        ...         writer.write(0, np.ones((2, 3), np.float32))
        ...         writer.commit()
        ...     cache.read(recipe).sum(), cache.size()
        (np.float32(6.0), 152)
    """

    def __init__(self, root: str | Path | None = None, max_bytes: int | str | None = None) -> None:
        self.root = cache_dir() / "activations" if root is None else Path(root)
        named = os.environ.get(_SIZE_VARIABLE)
        try:
            self.max_bytes = parse_bytes((named or _DEFAULT_SIZE) if max_bytes is None else max_bytes)
        except ValueError as error:
            raise ValueError(f"{_SIZE_VARIABLE}: {error}" if max_bytes is None else str(error)) from None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.root)!r}, {in_words(self.max_bytes)!r})"

    def read(self, recipe: Recipe) -> np.ndarray | None:
        """The activations of a recipe, memory-mapped and read-only, rows first; None if they are not cached.

        Returns None also if a file that was read to make them has changed. Shape, size and dtype are checked, as is
        the digest of the values if the file's modification time has changed. A damaged entry is removed with a
        warning, and None is returned, as for an entry without read permission.
        """
        folder = self._folder(recipe.key())
        try:
            note = checked_note(folder)
        except Damaged as error:
            warnings.warn(
                f"stored activations of layer {recipe.layer!r} are damaged and computed anew: {error} ({folder})",
                RuntimeWarning,
                stacklevel=2,
            )
            discard(self.root, folder)
            return None
        except OSError:
            return None
        try:
            values = mapped(folder) if unchanged(note["opened"]) else None
        except FileNotFoundError:  # evicted in the meantime
            return None
        with suppress(OSError):  # evicted in the meantime, or on a read-only disk
            os.utime(folder / NOTE)
        return values

    @contextmanager
    def write(
        self,
        recipe: Recipe,
        identifier: str,
        shape: tuple[int, ...],
        dtype: DTypeLike,
        opened: Callable[[], Notes] = dict,
    ) -> Iterator[Writer | None]:
        """A writer for the activations of a recipe; None if another process or thread is writing them, or they exist.

        Without ``commit``, the written rows are kept, and the next writer continues after them. Disk space for all
        rows is reserved at the start, for which the least recently used entries are evicted.

        Args:
            recipe: what determines the activations.
            identifier: the model's name, for display.
            shape: of all rows.
            dtype: of the values.
            opened: returns the files that have been read so far to make them.

        Raises:
            EntryTooLarge: they exceed the limit of the cache.
            ValueError: there are no rows, or NumPy has no such dtype.
            Unwritable: the disk is full, or the folder cannot be written; nothing is left behind. It is an OSError.
        """
        shape, dtype, key = tuple(map(int, shape)), np.dtype(dtype), recipe.key()
        if not shape:
            raise ValueError("the shape of activations begins with the number of rows, got ()")
        n_bytes = file_size(shape, dtype)
        if n_bytes > self.max_bytes:
            raise EntryTooLarge(
                f"activations of layer {recipe.layer!r} of model {identifier!r} take {in_words(n_bytes)}, more than "
                f"the {in_words(self.max_bytes)} that the cache at {self.root} may hold, and are not kept; set "
                f"{_SIZE_VARIABLE} to more, or choose a reducer"
            )
        with claimed(self.root, key) as is_ours:
            with writing(self.root):
                free = is_ours and not self._is_whole(key)
                if free:
                    self._evict(n_bytes, keep=key)
            if not free:
                yield None
                return
            left = self.root / UNFINISHED / key
            note = {**recipe.note(), "key": key, "identifier": identifier, "shape": shape, "dtype": dtype.str}
            note["created"] = datetime.now(UTC).isoformat()
            writer = Writer(left, self._folder(key), note, opened, lambda: self._evict(0, keep=key))
            try:
                yield writer
            finally:
                writer.close()

    def wait(self, recipe: Recipe) -> None:
        """Wait until nobody is writing the activations of a recipe: they are complete, or their writer has ended."""
        wait(self.root, recipe.key())

    def entries(self) -> list[Entry]:
        """The entries of the cache, most recently used first, including unfinished ones."""
        return entries_in(self.root)

    def size(self) -> int:
        """Total size in bytes, including the space reserved for unfinished entries."""
        return sum(entry.n_bytes for entry in entries_in(self.root))

    def prune(
        self, max_bytes: int | str | None = None, unused_for: timedelta | None = None, model: str | None = None
    ) -> list[Entry]:
        """Remove entries, except those that are being written.

        Without ``max_bytes``, all entries that match the other arguments are removed. Without any arguments, the cache
        is reduced to its own limit.

        Args:
            max_bytes: remove the least recently used entries until the whole cache is at most this large.
            unused_for: only entries not used for this long.
            model: only entries of this model; may be a glob.

        Returns:
            The removed entries.

        Example:
            >>> ActivationCache("no/such/folder").prune(unused_for=timedelta(days=30))
            []
        """
        if max_bytes is None:
            bound = self.max_bytes if unused_for is None and model is None else 0
        else:
            bound = 0 if max_bytes == 0 else parse_bytes(max_bytes)
        before = None if unused_for is None else datetime.now(UTC) - unused_for
        empty_trash(self.root)
        found = entries_in(self.root)
        total, removed = sum(entry.n_bytes for entry in found), []
        for entry in reversed(found):
            if total <= bound and bound > 0:
                break
            wanted = fnmatchcase(entry.identifier, model or "*")  # read before it is removed
            if wanted and (before is None or entry.last_used < before) and self._remove(entry):
                total -= entry.n_bytes
                removed.append(entry)
        return removed

    def verify(self) -> list[Problem]:
        """Read every finished entry, and return those that are damaged."""
        problems = []
        for entry in entries_in(self.root):
            if entry.complete:
                try:
                    checked_note(entry.folder, reread=True)
                except FileNotFoundError:  # evicted in the meantime
                    continue
                except (Damaged, OSError) as error:
                    problems.append(Problem(entry.key, entry.folder, str(error)))
        return problems

    def remove(self, key: str) -> bool:
        """Remove a finished entry, even if damaged; False if it does not exist.

        Example:
            >>> ActivationCache("no/such/folder").remove("0" * 32)
            False
        """
        return self.root.is_dir() and discard(self.root, self._folder(key))

    def _folder(self, key: str) -> Path:
        return self.root / key[:2] / key

    def _is_whole(self, key: str) -> bool:
        with suppress(FileNotFoundError, Damaged):
            if unchanged(checked_note(self._folder(key))["opened"]):
                return True
        discard(self.root, self._folder(key))
        return False

    def _evict(self, room: int, keep: str) -> None:
        """Evict the least recently used entries until there is room for this many more bytes."""
        found = [entry for entry in entries_in(self.root) if entry.key != keep or entry.complete]
        total = room + sum(entry.n_bytes for entry in found)
        for entry in reversed(found):
            if total <= self.max_bytes:
                break
            if entry.key != keep and self._remove(entry):
                total -= entry.n_bytes

    def _remove(self, entry: Entry) -> bool:
        if entry.complete:
            return discard(self.root, entry.folder)
        with claimed(self.root, entry.key) as is_ours:
            return is_ours and discard(self.root, entry.folder)


_OFF_VARIABLE = "RESULTCACHING_DISABLE"
# Names by which caching can be disabled: Brain-Score's cached function, and this package.
_NAMES = (
    "brainscore_vision.model_helpers.activations.core.ActivationsExtractorHelper._from_paths_stored",
    "bsjax.activations.cache",
)


def default_cache() -> ActivationCache | None:
    """The user's cache; None if ``$RESULTCACHING_DISABLE`` disables it.

    As in Brain-Score, the variable is ``1`` to disable all caching, or a comma-separated list of modules: here
    ``bsjax.activations``, Brain-Score's own name, or any prefix of these.

    Raises:
        ValueError: ``$BSJAX_CACHE_SIZE`` is not a size.

    Example:
        >>> default_cache().root.name
        'activations'
    """
    return None if is_switched_off(*_NAMES) else ActivationCache()


def is_switched_off(*names: str) -> bool:
    """Whether ``$RESULTCACHING_DISABLE`` disables caching for one of these names."""
    off = os.environ.get(_OFF_VARIABLE, "")
    prefixes = tuple(name.strip() for name in off.split(",") if name.strip() not in ("", "0"))
    return off.strip() == "1" or any(name.startswith(prefixes) for name in names)
