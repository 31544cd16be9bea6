"""Support for Brain-Score's own plugins, unchanged, with current libraries.

Brain-Score plugins of models, benchmarks, metrics and data import ``brainscore_vision``, ``brainscore_core``,
``brainio``, ``model_tools`` and ``result_caching``. This package provides modules for these imports, with the same
names and arguments, implemented by bsjax. They are available automatically to plugins in ``$BSJAX_PLUGINS``, and to all
other code after :func:`install`. ``docs/brainscore-names.md`` lists all names, and ``docs/from-brainscore.md`` explains
how a lab can switch.
"""

import sys
from importlib import import_module
from typing import Literal

from bsjax.compat.finder import Finder, folders_with_plugins, really_installed
from bsjax.core.discovery import KINDS, brainscore_folders, is_in_brainscore_plugin, use_plugins

_for_all = False


def install(prefer: Literal["bsjax", "brainscore"] | None = None) -> None:
    """Provide Brain-Score's packages to all code of this process from now on.

    Plugins in a folder ``brainscore_vision`` of the working directory, as in a clone, are then on the search path.

    Args:
        prefer: what to do if the real packages are installed, too: ``"bsjax"`` replaces them, ``"brainscore"`` uses
            them and does nothing.

    Raises:
        ImportError: a real package is installed, and ``prefer`` is not given, or the package is already imported.
        ValueError: ``prefer`` has another value.

    Example:
        >>> install()
        >>> from brainscore_vision.model_interface import BrainModel
        >>> BrainModel.Task.label
        <Task.label: 'label'>
    """
    global _for_all
    if prefer not in (None, "bsjax", "brainscore"):
        raise ValueError(f"prefer must be 'bsjax' or 'brainscore', got {prefer!r}")
    if answer_plugins(prefer):
        _for_all = True
        for folder in folders_with_plugins():
            use_plugins(folder)
        for kind in KINDS:  # pytest would import these from such a folder
            import_module(f"brainscore_vision.{kind}")


def answer_plugins(prefer: str | None = None) -> bool:
    """Provide the packages to plugins; returns whether they are provided. Errors are those of :func:`install`."""
    if any(isinstance(finder, Finder) for finder in sys.meta_path):
        return True
    there = really_installed()
    if there and prefer is None:
        raise ImportError(
            f"{', '.join(there)} is installed here, so that it is not clear what plugins of Brain-Score are to import: "
            "call bsjax.compat.install(prefer='bsjax') or install(prefer='brainscore') before they are loaded, or "
            f"uninstall it: pip uninstall {' '.join(name.replace('_', '-') for name in there)}"
        )
    if there and prefer == "brainscore":
        return False
    imported = [name for name in there if name in sys.modules]
    if imported:
        raise ImportError(
            f"{', '.join(imported)} has been imported already: call bsjax.compat.install(prefer='bsjax') before"
        )
    sys.meta_path.insert(0, Finder(lambda file: _for_all or is_in_brainscore_plugin(file), brainscore_folders))
    return True
