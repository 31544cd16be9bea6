"""The table of Brain-Score's public names: the replacement for each, or the reason for its absence."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

from bsjax.core.registry import nearest


@dataclass(frozen=True)
class Refused:
    """A name without an equivalent in bsjax.

    Attributes:
        instead: what to use instead, or why nothing is needed.
    """

    instead: str


Target = str | Refused

_ALL = "*"


def _read() -> dict[str, dict[str, Target]]:
    """Module -> name -> ``"module:attribute"`` of bsjax, or a refusal."""
    # In the file, a name is followed by its place in bsjax, without the leading ``bsjax.``; by ``=`` and a module of
    # Brain-Score that has it, too; or by ``!`` and what to use instead. ``*`` stands for all names of a module and of
    # its submodules without a table of their own.
    text = (files("bsjax.compat") / "names.toml").read_text(encoding="utf-8")
    modules: dict[str, dict[str, Target]] = {}
    for module, names in tomllib.loads(text).items():
        modules[module] = {name: _target(name, place) for name, place in names.items()}
    for module in list(modules):
        for folder in folders_above(module):
            modules.setdefault(folder, {})
    return modules


def _target(name: str, place: str) -> Target:
    if place.startswith("!"):
        return Refused(place[1:].strip())
    if place.startswith("="):
        return place
    module, _, attribute = place.partition(":")
    return f"bsjax.{module}:{attribute or name}"


def folders_above(module: str) -> Iterator[str]:
    """The packages that contain a module.

    Example:
        >>> list(folders_above("brainscore_core.benchmarks"))
        ['brainscore_core']
    """
    parent = module.rpartition(".")[0]
    while parent:
        yield parent
        parent = parent.rpartition(".")[0]


MODULES = _read()
PACKAGES = tuple(module for module in MODULES if "." not in module)


def table_of(module: str) -> str | None:
    """The module whose table applies: the module's own, or a parent's that refuses all names; None if there is none.

    Names that a package shares with another are in the table of the other.

    Example:
        >>> table_of("brainscore_core.submission.endpoints"), table_of("brainscore_vision.models.mine")
        ('brainscore_core.submission', None)
        >>> table_of("model_tools.utils.s3"), table_of("brainio.stimulus")
        ('brainscore_vision.model_helpers.utils.s3', None)
    """
    above = next((each for each in (module, *folders_above(module)) if each in MODULES), None)
    if above is None or above == module:
        return above
    everything = MODULES[above].get(_ALL)
    if isinstance(everything, Refused):
        return above
    return None if everything is None else table_of(everything.removeprefix("=").strip() + module[len(above) :])


def target_of(module: str, name: str) -> Target | None:
    """The replacement for a name of a module; None if the name is unknown.

    Example:
        >>> target_of("brainscore_vision.utils", "LazyLoad")
        'bsjax.benchmarks.lazy_loading:LazyLoad'
    """
    names = MODULES.get(table_of(module) or "", {})
    target = names.get(name, names.get(_ALL))
    if isinstance(target, str) and target.startswith("="):
        return target_of(target[1:].strip(), name)
    return target


def nearest_names(module: str, name: str) -> list[str]:
    """The names and submodules of a module that are most similar to an unknown name."""
    modules = [each.rpartition(".")[2] for each in MODULES if each.rpartition(".")[0] in (module, table_of(module))]
    return nearest(name, {*names_of(module), *modules})


def names_of(module: str) -> set[str]:
    """The names of a module, including those of a module whose names it all has."""
    names = MODULES.get(table_of(module) or "", {})
    everything = names.get(_ALL)
    others = names_of(everything[1:].strip()) if isinstance(everything, str) else set()
    return {*names, *others} - {_ALL}
