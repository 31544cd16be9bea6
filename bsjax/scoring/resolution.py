"""Resolution of requests for models and benchmarks: identifiers, globs, objects, and lists of these."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from bsjax.benchmarks import benchmark_registry
from bsjax.models import model_registry

if TYPE_CHECKING:
    from bsjax.benchmarks import Benchmark
    from bsjax.core.registry import Registry
    from bsjax.models import BrainModel

ModelLike: TypeAlias = "str | BrainModel"
BenchmarkLike: TypeAlias = "str | Benchmark"


def is_many(wanted: object) -> bool:
    """Whether this requests any number of models or benchmarks: a glob or a collection.

    Example:
        >>> is_many("pixels"), is_many("V4-*"), is_many(["pixels"]), is_many("timm:resnet18?weights=none@layer3")
        (False, True, True, False)
    """
    if isinstance(wanted, str):
        return any(character in wanted for character in "*?[") and not model_registry.is_of_source(wanted)
    return isinstance(wanted, Iterable) and not callable(wanted) and not hasattr(wanted, "look_at")


def found_models(wanted: ModelLike | Iterable[ModelLike]) -> dict[str, ModelLike]:
    """The requested models by identifier: the identifier itself if it is registered, else the object.

    Nothing is loaded.

    Args:
        wanted: identifiers, globs, models.

    Raises:
        KeyError: an identifier is unknown, or a glob matches nothing.
        ValueError: an object is not a brain model, or two objects have the same identifier.

    Example:
        >>> found_models(["pixels", "gabor*"])
        {'pixels': 'pixels', 'gabor-v1': 'gabor-v1'}
    """
    return dict(_named(wanted, model_registry, _check_model))


def found_benchmarks(wanted: BenchmarkLike | Iterable[BenchmarkLike]) -> dict[str, BenchmarkLike]:
    """The requested benchmarks by identifier: the identifier itself if it is registered, else the object.

    No data are read.

    Args:
        wanted: identifiers, globs, benchmarks.

    Raises:
        KeyError: an identifier is unknown, or a glob matches nothing.
        ValueError: an object is not a benchmark, or two objects have the same identifier.

    Example:
        >>> list(found_benchmarks("Cowley2026.V4-r*"))
        ['Cowley2026.V4-ridge', 'Cowley2026.V4-rdm']
    """
    return dict(_named(wanted, benchmark_registry, _check_benchmark))


def arguments_of(
    found: Mapping[str, BenchmarkLike], arguments: Mapping[str, object], plugins: bool = True
) -> dict[str, dict[str, object]]:
    """The arguments that each benchmark's factory takes.

    Args:
        found: from :func:`found_benchmarks`.
        arguments: for the factories of registered benchmarks, e.g. ``{"data": DIR}``.
        plugins: whether to import plugins to see which arguments their benchmarks take; otherwise these get all
            arguments.

    Raises:
        ValueError: no benchmark takes an argument.

    Example:
        >>> found = found_benchmarks(["Cowley2026.V4-ridge", "Simulated.V1-ridge"])
        >>> arguments_of(found, {"data": "V4_compact_models"})
        {'Cowley2026.V4-ridge': {'data': 'V4_compact_models'}, 'Simulated.V1-ridge': {}}
    """
    accepted = {
        name: _accepted(name, arguments, plugins) if isinstance(benchmark, str) and arguments else {}
        for name, benchmark in found.items()
    }
    unused = [name for name in arguments if not any(name in taken for taken in accepted.values())]
    if unused:
        names = ", ".join(found)
        raise ValueError(f"no benchmark takes the argument {', '.join(map(repr, unused))}: {names}")
    return accepted


def _named(wanted: Any, registry: Registry, check: Callable[[Any], None]) -> Iterator[tuple[str, Any]]:
    """Identifiers, each once, with the identifier again if it is registered, else with the object."""
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


def _accepted(benchmark: str, arguments: Mapping[str, object], plugins: bool) -> dict[str, object]:
    """The arguments that the benchmark's factory takes; none for a plugin that cannot be imported."""
    if not plugins and benchmark_registry.plugin_of(benchmark) is not None:
        return dict(arguments)
    try:
        parameters = inspect.signature(benchmark_registry[benchmark]).parameters
    except (ImportError, ValueError):  # reported when this benchmark is built, so that the others are scored
        return {}
    takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    return {name: value for name, value in arguments.items() if takes_all or name in parameters}


def _check_model(candidate: object) -> None:
    missing = [name for name in ("identifier", "start_recording", "look_at") if not hasattr(candidate, name)]
    if not missing:
        return
    from bsjax.models.commitment import adapter_of

    kind = type(candidate).__name__
    commitment = 'bsjax.ModelCommitment("my-model", activations, region_layer_map={"V1": "a layer"})'
    if adapter := adapter_of(candidate):
        raise ValueError(
            f"expected a model identifier or a BrainModel, got a bare network ({kind}); wrap it:\n"
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
