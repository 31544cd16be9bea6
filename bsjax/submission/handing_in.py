"""Handing in of folders and zip files: they are received, scanned for registrations without being run, and queued."""

import shutil
import uuid
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from bsjax.benchmarks import benchmark_registry
from bsjax.core.files import cache_dir
from bsjax.core.messages import some
from bsjax.core.registry import Registry
from bsjax.models import model_registry
from bsjax.results import ResultStore
from bsjax.submission import queue
from bsjax.submission.answers import MANIFEST, answers_of
from bsjax.submission.queue import Submission, Visibility
from bsjax.submission.receiving import declared_in, receive
from bsjax.submission.steps import MODELS, steps_for

_KINDS = {
    "model": ("model_registry",),
    "benchmark": ("benchmark_registry",),
    "data": ("data_registry", "stimulus_set_registry"),
    "metric": ("metric_registry",),
}
_OWN: dict[str, Registry] = {"model": model_registry, "benchmark": benchmark_registry}


def hand_in(
    store: ResultStore,
    source: str | Path,
    *,
    name: str = "",
    account: int | None = None,
    benchmarks: Sequence[str] = ("*",),
    models: Sequence[str] = MODELS,
    visibility: Visibility | None = None,
    trusted: bool = False,
    asks_trust: bool = False,
    once: bool = False,
) -> Submission:
    """Receive a folder or a zip file and queue its steps. None of its code is run.

    Args:
        store: the store of results, which contains the queue.
        source: the folder or zip file. It contains plugins (several plugins in the layout of Brain-Score's zip files),
            or ``model.json`` with activations or choices that were computed elsewhere.
        name: name of the submission; by default that of the folder or file.
        account: number of the account; None for an operator.
        benchmarks: identifiers and globs of the benchmarks on which its models are scored.
        models: identifiers of the models that its benchmarks score, in addition to its own models.
        visibility: visibility of its scores; by default private, or public without an account.
        trusted: whether an operator trusts its code with recordings and lets it run without containment.
        asks_trust: whether its benchmarks need access to recordings, which requires a review by an operator.
        once: whether to return an existing submission of the same files and name, see
            :func:`bsjax.submission.queue.add`.

    Raises:
        FileNotFoundError: there is no such folder or file.
        ValueError: the submission is refused, registers nothing, or registers an identifier that is taken, or no
            benchmark matches; the message names it.
        OSError, ConnectionError, TimeoutError: the files or the store cannot be written.
    """
    place = cache_dir().absolute() / "submissions" / uuid.uuid4().hex
    try:
        received = receive(Path(source), place, name=name)
        registers = registered_in(received.folder)
        _refuse_taken(store, registers, account)
        if "model" in registers:
            _refuse_unknown(store, registers, benchmarks)
        facts = {"registers": registers, "trusted": trusted, "benchmarks": list(benchmarks)}
        if "benchmark" in registers:
            facts["models"] = list(models)
        made = queue.add(
            store,
            name=name or Path(source).name.removesuffix(".zip"),
            folder=received.folder,
            content=received.content,
            kinds=list(registers),
            steps=steps_for(list(registers), asks_trust and not trusted),
            account=account,
            visibility=visibility,
            facts=facts,
            once=once,
        )
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise
    if made.folder != received.folder:
        shutil.rmtree(place, ignore_errors=True)
    return made


def registered_in(folder: Path) -> dict[str, list[str]]:
    """List the identifiers that a submission registers, by kind, including the model of stored answers.

    Raises:
        ValueError: nothing is registered.
    """
    found = {kind: declared_in(folder, *registries) for kind, registries in _KINDS.items()}
    if (folder / MANIFEST).exists():
        found["model"] = [*found["model"], answers_of(folder).identifier]
    found = {kind: names for kind, names in found.items() if names}
    if not found:
        raise ValueError(
            "nothing is registered in it: expected plugins, such as `bsjax new` writes, or activations or choices "
            f"with a {MANIFEST} beside them"
        )
    return found


def _refuse_unknown(store: ResultStore, registers: dict[str, list[str]], benchmarks: Sequence[str]) -> None:
    """Refuse globs that match no benchmark that is registered here or was handed in, before anything is installed."""
    of_submissions = [each.facts.get("registers", {}) for each in queue.submissions(store)]
    known = {
        *benchmark_registry,
        *(name for each in (registers, *of_submissions) for name in each.get("benchmark", ())),
    }
    if not any(fnmatchcase(name, glob) for name in known for glob in benchmarks):
        raise ValueError(f"no benchmark matches {some(list(map(repr, benchmarks)))}; see `bsjax list benchmarks`")


def _refuse_taken(store: ResultStore, registers: dict[str, list[str]], account: int | None) -> None:
    """Refuse identifiers that bsjax or another account has registered."""
    for kind in _OWN:
        names = registers.get(kind, [])
        taken = {name for name in names if name in _OWN[kind] and _OWN[kind].is_bsjaxs(name)}
        for other in queue.submissions(store) if account is not None else ():
            if other.account != account:
                taken |= {*names} & {*other.facts.get("registers", {}).get(kind, ())}
        if taken:
            raise ValueError(f"{kind} {some(sorted(taken))} is registered by somebody else: give it another name")
