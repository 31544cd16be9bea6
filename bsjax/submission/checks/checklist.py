"""The checklist of ``bsjax check``, which automates that of Brain-Score's submission tutorials."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from bsjax.benchmarks import benchmark_registry
from bsjax.core.discovery import Plugin, plugins_under, use_plugins
from bsjax.core.registry import Registry
from bsjax.core.watching import stage
from bsjax.data import data_registry, stimulus_set_registry
from bsjax.data.publishing.checklist import Check
from bsjax.labelled import metric_registry
from bsjax.models import model_registry
from bsjax.submission.checks.attempt import check
from bsjax.submission.checks.check_benchmarks import check_benchmark
from bsjax.submission.checks.check_data import check_data, check_registrations, check_stimuli
from bsjax.submission.checks.check_metrics import check_metric
from bsjax.submission.checks.check_models import check_model
from bsjax.submission.checks.run_tests import check_properties, check_tests

TIMEOUT = 600.0

_KINDS: dict[str, tuple[Registry, Callable[[str], list[Check]]]] = {
    "stimulus_set_registry": (stimulus_set_registry, check_stimuli),
    "data_registry": (data_registry, check_data),
    "metric_registry": (metric_registry, check_metric),
    "model_registry": (model_registry, check_model),
    "benchmark_registry": (benchmark_registry, check_benchmark),
}


class Section(NamedTuple):
    """The items of the checklist on one subject.

    Attributes:
        title: the subject: the plugin's folder, or e.g. "benchmark Doe2026.V1-ridge".
        checks: the items.
    """

    title: str
    checks: list[Check]


def check_plugins(folder: str | Path, timeout: float = TIMEOUT) -> Iterator[Section]:
    """Run the checklist for every plugin in a folder, and yield each section when it is complete.

    The plugins are imported and everything that they register is loaded. Ceilings are computed, models look at two
    images, and metrics compare simulated data with themselves. The plugin's own tests run in a separate process.

    Args:
        folder: a plugin, or a folder of plugins.
        timeout: time limit for the tests of each plugin, in seconds.

    Raises:
        FileNotFoundError: the folder does not exist or contains no plugin.

    Example:
        >>> import tempfile
        >>> from bsjax.submission import write_skeleton
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     plugin = write_skeleton("metric", "checked_metric", folder)
        ...     all(check.passed for section in check_plugins(plugin) for check in section.checks)
        True
    """
    folder = Path(folder)
    use_plugins(folder)
    plugins = plugins_under(folder)
    if not plugins:
        raise FileNotFoundError(
            f"{folder} holds no plugin: expected an __init__.py that registers something, such as "
            "benchmark_registry['Doe2026.V1-ridge'] = ..., in it or in a folder of it; `bsjax new` writes one"
        )
    for plugin in plugins:
        yield Section(str(plugin.folder), _of_plugin(plugin))
        for name, (registry, checks_of) in _KINDS.items():
            for identifier in registered(plugin, name):
                yield Section(f"{registry.kind} {identifier}", checks_of(identifier))
        with stage(f"tests of {plugin.folder}"):
            tests = check_tests(plugin.folder, timeout)
        if registered(plugin, "metric_registry") and not plugin.for_brainscore:
            tests.append(check_properties(plugin.folder))
        yield Section(f"tests of {plugin.folder}", tests)


def registered(plugin: Plugin, name: str) -> list[str]:
    """List the names by which the registrations of a plugin in a registry are loaded."""
    registry, _ = _KINDS[name]
    found = []
    for identifier in dict.fromkeys(each.identifier for each in plugin.declarations if each.registry == name):
        own = f"brainscore:{identifier}"  # the name if bsjax itself has this identifier
        taken = plugin.for_brainscore and registry.is_bsjaxs(identifier) and registry.is_of_source(own)
        found.append(own if taken else identifier)
    return found


def _of_plugin(plugin: Plugin) -> list[Check]:
    kinds = {name for name, *_ in plugin.declarations}
    notes = {note for name in kinds for note in _KINDS[name][0].notes()}
    claims = sorted(note for note in notes if str(plugin.folder) in note and note != plugin.note)
    return [
        check("found", "its registrations can be read without running it", plugin.note),
        check("claims", "its identifiers are registered by no other plugin", *claims),
        *check_registrations(plugin.folder),
    ]
