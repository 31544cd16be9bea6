"""The base of wrappers, which have the attributes of what they wrap."""

from __future__ import annotations

from typing import Any


class Holding:
    """Has the attributes of what it holds under the name ``_holds``, save for those that it has itself."""

    _holds: str

    def __init__(self, held: Any) -> None:
        setattr(self, self._holds, held)

    def __getattr__(self, name: str) -> Any:
        if name == self._holds:  # of one that is copied, before it holds anything
            raise AttributeError(name)
        return getattr(getattr(self, self._holds), name)
