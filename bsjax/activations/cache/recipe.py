"""The recipe of cached activations."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

_FORMAT = "bsjax activations 2"


@dataclass(frozen=True)
class Recipe:
    """Everything that determines one layer's activations. Digests are those of :mod:`bsjax.core.identity`.

    Attributes:
        layer: its name.
        model: digest of weights and code.
        preprocessing: digest of the preprocessing.
        reducer: digest of the reducer; "" for none.
        items: digest of each item shown, in the order of the rows.
        versions: names and versions of libraries that affect the values.
    """

    layer: str
    model: str
    preprocessing: str
    reducer: str
    items: tuple[str, ...]
    versions: tuple[tuple[str, str], ...]

    def key(self) -> str:
        """Digest of the recipe, 32 hexadecimal digits, which names the entry.

        Example:
            >>> recipe = Recipe("conv1", "m", "p", "", ("a", "b"), (("bsjax", "0.1"),))
            >>> recipe.key() == Recipe("conv1", "m", "p", "", ("b", "a"), (("bsjax", "0.1"),)).key()
            False
        """
        parts = [_FORMAT, self.layer, self.model, self.preprocessing, self.reducer, self.items, self.versions]
        return _digest(parts)

    def note(self) -> dict[str, Any]:
        """A short form of the recipe for ``entry.json``."""
        return {
            "layer": self.layer,
            "model": self.model,
            "preprocessing": self.preprocessing,
            "reducer": self.reducer,
            "items": _digest(self.items),
            "versions": dict(self.versions),
        }


def _digest(parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]
