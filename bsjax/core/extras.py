"""Optional dependencies (extras), which are not installed with bsjax by default."""

from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

# Extras whose package has a different name.
_PACKAGES = {
    "huggingface": "transformers",
    "leaderboard": "jinja2",
    "parquet": "pyarrow",
    "plots": "matplotlib",
    "postgresql": "psycopg",
    "video": "av",
}


def import_extra(module: str, extra: str) -> ModuleType:
    """Import a module of an optional dependency.

    Args:
        module: dotted name of the module, e.g. ``"flax.nnx"``.
        extra: the extra of bsjax that installs it, e.g. ``"flax"``.

    Raises:
        ImportError: it is not installed; the message is one line with the command that installs it.

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
            raise  # it is installed but lacks a dependency, which its own message names
    raise ImportError(f"{package} is not installed; run: pip install 'bsjax[{extra}]'", name=package)


def installation_of(extras: Iterable[str]) -> str:
    """Get the command that installs the missing ones of some extras; "" if none is missing. Nothing is imported.

    Example:
        >>> installation_of(["moon"]), installation_of([])
        ("pip install 'bsjax[moon]'", '')
    """
    missing = [extra for extra in extras if find_spec(_PACKAGES.get(extra, extra)) is None]
    return f"pip install 'bsjax[{','.join(missing)}]'" if missing else ""
