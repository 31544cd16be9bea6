"""Entry point of an isolated job: ``python -m bsjax.scoring.isolation.child JOB SCORE``."""

import json
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

from bsjax.core.discovery import not_exiting, one_line
from bsjax.core.discovery.importing import BY_ITSELF
from bsjax.core.files import as_json, write_atomically
from bsjax.core.identity.opened import following
from bsjax.core.registry import UnknownIdentifier
from bsjax.scoring.cells import content_of_model
from bsjax.scoring.job import Beside, Job, Options, built_benchmark, built_model, score_of
from bsjax.scoring.resolution import arguments_of, found_benchmarks, found_models


def main(question: str | Path, answer: str | Path) -> None:
    """Read a job from one file, and write its score, or a one-line error, to another.

    Args:
        question: JSON with ``model``, ``benchmark``, ``extraction``, ``arguments`` and ``beside``.
        answer: the JSON file to write, with ``score`` or ``error``, and ``warnings``.

    Example:
        >>> import tempfile
        >>> job = {"model": "no-such", "benchmark": "Simulated.V1-cka", "extraction": {}, "arguments": {}}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     main(write_atomically(Path(folder, "job"), as_json(job)), Path(folder, "answer"))
        ...     "unknown model" in json.loads(Path(folder, "answer").read_text())["error"]
        True
    """
    write_atomically(answer, as_json(answered(json.loads(Path(question).read_bytes()))), sync=False)


def answered(asked: dict[str, Any]) -> dict[str, Any]:
    """The score of a job in plain values, or a one-line error; and ``warnings``."""
    with warnings.catch_warnings(record=True) as said:
        try:
            found: dict[str, Any] = _scored(asked)
        except Exception as error:  # the parent process reports any error
            traceback.print_exc()
            found = {"error": one_line(error).replace(BY_ITSELF, "")}  # it runs isolated already
    return found | {"warnings": [one_line(Warning(each.message)) for each in said]}


def _scored(asked: dict[str, Any]) -> dict[str, Any]:
    try:
        found_models(asked["model"])
        benchmark = found_benchmarks(asked["benchmark"])
    except UnknownIdentifier as error:
        raise ValueError(
            f"{error}; other processes know only plugins, not what a running script has registered"
        ) from error
    with not_exiting():
        arguments = arguments_of(benchmark, asked["arguments"])[asked["benchmark"]]
        options = Options.of(asked["extraction"], arguments, Beside.from_plain(asked["beside"]))
        job = Job(asked["model"], asked["benchmark"], options)
        with following() as opened:
            model = built_model(job)
        of_model = opened.notes()
        with following(opened):
            score = score_of(job, built_benchmark(job), model)
        content = content_of_model(model)
        return {"score": score.to_dict(), "content": content, "of_model": of_model, "opened": opened.notes()}


if __name__ == "__main__":
    main(*sys.argv[1:])
