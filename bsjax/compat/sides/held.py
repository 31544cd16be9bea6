"""Base class of wrappers that delegate attributes to the wrapped object."""

from typing import Any


class Holding:
    """Delegates attributes it lacks to the object stored under the name ``_holds``."""

    _holds: str

    def __init__(self, held: Any) -> None:
        setattr(self, self._holds, held)

    def __getattr__(self, name: str) -> Any:
        if name == self._holds:  # accessed on a copy before the object is set
            raise AttributeError(name)
        return getattr(getattr(self, self._holds), name)
