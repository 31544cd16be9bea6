"""Noise ceilings cached on disk, keyed by the digests of their data and method, and by their version."""

from __future__ import annotations

import hashlib
import json
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bsjax.benchmarks.data_digest import data_digest
from bsjax.benchmarks.lazy_loading import loader
from bsjax.core.digests.arrays import Undigestible
from bsjax.core.files import as_json, cache_dir, optional, write_atomically
from bsjax.core.identity.opened import Notes, following, unchanged
from bsjax.core.identity.source import OF_CEILINGS, own_source
from bsjax.core.identity.values import identity_of
from bsjax.engine.precision import precision
from bsjax.labelled import Provenance, Score
from bsjax.labelled.metric import as_metric, scored
from bsjax.labelled.resampling.draws import Resampling

if TYPE_CHECKING:
    from bsjax.benchmarks.lazy_loading import LazyLoad
    from bsjax.data import DataAssembly


class Ceiling:
    """A ceiling computed from data: a function without arguments whose result is cached on disk.

    The cache key covers the data (values, dimensions and coordinates), the method (settings and code; for methods of
    bsjax, the code of all metrics and benchmarks), the version, the precision, and the bootstrap resamples if any. A
    change to any of them leads to a new computation, as does a change to a file that the method reads. A method
    without a digest is computed anew in every process. Each cache file holds its own digest; a file that was altered
    or misplaced leads to a warning, and the ceiling is computed and written again.

    Args:
        method: ``method(data) -> Score``, e.g. ``load_ceiling("internal_consistency")``.
        data: the data, usually single trials: an assembly, a function without arguments that loads it, or a
            ``LazyLoad``.
        version: number to raise by one when the method changes in a way that its settings and code do not show.

    Example:
        >>> from bsjax import load_ceiling
        >>> from bsjax.benchmarks.families.simulated.benchmark import assembly
        >>> ceiling = Ceiling(load_ceiling("internal_consistency"), assembly)
        >>> ceiling() == ceiling()
        True
    """

    def __init__(
        self,
        method: Callable[[Any], Score],
        data: DataAssembly | Callable[[], Any] | LazyLoad,
        version: int = 1,
    ) -> None:
        self.method = method
        self.data = loader(data)
        self.version = version

    def __call__(self) -> Score:
        data = self.data()
        try:
            path = self._path(data)
        except Undigestible:
            return scored(self.method, data)
        kept = _read(path)
        if kept is not None:
            return kept
        with following() as followed:
            score = scored(self.method, data)
        plain, opened = score.to_dict(), followed.notes()
        with optional("keep ceilings", path.parent):
            digest = _digest_of_file(path, plain, opened)
            write_atomically(path, as_json({"sha256": digest, "score": plain, "opened": opened}))
        return score

    def _path(self, data: DataAssembly) -> Path:
        with precision(as_metric(self.method).dtype) as dtype:
            parts = (data_digest(data), own_source(*OF_CEILINGS), self.method, self.version, str(dtype))
            plan = Resampling.active()
            key = identity_of(parts if plan is None else (*parts, repr(plan)))
        return cache_dir() / "ceilings" / f"{key}.json"


@dataclass(frozen=True)
class KnownCeiling:
    """A ceiling with a known value, as a function without arguments. Made by :func:`constant_ceiling`.

    Attributes:
        value: the ceiling.
        source: who computed it, and from what.
        error: its standard error, if known.

    Raises:
        ValueError: the ceiling is not a positive number, or its error is negative or not finite.
    """

    value: float
    source: str
    error: float | None = None

    def __post_init__(self) -> None:
        if not 0 < self.value < math.inf:
            raise ValueError(f"a ceiling must be a positive number, got {self.value!r} from {self.source}")
        if self.error is not None and not 0 <= self.error < math.inf:
            raise ValueError(f"the error of a ceiling must be a number from 0, got {self.error!r} from {self.source}")

    def __call__(self) -> Score:
        return Score(self.value, error=self.error, provenance=Provenance(details={"source": self.source}))


def constant_ceiling(value: float, source: str, error: float | None = None) -> KnownCeiling:
    """A ceiling with a known value, whose source is stored in its provenance.

    Args:
        value: the ceiling.
        source: who computed it, and from what.
        error: its standard error, if known.

    Raises:
        ValueError: the ceiling is not a positive number, or its error is negative or not finite.

    Example:
        >>> constant_ceiling(0.79, "computed offline by the authors")().provenance["source"]
        'computed offline by the authors'
    """
    return KnownCeiling(value, source, error)


def _digest_of_file(path: Path, plain: Any, opened: Notes) -> str:
    """Digest of a file's content and name; including the name catches a file copied to another ceiling's place."""
    return hashlib.sha256(path.name.encode() + b"\0" + as_json([plain, opened])).hexdigest()


def _read(path: Path) -> Score | None:
    try:
        kept = json.loads(path.read_bytes())
        if not isinstance(kept, dict) or kept.keys() != {"sha256", "score", "opened"}:
            raise ValueError("it must have the keys sha256, score and opened")
        if kept["sha256"] != _digest_of_file(path, kept["score"], kept["opened"]):
            raise ValueError("it was changed or renamed after it was written: its SHA-256 differs")
        return Score.from_dict(kept["score"]) if unchanged(kept["opened"]) else None
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        warnings.warn(f"the ceiling in {path} cannot be read ({error}): it is computed again", stacklevel=3)
        return None
