"""A job in a separate process."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bsjax.benchmarks import benchmark_registry
from bsjax.core.files import as_json, write_atomically
from bsjax.core.identity.opened import Notes
from bsjax.labelled import Score
from bsjax.models import model_registry
from bsjax.scoring.isolation.environment import environment, shared_folders
from bsjax.scoring.isolation.requirements import requirements_of
from bsjax.scoring.job import Job


@dataclass(frozen=True)
class Isolated:
    """The result of a job in a separate process.

    Attributes:
        score: the score.
        content: the digest of the model, None if it is not known there.
        of_model: files that were read to build the model.
        opened: all files that were read for the score.
    """

    score: Score
    content: str | None
    of_model: Notes
    opened: Notes


def isolated_score(job: Job) -> Isolated:
    """Score a job in a separate process, with the packages that the plugins of its model and benchmark require.

    The process runs in an environment made for these requirements
    (:func:`~bsjax.scoring.isolation.environment.environment`), or in the running environment if there are none.
    Requirements of metric and data plugins are not considered: the benchmark must list them.

    The process inherits environment variables, including ``$BSJAX_PLUGINS``, and the working folder. Job and score are
    exchanged as JSON files. Output is written to a log in the same folder, which is kept if scoring fails. Warnings
    are passed on.

    Args:
        job: with identifiers that bsjax or a plugin knows.

    Raises:
        ValueError: the job has an object instead of an identifier, an option that JSON cannot hold, or a plugin
            requires another version of bsjax.
        RuntimeError: the requirements cannot be installed, or scoring failed; the message has the reason in one line
            and, if scoring failed, the path of the log.
        OSError: a requirements file cannot be read, or the environment cannot be written.

    Example:
        >>> from bsjax.scoring import Job, Options
        >>> isolated_score(Job("pixels", "Simulated.V1-cka", Options.of({"memory": {1}})))
        Traceback (most recent call last):
        ...
        ValueError: memory={1} is a set, which cannot go to a process of its own: leave it out
    """
    asked = as_json(_plain(job))
    plugins = [model_registry.plugin_of(job.model_identifier), benchmark_registry.plugin_of(job.benchmark_identifier)]
    lines = [line for plugin in plugins if plugin is not None for line in requirements_of(plugin)]
    python = environment(list(dict.fromkeys(lines))) if lines else sys.executable
    folder = Path(tempfile.mkdtemp(prefix="bsjax-isolated-"))
    try:
        answer = _ask(python, asked, folder)
    except RuntimeError:  # keep the log
        raise
    except BaseException:  # an interrupt, which has also ended the process
        shutil.rmtree(folder, ignore_errors=True)
        raise
    shutil.rmtree(folder, ignore_errors=True)
    for message in answer["warnings"]:
        warnings.warn(message, stacklevel=2)
    return Isolated(Score.from_dict(answer["score"]), answer["content"], answer["of_model"], answer["opened"])


def _plain(job: Job) -> dict[str, Any]:
    for kind, wanted in (("model", job.model), ("benchmark", job.benchmark)):
        if not isinstance(wanted, str):
            raise ValueError(
                f"{kind} {wanted.identifier!r} is an object, which cannot go to a process of its own: "
                f"register it in a plugin (`bsjax new {kind}`), and give its identifier"
            )
    return {
        "model": job.model,
        "benchmark": job.benchmark,
        "extraction": _plain_options(dict(job.options.extraction)),
        "arguments": _plain_options(dict(job.options.benchmark)),
        "beside": job.options.beside.to_plain(),
    }


def _plain_options(options: Mapping[str, Any]) -> dict[str, Any]:
    plain = {name: os.fspath(value) if isinstance(value, os.PathLike) else value for name, value in options.items()}
    for name, value in plain.items():
        try:
            as_json(value)
        except (TypeError, ValueError):
            raise ValueError(
                f"{name}={value!r} is a {type(value).__name__}, which cannot go to a process of its own: leave it out"
            ) from None
    return plain


def _ask(python: str | Path, asked: bytes, folder: Path) -> dict[str, Any]:
    question, answer, log = folder / "job.json", folder / "score.json", folder / "log.txt"
    write_atomically(question, asked, sync=False)
    # -P keeps the working folder off the import path; -u loses no output in a crash.
    command = [str(python), "-P", "-u", "-m", "bsjax.scoring.isolation.child", str(question), str(answer)]
    with open(log, "wb") as output:
        # A separate process group, which Ctrl-C of the terminal does not reach: the first one lets the job finish.
        streams: Any = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": output}
        process = subprocess.Popen(command, **streams, env=_variables(), process_group=0)
        with process:
            try:
                code = process.wait()
            except BaseException:  # do not leave the process running
                process.kill()
                process.wait()
                raise
    where = f"what its process printed is in {log}"
    if not answer.is_file():
        raise RuntimeError(f"{_ending(code, log)}; {where}")
    answered = json.loads(answer.read_bytes())
    if "error" in answered:
        raise RuntimeError(f"{answered['error']}; {where}")
    return answered


def _variables() -> dict[str, str]:
    """Environment variables for the process: bsjax comes first on the import path, shared packages after its own."""
    shared = shared_folders()
    places = [str(Path(__file__).parents[3]), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    ahead = os.pathsep.join(dict.fromkeys(place for place in places if place and place not in shared))
    variables = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    return {**variables, "PYTHONPATH": ahead} if ahead else variables


def _ending(code: int, log: Path) -> str:
    if code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:  # a real-time signal
            name = f"signal {-code}"
        hint = ", as the system does where memory runs out" if name == "SIGKILL" else ""
        return f"its process was killed by {name}{hint}"
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return f"its process ended with exit code {code} and no score" + (f": {lines[-1]}" if lines else "")
