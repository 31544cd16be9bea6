"""What may be given as a model or as a benchmark: an identifier, a glob, an object, or a list of these."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from bsjax.benchmarks import benchmark_registry
from bsjax.models import model_registry

if TYPE_CHECKING:
    from bsjax.benchmarks import Benchmark
    from bsjax.core.registry import Registry
    from bsjax.models import BrainModel

ModelLike: TypeAlias = "str | BrainModel"
BenchmarkLike: TypeAlias = "str | Benchmark"
Builders: TypeAlias = "dict[str, Callable[[], Any]]"
"""Identifier -> function that builds (or returns) what it names."""

# A transformers model is a torch module too.
_ADAPTERS = {"transformers": "from_huggingface", "torch": "from_torch", "flax": "from_flax", "keras": "from_keras"}


def is_many(candidate: object) -> bool:
    """Whether this asks for any number of models or benchmarks: a glob, or a collection.

    Example:
        >>> is_many("pixels"), is_many("V4-*"), is_many(["pixels"]), is_many("timm:resnet18?weights=none@layer3")
        (False, True, True, False)
    """
    if isinstance(candidate, str):
        return any(character in candidate for character in "*?[") and not model_registry.is_of_source(candidate)
    return isinstance(candidate, Iterable) and not callable(candidate) and not hasattr(candidate, "look_at")


def models(wanted: ModelLike | Iterable[ModelLike], extraction: Mapping[str, Any] | None = None) -> Builders:
    """What builds each of the models asked for; nothing is loaded yet.

    Args:
        wanted: identifiers, globs, models.
        extraction: options for the extraction of their activations, e.g. ``{"memory": "2GB"}``.

    Raises:
        KeyError: an unknown identifier, or a glob that matches nothing.
        ValueError: an object that is not a brain model, or two objects of one identifier.

    Example:
        >>> list(models(["pixels", "gabor*"]))
        ['pixels', 'gabor-v1']
    """
    found = _named(wanted, model_registry, _check_model)
    return {name: _extracting(_builder(model, model_registry, {}), extraction or {}) for name, model in found}


def benchmarks(wanted: BenchmarkLike | Iterable[BenchmarkLike], arguments: Mapping[str, object]) -> Builders:
    """What builds each of the benchmarks asked for; no data are read yet.

    Args:
        wanted: identifiers, globs, benchmarks.
        arguments: for the factories of registered benchmarks, e.g. ``{"data": DIR}``; each gets those it
            takes.

    Raises:
        KeyError: an unknown identifier, or a glob that matches nothing.
        ValueError: an object that is not a benchmark, two objects of one identifier, or an argument that none
            takes.

    Example:
        >>> list(benchmarks("Cowley2026.V4-r*", {"data": "V4_compact_models"}))
        ['Cowley2026.V4-ridge', 'Cowley2026.V4-rdm']
    """
    found = dict(_named(wanted, benchmark_registry, _check_benchmark))
    accepted = {
        name: _accepted(name, arguments) if isinstance(benchmark, str) and arguments else {}
        for name, benchmark in found.items()
    }
    unused = [name for name in arguments if not any(name in taken for taken in accepted.values())]
    if unused:
        names = ", ".join(found)
        raise ValueError(f"no benchmark takes the argument {', '.join(map(repr, unused))}: {names}")
    return {name: _builder(benchmark, benchmark_registry, accepted[name]) for name, benchmark in found.items()}


def _named(wanted: Any, registry: Registry, check: Callable[[Any], None]) -> Iterator[tuple[str, Any]]:
    """Identifiers, each once, with the identifier itself again where it is registered, else with the
    object."""
    seen: dict[str, Any] = {}
    for candidate in wanted if is_many(wanted) and not isinstance(wanted, str) else [wanted]:
        if isinstance(candidate, str):
            found = {name: name for name in registry.match(candidate)}
        else:
            check(candidate)
            found = {candidate.identifier: candidate}
        for name, value in found.items():
            if name not in seen:
                yield name, value
            elif seen[name] is not value and seen[name] != value:
                raise ValueError(f"two different {registry.kind}s have the identifier {name!r}; give each its own")
            seen[name] = value


def _builder(candidate: Any, registry: Registry, arguments: Mapping[str, object]) -> Callable[[], Any]:
    if isinstance(candidate, str):
        return lambda: registry[candidate](**arguments)
    return lambda: candidate


def _extracting(build: Callable[[], Any], options: Mapping[str, Any]) -> Callable[[], Any]:
    """``build``, with options of the extraction changed in what it gives."""
    if not options:
        return build

    def changed() -> Any:
        model = build()
        if set(options) == {"progress"}:  # which nobody misses where there is nothing to extract
            with suppress(ValueError, AttributeError):
                return model.with_options(**options)
            return model
        if not hasattr(model, "with_options"):
            raise ValueError(
                f"model {model.identifier!r} is a {type(model).__name__}, whose extraction has no options; "
                f"leave out {', '.join(options)}"
            )
        return model.with_options(**options)

    return changed


def _accepted(benchmark: str, arguments: Mapping[str, object]) -> dict[str, object]:
    """Those of the arguments that the benchmark's factory takes; none of a plugin that cannot be imported."""
    try:
        parameters = inspect.signature(benchmark_registry[benchmark]).parameters
    except (ImportError, ValueError):  # it is said where this benchmark is built, and the others are scored
        return {}
    takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    return {name: value for name, value in arguments.items() if takes_all or name in parameters}


def _check_model(candidate: object) -> None:
    missing = [name for name in ("identifier", "start_recording", "look_at") if not hasattr(candidate, name)]
    if not missing:
        return
    kind = type(candidate).__name__
    commitment = 'bsjax.ModelCommitment("my-model", activations, region_layer_map={"V1": "a layer"})'
    # by the names of the classes' modules, so that no framework is imported to find out
    frameworks = {base.__module__.partition(".")[0] for base in type(candidate).__mro__}
    for framework, adapter in _ADAPTERS.items():
        if framework in frameworks:
            raise ValueError(
                "expected a model identifier or a BrainModel, "
                f"got a bare {framework} module ({kind}); wrap it:\n"
                f'    activations = bsjax.adapters.{adapter}(module, "my-model")\n'
                f"    model = {commitment}"
            )
    hint = f"; wrap it: {commitment}" if hasattr(candidate, "layers") else ""
    raise ValueError(
        f"expected a model identifier or a BrainModel, got {kind}, which has no {', '.join(missing)}{hint}"
    )


def _check_benchmark(candidate: object) -> None:
    lacks = [name for name in ("identifier", "__call__") if not hasattr(candidate, name)]
    if lacks:
        raise ValueError(
            "expected a benchmark identifier or a Benchmark, "
            f"got {type(candidate).__name__}, which has no {', '.join(lacks)}"
        )
