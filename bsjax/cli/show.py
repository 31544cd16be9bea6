"""``bsjax show``: descriptions of benchmarks, with their citation, and of metrics, models and data sets."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

import typer

from bsjax.cli.extraction import Data
from bsjax.cli.plugins import Plugins
from bsjax.cli.terminal import configure_jax
from bsjax.core.registry import Registry, UnknownIdentifier, hint

if TYPE_CHECKING:
    from bsjax.benchmarks import Benchmark

_WIDTH = 80


def show(
    identifier: Annotated[
        str, typer.Argument(metavar="NAME", help="Identifier of a benchmark, metric, model or data set.")
    ],
    data: Data = None,
    plugins: Plugins = None,
) -> None:
    """Describe a benchmark (stimuli, recordings, comparison, BibTeX), or a metric, model or data set.

    No data are read or downloaded.
    """
    configure_jax()
    from bsjax.benchmarks import benchmark_registry
    from bsjax.scoring.resolution import is_many

    if is_many(identifier):
        raise ValueError(f"show takes one name, got the pattern {identifier!r}; see `bsjax list benchmarks`")
    registry = _registry_of(identifier)
    lines = _of_benchmark(identifier, data) if registry is benchmark_registry else _of_entry(registry, identifier)
    for line in lines:
        typer.echo(line)


def _registry_of(identifier: str) -> Registry:
    """The first registry that contains an identifier: benchmarks, metrics, models, data, stimulus sets."""
    from bsjax.benchmarks import benchmark_registry
    from bsjax.data import data_registry, stimulus_set_registry
    from bsjax.labelled import metric_registry
    from bsjax.models import model_registry

    registries = (benchmark_registry, metric_registry, model_registry, data_registry, stimulus_set_registry)
    found = [each for each in registries if identifier in each]
    of_source = [each for each in registries if each.is_of_source(identifier)]
    # Several registries have plugins of Brain-Score: the one that has an entry of the same name.
    found += [each for each in of_source if identifier.partition(":")[2] in each] + of_source
    if found:
        return found[0]
    near = hint(identifier, [name for registry in registries for name in registry])
    raise UnknownIdentifier(
        f"there is no benchmark, metric, model or data set {identifier!r}{near}; "
        "see `bsjax list benchmarks` (or metrics, models, data)"
    )


def _of_benchmark(identifier: str, data: Path | None) -> Iterator[str]:
    from bsjax.benchmarks import benchmark_registry, benchmark_row
    from bsjax.benchmarks.descriptions import about_row
    from bsjax.scoring.resolution import arguments_of

    arguments = arguments_of({identifier: identifier}, {} if data is None else {"data": data})
    benchmark: Any = benchmark_registry[identifier](**arguments[identifier])
    yield from [benchmark.describe()] if hasattr(benchmark, "describe") else _undescribed(benchmark)
    yield from (f"{heading:<12}{words}" for heading, words in about_row(benchmark_row(identifier)))
    yield f"\n{getattr(benchmark, 'bibtex', '').strip() or 'no BibTeX entry: no publication is stated'}"


def _undescribed(benchmark: Benchmark) -> Iterator[str]:
    """A short description of a benchmark without a ``describe`` method."""
    parent = getattr(benchmark, "parent", "")
    yield (
        f"{benchmark.identifier}, version {getattr(benchmark, 'version', 'not stated')}"
        + (f", averaged under {parent}" if parent else "")
    )
    yield ""
    kind = type(benchmark)
    yield f"{'class':<12}{kind.__module__}.{kind.__qualname__}"
    about = _first_paragraph(kind)
    if about:
        yield f"{'about':<12}{about}"


def _of_entry(registry: Registry, identifier: str) -> Iterator[str]:
    """The description and settings of a metric, model or data set."""
    from bsjax.labelled import list_ceilings

    factory = registry[identifier]
    yield f"{identifier}, a {'ceiling' if identifier in list_ceilings() else registry.kind}"
    yield ""
    described = inspect.unwrap(factory)  # that of a plugin is wrapped, so that its errors name the plugin
    for heading, words in (("summary", registry.summary(identifier)), ("about", _first_paragraph(described))):
        if words:
            yield textwrap.fill(f"{heading:<12}{words}", _WIDTH, subsequent_indent=" " * 12, break_on_hyphens=False)
    explained = _explained(getattr(described, "maker", described))
    for number, setting in enumerate(_settings(factory)):
        value = setting.default.__name__ if inspect.isfunction(setting.default) else repr(setting.default)
        default = "" if setting.default is setting.empty else f" = {value}"
        choices = ", ".join(map(repr, _choices(setting.annotation)))
        chosen = f", one of {choices}" if choices else ""
        yield f"{'' if number else 'settings':<12}{setting.name}{default}{chosen}"
        if setting.name in explained:
            yield textwrap.fill(explained[setting.name], _WIDTH, initial_indent=" " * 16, subsequent_indent=" " * 16)
    made = _made(factory) if registry.kind == "metric" else None
    for heading, entries in () if made is None else (("takes", _taken(made)), ("needs", _needed(made))):
        for number, entry in enumerate(entries):
            text = textwrap.fill(entry, _WIDTH, initial_indent=" " * 12, subsequent_indent=" " * 12)
            yield text if number else f"{heading:<12}{text[12:]}"
    if registry.kind in ("data set", "stimulus set"):
        yield f"{'content':<12}bsjax data show {identifier}"
    plugin = registry.plugin_of(identifier)
    if plugin is not None:
        yield f"{'plugin':<12}{plugin.folder}"


def _made(factory: Any) -> Any:
    """The product of a factory; if it needs settings, the class itself, or None if it is not a class."""
    try:
        return factory()
    except TypeError:
        return factory if inspect.isclass(factory) else None


def _settings(factory: Any) -> list[inspect.Parameter]:
    """The parameters of a factory, with annotations as objects where they can be evaluated."""
    for evaluated in (True, False):
        try:
            return list(inspect.signature(factory, eval_str=evaluated).parameters.values())
        except (TypeError, ValueError, NameError, AttributeError):  # some callables of C have none
            pass
    return []


def _choices(annotation: Any) -> list[Any]:
    """The values of a Literal, also of one that is part of another type."""
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    return [value for part in get_args(annotation) for value in _choices(part)]


def _explained(factory: Any) -> dict[str, str]:
    """The explanation of each setting that has one of its own in the docstring of its factory or class."""
    own = getattr(factory, "func", factory)  # unwraps functools.partial
    return dict(_arguments(own)) if inspect.isroutine(own) or inspect.isclass(own) else {}


def _taken(made: Any) -> list[str]:
    """The arguments of a metric, from the docstring of its ``__call__``."""
    return [f"{name}: {words}" for name, words in _arguments(made.__call__)]


def _arguments(described: Any) -> list[tuple[str, str]]:
    """The names and explanations of the section Args of a docstring."""
    doc = (inspect.getdoc(described) or "").replace("``", "")
    section = re.search(r"^Args:\n(.*?)(?:\n\n|\Z)", doc, re.MULTILINE | re.DOTALL)
    entries = re.findall(r"^    (\S[^:\n]*): (.*(?:\n {8}.*)*)", section[1] if section else "", re.MULTILINE)
    return [(name, " ".join(words.split())) for name, words in entries]


def _needed(made: Any) -> list[str]:
    """The coordinates that a metric needs, with their meanings; last those of the model's answers only."""
    from bsjax.core.labels import meanings
    from bsjax.labelled.metric import Metric

    if not (isinstance(made, Metric) or (isinstance(made, type) and issubclass(made, Metric))):
        return []
    needs = list(dict.fromkeys([*made.needs, *(made.split_coords if isinstance(made, Metric) else ())]))
    own = [name for name in made.needs_of_source if name not in needs]
    return [meanings([name]) or name for name in needs] + [f"of the model's answers: {name}" for name in own]


def _first_paragraph(described: Any) -> str:
    own = getattr(described, "func", described)  # unwraps functools.partial
    doc = own.__doc__ if inspect.isroutine(own) or inspect.isclass(own) else ""
    return " ".join((doc or "").strip().partition("\n\n")[0].split())
