"""Brain-Score's own plugins, unchanged, beside current libraries.

Plugins of models, benchmarks, metrics and data that are written for Brain-Score import ``brainscore_vision``,
``brainscore_core``, ``brainio``, ``model_tools`` and ``result_caching``. Those imports are answered by modules whose
names are bsjax's, under the names and with the arguments that they have there: for plugins in ``$BSJAX_PLUGINS``
without being asked, for any other code after :func:`install`. ``docs/brainscore-names.md`` lists all names, and
``docs/from-brainscore.md`` says how a lab moves.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Literal

from bsjax.compat.finder import Finder, folders_with_plugins, really_installed
from bsjax.core.discovery import KINDS, brainscore_folders, is_in_brainscore_plugin, use_plugins

_for_all = False


def install(prefer: Literal["bsjax", "brainscore"] | None = None) -> None:
    """From now on answer imports of Brain-Score's packages in all code of this process.

    Plugins in the folder ``brainscore_vision`` of the working directory, as in a clone, are on the search path then.

    Args:
        prefer: what to do where these packages are installed too: ``"bsjax"`` takes their place, ``"brainscore"``
            leaves them and does nothing.

    Raises:
        ImportError: one of them is installed, and nothing is preferred, or it has been imported already.
        ValueError: ``prefer`` is neither.

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
        for kind in KINDS:  # which pytest would import from such a folder
            import_module(f"brainscore_vision.{kind}")


def answer_plugins(prefer: str | None = None) -> bool:
    """Answer imports in the code of plugins; whether that is so now. Errors are those of :func:`install`."""
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
