"""The steps of a submission (install, check, score), each of which runs in its own process on the trusted side.

``python -m bsjax.submission.steps SUBMISSION STEP ANSWER [BENCHMARK ...]`` runs a step. Its output is the log of the
step. The store is that of ``$BSJAX_RESULTS``.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec

from bsjax.benchmarks import benchmark_registry, benchmark_row
from bsjax.core.digests.arrays import file_digest
from bsjax.core.discovery import Plugin, one_line, plugins_under, use_plugins
from bsjax.core.files import as_json, write_atomically
from bsjax.core.identity.source import OF_SCORES, own_source
from bsjax.core.messages import printable
from bsjax.core.watching import Stop
from bsjax.labelled import Score
from bsjax.models import model_registry
from bsjax.results import ResultStore
from bsjax.results.store import Task
from bsjax.scoring.grid import run_in
from bsjax.scoring.job import Beside
from bsjax.scoring.planning import plan
from bsjax.scoring.runner import Runner
from bsjax.scoring.sinks import IntoStore
from bsjax.submission import protection, queue
from bsjax.submission.answers import MANIFEST, answers_of
from bsjax.submission.environments import Environment, install
from bsjax.submission.queue import ENVIRONMENT, Step, Submission
from bsjax.submission.receiving import declared_in
from bsjax.submission.sandbox import Limits, Sandbox
from bsjax.submission.sandbox.self_test import is_contained
from bsjax.submission.sides.remote import HandedIn, ModelSide, ModelSideFailed, digest_of

_CHECK_SECONDS, _SCORE_SECONDS = 1800.0, 24 * 3600.0
_MOST_SAID, _MOST_REASON = 64 << 20, 1000
_ASK_FOR_CHOICES = ("behavioural", "engineering")
MODELS = ("pixels", "gabor-v1", "image-statistics", "random-network", "hmax")
"""The models that submitted benchmarks score by default."""


@dataclass
class Came:
    """The outcome of a step.

    Attributes:
        state: "done", "failed", "memory" (it needs more), or "waiting" (for a review).
        reason: reason for the state, in one line.
        peak: largest measured memory, in bytes.
        facts: information to add to the facts of the submission.
        scores: number of scores.
    """

    state: str = "done"
    reason: str = ""
    peak: int = 0
    facts: dict[str, Any] = field(default_factory=dict)
    scores: int = 0

    @classmethod
    def read(cls, path: Path, status: int) -> Came:
        """Read the outcome that the process of a step has written; if there is none, a failure with its status."""
        try:
            return msgspec.json.decode(path.read_bytes(), type=cls)
        except (OSError, msgspec.DecodeError):
            return cls("failed", f"the process of the trusted side ended with status {status}, see its log")

    def then(self, later: Came) -> Came:
        """The outcome of two parts of a step, with the state and reason of the later part."""
        names = [*self.facts, *later.facts]
        facts = {name: {**self.facts.get(name, {}), **later.facts.get(name, {})} for name in names}
        return replace(later, peak=max(self.peak, later.peak), facts=facts, scores=self.scores + later.scores)


@dataclass(frozen=True)
class At:
    """The context of a running step.

    Attributes:
        store: the store of results.
        submission: the submission.
        step: the step.
        only: the benchmarks that this process scores; all if empty.
        told: protected benchmark -> model -> shown value of the score.
        says: whether the log shows what models print and score; not for private models of other accounts.
    """

    store: ResultStore
    submission: Submission
    step: Step
    only: tuple[str, ...] = ()
    told: dict[str, dict[str, float]] = field(default_factory=dict)
    says: bool = True

    def say(self, line: str) -> None:
        """A line of the log, where it may have it."""
        if self.says:
            say(line)

    @property
    def trusted(self) -> bool:
        """Whether an operator trusts the submission or has accepted it in a review."""
        return self.submission.trusted

    @property
    def folder(self) -> Path:
        """The folder of the submitted files."""
        return self.submission.folder

    @property
    def environment(self) -> Environment:
        """The environment of the submission."""
        return environment_of(self.submission)

    @property
    def plugins(self) -> tuple[Plugin, ...]:
        """The plugins of the submission."""
        return plugins_under(self.folder)

    def limits(self, seconds: float) -> Limits:
        """The resource limits of the step."""
        return Limits(memory=self.step.memory_class, seconds=seconds)

    def sandbox(self, seconds: float) -> Sandbox:
        """Make the sandbox of the step, which can read the submission and its environment.

        Raises:
            RuntimeError: this machine cannot contain processes, and the submission is not trusted.
        """
        if not self.trusted and not is_contained():
            raise RuntimeError(
                "this machine cannot contain processes, see `bsjax submit --self-test`; "
                "--trust runs the submission like your own code"
            )
        installed = self.folder.parent / ENVIRONMENT
        readable = (self.folder, *([installed] if installed.exists() else ()))
        return Sandbox(readable, (), {"BSJAX_PLUGINS": str(self.folder)}, self.limits(seconds), not self.trusted)

    @property
    def models(self) -> list[str]:
        """The models that its benchmarks score, in addition to its own models."""
        return self.submission.facts.get("models") or list(MODELS)

    def identifiers(self, registry: str) -> list[str]:
        """List the identifiers that its plugins register in a registry."""
        return declared_in(self.folder, registry)


def environment_of(submission: Submission) -> Environment:
    """Get the environment of a submission; if none was installed, that of this process."""
    made = submission.facts.get(ENVIRONMENT)
    return Environment(sys.executable, {}) if made is None else msgspec.convert(made, Environment)


def say(line: str) -> None:
    """Print a line of the log, unless it is blank."""
    if line.strip():
        sys.stdout.write(f"{line.rstrip()}\n")
        sys.stdout.flush()


def installed(at: At) -> Came:
    """Install the requirements of the submission in a sandbox."""
    if not any(at.folder.rglob("requirements.txt")):
        say("no requirements")
        return Came()
    came = install(at.folder, at.folder.parent / ENVIRONMENT, at.limits(_CHECK_SECONDS))
    say(came.process.log)
    peak = came.process.watch.peak
    if came.environment is None:
        return Came("memory" if came.process.passed == "memory" else "failed", came.reason, peak)
    versions = came.environment.versions
    say("\n".join(f"{name} {version}" for name, version in sorted(versions.items())) or "nothing to install")
    return Came(peak=peak, facts={ENVIRONMENT: msgspec.to_builtins(came.environment)})


def checked(at: At) -> Came:
    """Run the checklist, including the tests of the plugins."""
    if (at.folder / MANIFEST).exists():
        described = answers_of(at.folder)
        say(f"answers of {described.identifier} in {described.file}")
        if not at.plugins:
            return Came()
    command = [at.environment.python, "-m", "bsjax", "check", ".", "--timeout", "900"]
    with at.sandbox(_CHECK_SECONDS).start(command, at.folder) as process:
        said = process.stdout.read(_MOST_SAID).decode("utf-8", "replace")
        process.wait()
    say(f"{said}\n{process.log}")
    peak = process.watch.peak
    if process.passed == "memory":
        return Came("memory", process.reason, peak)
    if not process.reason:
        return Came(peak=peak)
    failed = [line.split(maxsplit=2)[-1] for line in said.splitlines() if line.startswith("  FAILED")]
    last = process.log.strip().rpartition("\n")[2]
    why = (
        process.reason
        if process.passed or not (failed or last)
        else f"not fulfilled: {'; '.join(failed)}"
        if failed
        else last
    )
    return Came("failed", " ".join(why.split()), peak)


def scored_on_public(at: At) -> Came:
    """Score the submitted models on unprotected benchmarks."""
    benchmarks = [name for name in visible(at) if protection.protection_of(at.store, name) is None]
    return _scored(at, benchmarks)


def scored_on_private(at: At) -> Came:
    """Score the submitted models on protected benchmarks, within the limits of the account."""
    if at.trusted and not is_contained():
        return Came("failed", "private benchmarks need containment, see `bsjax submit --self-test`")
    found = {name: protection.protection_of(at.store, name) for name in visible(at)}
    left = []
    for name, protected in found.items():
        if protected is None:
            continue
        refused = protection.over_limit(at.store, name, at.submission)
        if refused:
            say(f"{name}: {refused}")
        else:
            left.append(name)
    hidden = [name for name in left if found[name].stimuli_private]  # type: ignore[union-attr]
    came = _scored(at, [name for name in left if name not in hidden], needs_any=False)
    if came.state == "done" and hidden:
        came = came.then(_scored(at, hidden, needs_any=False, hides=True))
    return came


def reviewed(at: At) -> Came:
    """Wait until an operator has reviewed code that asks for access to recordings."""
    if at.trusted:
        return Came()
    return Came(
        "waiting",
        "waits for an operator to review code that needs access to recordings: `bsjax submissions accept` or `return`",
    )


def scored_by_its_benchmarks(at: At) -> Came:
    """Score models on the submitted benchmarks: on the trusted side if they are trusted, else contained.

    Contained benchmarks score only public models and those of the submission. Trusted benchmarks also score the models
    of other submissions. On protected benchmarks, those are only scored when their accounts submit them.
    """
    benchmarks = list(at.only or at.identifiers("benchmark_registry"))
    if not at.trusted:
        return _scored_contained(at, benchmarks)
    if at.environment.python != sys.executable:
        return _under(at, at.environment.python, benchmarks)
    use_plugins(at.folder)
    done = [each for each in queue.submissions(at.store, states=("done",)) if each.id != at.submission.id]
    submitted = {name: each for each in [*reversed(done), at.submission] for name in queue.models_of(each)}
    in_store = sorted(set(at.store.frame(latest=True, failures=False, columns=["model"])["model"]))
    models = [name for name in dict.fromkeys([*at.models, *in_store]) if name in model_registry]
    planned = plan([name for name in models if name not in submitted], benchmarks, store=at.store, predict=False)
    scores, failures = _run(at, planned, "submitted benchmarks")
    came = _came_of(scores, failures, needs_any=not submitted)
    public = [name for name in benchmarks if protection.protection_of(at.store, name) is None]
    for other in {each.id: each for each in submitted.values()}.values():
        says = other.account == at.submission.account or other.visibility == "public"
        after = _scored(replace(at, submission=other, says=says), public, needs_any=False)
        say(f"{after.scores} scores of submitted models{'' if says else ' of other accounts'}")
        if after.state == "memory":
            return came.then(after)
        came = after.then(came)
    return came if came.scores else _came_of(0, failures, needs_any=True)


STEPS: Mapping[str, Callable[[At], Came]] = {
    "install": installed,
    "check": checked,
    "public": scored_on_public,
    "private": scored_on_private,
    "review": reviewed,
    "benchmarks": scored_by_its_benchmarks,
}


def steps_for(kinds: Sequence[str], needs_trust: bool = False) -> list[str]:
    """List the steps of a submission with plugins of some kinds, in order.

    Example:
        >>> steps_for(["model"]), steps_for(["benchmark", "data"])
        (['install', 'check', 'public', 'private'], ['install', 'check', 'benchmarks'])
    """
    models = ["public", "private"] if "model" in kinds else []
    review = ["review"] if needs_trust else []
    benchmarks = [*review, "benchmarks"] if "benchmark" in kinds else []
    return ["install", "check", *models, *benchmarks]


def visible(at: At) -> list[str]:
    """List the benchmarks that match the globs of the submission and are part of bsjax or were accepted."""
    globs = at.submission.facts.get("benchmarks") or ["*"]
    found = [
        name for name in dict.fromkeys([*benchmark_registry, *accepted(at.store)]) if not at.only or name in at.only
    ]
    if (at.folder / MANIFEST).exists() and answers_of(at.folder).choices is not None:
        own = {name for name in benchmark_registry if benchmark_row(name).kind in _ASK_FOR_CHOICES}
        found = [name for name in found if name in own or name not in benchmark_registry]
    return [name for name in found if any(fnmatchcase(name, glob) for glob in globs)]


def accepted(store: ResultStore) -> dict[str, Submission]:
    """Map each submitted and trusted benchmark to the most recent submission that registers it."""
    done = [each for each in queue.submissions(store, states=("done",)) if each.trusted]
    return {name: each for each in reversed(done) for name in each.facts["registers"].get("benchmark", ())}


def _packages(made: Environment) -> list[str]:
    """The installed packages with their versions, and the Python version of this process."""
    return [*sorted(f"{name} {version}" for name, version in made.versions.items()), sys.version]


def handed_in(at: At) -> Iterator[HandedIn]:
    """Iterate over the models of a submission, with what the model's side needs to build each."""
    made, sandbox = at.environment, at.sandbox(_SCORE_SECONDS)
    if (at.folder / MANIFEST).exists():
        described = answers_of(at.folder)
        path = at.folder / described.file
        told = {name: value for name, value in msgspec.to_builtins(described).items() if value is not None}
        names = ("identifier", "activations", "choices")
        arguments = {name: value for name, value in told.items() if name not in names}
        kind = "activations" if described.activations is not None else "choices"
        values = {"kind": kind, "path": str(path), "identifier": described.identifier, "arguments": arguments}
        files = [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.is_file())
        digest = digest_of(*map(file_digest, files), as_json([kind, arguments]).decode())
        yield HandedIn("stored", values, digest, sandbox, made.python)
    for plugin in at.plugins:
        for model in [each.identifier for each in plugin.declarations if each.registry == "model_registry"]:
            # The digest covers all files: a plugin may read any file next to it, unnoticed by the trusted side.
            digest = digest_of(model, at.submission.content, *_packages(made))
            yield HandedIn("build", {"plugins": str(at.folder), "model": model}, digest, sandbox, made.python)


