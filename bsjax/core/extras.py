"""Optional frameworks, which are not installed with bsjax itself."""

from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

# Extras whose package has another name.
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


def installation_of(extras: Iterable[str]) -> str:
    """The command that installs those of some extras that are not there; "" if all are. Nothing is imported.

    Example:
        >>> installation_of(["moon"]), installation_of([])
        ("pip install 'bsjax[moon]'", '')
    """
    missing = [extra for extra in extras if find_spec(_PACKAGES.get(extra, extra)) is None]
    return f"pip install 'bsjax[{','.join(missing)}]'" if missing else ""
