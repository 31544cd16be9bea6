"""Cache of identities of models and data, by fingerprints that are known without building them."""

import json
from pathlib import Path
from typing import Any

from bsjax.core.files import as_json, cache_dir, optional, write_atomically
from bsjax.core.identity.opened import Notes


def remember(fingerprint: str, content: str, notes: Notes) -> None:
    """Store an identity with notes on the files that were read to determine it.

    Args:
        fingerprint: fingerprint of what is known without building.
        content: the identity.
        notes: notes on files read, from :func:`~bsjax.core.identity.opened.following`.

    Example:
        >>> remember("0" * 32, "resnet50", {})
        >>> remembered("0" * 32)
        ('resnet50', {})
    """
    path = _place(fingerprint)
    with optional("keep what models are made of", path.parent):
        write_atomically(path, as_json({"content": content, "opened": notes}), sync=False)


def remembered(fingerprint: str) -> tuple[str, Notes] | None:
    """Get the stored identity of a fingerprint and its notes, which may be outdated; None if there is none."""
    try:
        kept: Any = json.loads(_place(fingerprint).read_bytes())
        return str(kept["content"]), {
            str(name): [str(part) for part in parts] for name, parts in kept["opened"].items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):  # none, or a damaged one
        return None


def _place(fingerprint: str) -> Path:
    return cache_dir() / "identities" / fingerprint[:2] / f"{fingerprint}.json"
