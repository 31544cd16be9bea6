"""Separate process-wide library settings for each plugin."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bsjax.core.discovery.folders import Plugin

_OF_PLUGINS: dict[Path, Any] = {}


@contextmanager
def settings_of(plugin: Plugin) -> Iterator[None]:
    """Run plugin code in a block with torch's default dtype as that plugin has set it, hidden from other code.

    Plugins may call ``torch.set_default_dtype(torch.float64)`` when they are imported, and build their networks later.

    Example:
        >>> from bsjax.core.discovery import find_plugins
        >>> for plugin in find_plugins(""):
        ...     with settings_of(plugin):
        ...         pass
    """
    before = _default_dtype()
    if before is not None and plugin.folder in _OF_PLUGINS:
        sys.modules["torch"].set_default_dtype(_OF_PLUGINS[plugin.folder])
    try:
        yield
    finally:
        torch, after = sys.modules.get("torch"), _default_dtype()
        if torch is not None and after is not None:
            usual = torch.float32 if before is None else before
            if after != usual:
                torch.set_default_dtype(usual)
            if after != usual or plugin.folder in _OF_PLUGINS:
                _OF_PLUGINS[plugin.folder] = after


def _default_dtype() -> Any:
    # torch may be partially imported, by another thread or after an error.
    get = getattr(sys.modules.get("torch"), "get_default_dtype", None)
    return get() if get is not None else None
