"""Optional frameworks, which are not installed with bsjax itself."""

from importlib import import_module
from types import ModuleType


def import_extra(module: str, extra: str) -> ModuleType:
    """Import a module of an optional dependency.

    Args:
        module: dotted name of the module, e.g. ``"flax.nnx"``.
        extra: the extra of bsjax that installs it, e.g. ``"flax"``.

    Raises:
        ImportError: it is not installed; one line with the command that installs it.

    Example:
        >>> import_extra("no_such_framework", "torch")
        Traceback (most recent call last):
        ...
        ImportError: no_such_framework is not installed; run: pip install 'bsjax[torch]'
    """
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != package:
            raise  # installed, but something that it needs is not: its own message says what
    raise ImportError(f"{package} is not installed; run: pip install 'bsjax[{extra}]'", name=package)