def _scored(at: At, benchmarks: Sequence[str], *, needs_any: bool = True, hides: bool = False) -> Came:
    """Score each submitted model on benchmarks of the trusted side, under the interpreters that these need."""
    came, failures = Came(), []
    for python, names in _by_interpreter(at.store, benchmarks).items():
        came = came.then(_scored_here(at, names, hides) if python == sys.executable else _under(at, python, names))
        if came.state == "memory" or (came.state == "failed" and python == sys.executable):
            return came
        failures += [RuntimeError(came.reason)] if came.reason else []
    return replace(_came_of(came.scores, failures, needs_any), peak=came.peak, facts=came.facts)


def _by_interpreter(store: ResultStore, benchmarks: Sequence[str]) -> dict[str, list[str]]:
    """Interpreter -> benchmarks whose requirements it has; registers the plugins of benchmarks of this interpreter."""
    found: dict[str, list[str]] = {}
    there = accepted(store)
    for name in benchmarks:
        submission = None if name in benchmark_registry else there.get(name)
        python = sys.executable if submission is None else environment_of(submission).python
        found.setdefault(python, []).append(name)
        if submission is not None and python == sys.executable:
            use_plugins(submission.folder)
    return found


def _under(at: At, python: str, benchmarks: Sequence[str]) -> Came:
    """Run the same step for some benchmarks under another interpreter."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder, "answer.json")
        command = [python, "-m", "bsjax.submission.steps", at.submission.id, at.step.name, str(answer), *benchmarks]
        return Came.read(answer, subprocess.run(command, check=False).returncode)


def _scored_here(at: At, benchmarks: Sequence[str], hides: bool) -> Came:
    """Score each submitted model on benchmarks in this process; the reason is that of the first failure."""
    peak, scores, failures = 0, 0, []
    for one in handed_in(at):
        try:
            with ModelSide(one) as side:
                try:
                    side.hides_errors = hides
                    planned = plan(side.model(), benchmarks, store=at.store, predict=False)
                    came, failed = _run(at, planned, str(one.values.get("model", one.values.get("identifier"))))
                    scores, failures = scores + came, failures + failed
                finally:
                    side.close()  # its log is complete only now
                    peak = max(peak, side.peak)
                    at.say(side.log)
        except ModelSideFailed as error:
            peak = max(peak, error.peak)
            failures.append(error)
        ended = next((each for each in failures if isinstance(each, ModelSideFailed) and each.passed), None)
        if ended is not None:
            return Came("memory" if ended.passed == "memory" else "failed", str(ended), peak, scores=scores)
    facts = {"shown": dict(at.told)} if at.told else {}
    return Came(reason=one_line(failures[0]) if failures else "", peak=peak, facts=facts, scores=scores)


def _came_of(scores: int, failures: Sequence[Exception], needs_any: bool) -> Came:
    if needs_any and not scores:
        return Came("failed", one_line(failures[0]) if failures else "there is no benchmark on which it can be scored")
    return Came(scores=scores)


def _run(at: At, planned: Any, what: str) -> tuple[int, list[Exception]]:
    """Run the cells of a plan that are not in the store; gives the number of scores, and the failures."""
    scores, failures = len(planned.of("scored")), []
    for cell in planned.of("scored"):
        at.say(f"{' on '.join(cell.names)}: in the store")
    cells, stop = planned.of("compute"), Stop()
    at.say(f"{what}: {len(cells)} to score, {scores} in the store, {len(planned.of('blocked'))} cannot be scored here")
    with run_in(at.store, max(len(cells), 1)) as run:
        for number, outcome in enumerate(Runner(IntoStore(at.store.place, run, whole=True))(cells, stop), 1):
            said = outcome.error_line or f"{shown(at, outcome.score, outcome.key):.4g}"
            at.say(f"{number}/{len(cells)} {outcome.model} on {outcome.benchmark}: {said} ({outcome.seconds:.1f} s)")
            if outcome.error is None:
                scores += 1
            else:
                failures.append(outcome.error)
                if isinstance(outcome.error, ModelSideFailed) and outcome.error.passed:
                    stop.asked = True
    return scores, failures


def shown(at: At, score: Score | None, key: str | None) -> float:
    """Get the value of a score that may be shown, which for a protected benchmark is that of the Ladder."""
    if score is None:
        return float("nan")
    model, benchmark = str(score.provenance.model), str(score.provenance.benchmark)
    if protection.protection_of(at.store, benchmark) is None:
        return float(score)
    value = protection.show_score(at.store, at.submission.account, score, str(key))
    at.told.setdefault(benchmark, {})[model] = value
    return value


def _scored_contained(at: At, benchmarks: Sequence[str]) -> Came:
    """Score public models on benchmarks in the sandbox, one process per pair, which answers with a score in JSON."""
    models = list(dict.fromkeys([*at.models, *at.identifiers("model_registry")]))
    peak, scores, failures = 0, 0, []
    made_by = [at.submission.content, *_packages(at.environment), own_source(*OF_SCORES)]
    with run_in(at.store, len(models) * len(benchmarks)) as run:
        for benchmark in benchmarks:
            for model in models:
                task = Task(run, f"{model} {benchmark}", digest_of("contained", model, benchmark, *made_by))
                if at.store.scored([str(task.cell)]):
                    say(f"{model} on {benchmark}: in the store")
                    scores += 1
                    continue
                score, reason, process = _pair_contained(at, model, benchmark)
                peak = max(peak, process.watch.peak)
                say(f"{model} on {benchmark}: {reason or f'{float(score):.4g}'}")  # type: ignore[arg-type]
                if process.passed == "memory":
                    return Came("memory", reason, peak)
                if score is None:
                    failures.append(RuntimeError(reason))
                    at.store.add_failure(model, benchmark, reason, task=task)
                    continue
                # Without a parent, so that unreviewed benchmarks do not enter averages.
                named = replace(score.provenance, model=model, benchmark=benchmark, parent=None)
                at.store.add(replace(score, provenance=named), task=task)
                scores += 1
    return replace(_came_of(scores, failures, True), peak=peak)


def _pair_contained(at: At, model: str, benchmark: str) -> tuple[Score | None, str, Any]:
    question: dict[str, Any] = {"model": model, "benchmark": benchmark, "extraction": {}, "arguments": {}}
    question["beside"] = Beside().to_plain()
    command = [at.environment.python, "-m", "bsjax.submission.sides.contained_pair"]
    with at.sandbox(_CHECK_SECONDS).start(command) as process:
        with suppress(OSError):
            process.stdin.write(as_json(question))
            process.stdin.close()
        said = process.stdout.read(_MOST_SAID)
        process.wait()
    say(process.log)
    if process.reason:
        return None, process.reason, process
    try:
        answer = msgspec.json.decode(said)
        if "error" in answer:
            return None, printable(str(answer["error"])[:_MOST_REASON]), process
        return Score.from_dict(answer["score"]), "", process
    except (msgspec.DecodeError, KeyError, TypeError, ValueError) as error:
        return None, f"its answer is refused: {one_line(error)}", process


def main(submission: str, name: str, answer: str, *only: str) -> None:
    """Run a step, optionally for some benchmarks only, and write its outcome to a file."""
    begun = time.monotonic()
    with ResultStore() as store:
        found = queue.submission(store, submission)
        [step] = [each for each in queue.steps(store, found.id) if each.name == name]
        try:
            came = STEPS[name](At(store, found, step, only))
        except Exception as error:
            say(one_line(error))
            came = Came("failed", one_line(error))
    say(f"{name}: {came.state} after {time.monotonic() - begun:.1f} s{f', {came.reason}' if came.reason else ''}")
    came.reason = printable(came.reason[:_MOST_REASON])
    write_atomically(answer, as_json(vars(came)), sync=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
