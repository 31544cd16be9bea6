"""What was found of a model or of data when it was built last, under what can be told without building it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bsjax.core.disk_errors import optional
from bsjax.core.files import as_json, cache_dir, write_atomically
from bsjax.core.identity.opened import Notes


def remember(fingerprint: str, content: str, notes: Notes) -> None:
    """Keep what was found, with the files that were read to find it.

    Args:
        fingerprint: of what can be told beforehand.
        content: what was found.
        notes: what was read, from :func:`~bsjax.core.identity.opened.following`.

    Example:
        >>> remember("0" * 32, "resnet50", {})
        >>> remembered("0" * 32)
        ('resnet50', {})
    """
    path = _place(fingerprint)
    with optional("keep what models are made of", path.parent):
        write_atomically(path, as_json({"content": content, "opened": notes}), sync=False)


def remembered(fingerprint: str) -> tuple[str, Notes] | None:
    """What was found with this fingerprint, and what was read for it, which may have changed; None for nothing."""
    try:
        kept: Any = json.loads(_place(fingerprint).read_bytes())
        return str(kept["content"]), {
            str(name): [str(part) for part in parts] for name, parts in kept["opened"].items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):  # none, or a damaged one
        return None


def _place(fingerprint: str) -> Path:
    return cache_dir() / "identities" / fingerprint[:2] / f"{fingerprint}.json"
