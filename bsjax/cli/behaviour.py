"""Option ``--behaviour`` of ``bsjax score``: stored choices as models, and their comparison with people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from bsjax.cli.terminal import complain
from bsjax.core.messages import in_columns

if TYPE_CHECKING:
    import pandas as pd

    from bsjax.models.stored_behaviour import StoredBehaviour
    from bsjax.scoring import Job, Outcome

Behaviour = Annotated[
    list[Path] | None,
    typer.Option(
        "--behaviour",
        metavar="PATH",
        help="Stored choices as models: a CSV file or a folder of them, in the format of model-vs-human, or with the "
        "columns stimulus_id and choice; repeatable.",
    ),
]
_HEADINGS = {
    "ood_accuracy": "OOD accuracy",
    "accuracy_difference": "accuracy diff.",
    "observed_consistency": "observed cons.",
    "error_consistency": "error cons.",
}


class AgainstPeople(NamedTuple):
    """Choices of models and of people in the experiments that all models were scored on.

    Attributes:
        models: model -> experiment -> choices of the model.
        people: experiment -> choices of people.
    """

    models: dict[str, dict[str, Any]]
    people: dict[str, Any]


def stored_models(behaviour: Sequence[Path] | None) -> list[StoredBehaviour]:
    """Load the models of ``--behaviour``; none without the option.

    Raises:
        FileNotFoundError: a path does not exist.
        ValueError: a file is not a table of choices, or two folders contain the same choices.
    """
    if not behaviour:
        return []
    from bsjax.models.stored_behaviour import load_stored_behaviour

    return load_stored_behaviour(*behaviour)


def against_people(
    models: Sequence[StoredBehaviour], jobs: Sequence[Job], outcomes: Sequence[Outcome]
) -> AgainstPeople:
    """Collect the choices of models and people.

    Only experiments are included in which every model has a score on the error consistency benchmark.
    """
    scored = {(outcome.model, outcome.benchmark) for outcome in outcomes if outcome.score is not None}
    names = [model.identifier for model in models]
    choices: dict[str, dict[str, Any]] = {name: {} for name in names}
    people: dict[str, Any] = {}
    for benchmark, experiment in (_experiments(jobs) if models else {}).items():
        if all((name, benchmark.identifier) in scored for name in names):
            people[experiment] = benchmark.assembly
            for model in models:
                benchmark.ask(model)
                choices[model.identifier][experiment] = benchmark.observe(model, benchmark.stimuli_for(model))
    return AgainstPeople(choices, people)


def print_against_people(compared: AgainstPeople) -> None:
    """Print the model-vs-human table of each model, with the mean over experiments in the last line."""
    if not compared.people:
        return
    from bsjax.labelled.behaviour.agreement import model_vs_human

    for name, choices in compared.models.items():
        typer.echo(f"\n{name} compared with people")
        typer.echo("\n".join(table_lines(model_vs_human(choices, compared.people))))


def draw_against_people(compared: AgainstPeople, figure: Path) -> None:
    """Draw models in comparison with people; print a message if there is no experiment to draw."""
    if not compared.people:
        complain(
            "nothing to draw: no experiment of Geirhos2021 has an error consistency of every model; score all with "
            "--benchmark 'Geirhos2021*-error_consistency'"
        )
        return
    from bsjax.plots.model_vs_human import plot_model_vs_human

    plot_model_vs_human(compared.models, compared.people, figure)


def table_lines(table: pd.DataFrame) -> list[str]:
    """Format the model-vs-human table as text, with the mean in the last line.

    Example:
        >>> import pandas as pd
        >>> row = {"ood_accuracy": 0.5, "accuracy_difference": 0.1, "observed_consistency": 0.6,
        ...        "error_consistency": 0.2}
        >>> for line in table_lines(pd.DataFrame([row, row], index=["sketch", "mean"])):
        ...     print(line)
        experiment  OOD accuracy  accuracy diff.  observed cons.  error cons.
        sketch             0.500           0.100           0.600        0.200
        mean of 1          0.500           0.100           0.600        0.200
    """
    n = len(table) - 1
    columns = [[f"mean of {n}" if name == "mean" else str(name) for name in table.index]]
    columns += [[f"{value:z.3f}" for value in table[column]] for column in _HEADINGS]
    return in_columns([["experiment", *_HEADINGS.values()], *zip(*columns, strict=True)], left={0})


def _experiments(jobs: Sequence[Job]) -> dict[Any, str]:
    """Error consistency benchmark -> its experiment, for the benchmarks of some jobs."""
    from bsjax.benchmarks.rows.tables import builtin_rows
    from bsjax.scoring.job import built_benchmark

    rows = builtin_rows()
    found: dict[str, tuple[Any, str]] = {}
    for job in jobs:
        name = job.benchmark_identifier
        row = rows.get(name)
        experiment = row.settings.get("experiment") if row and row.metric == "error_consistency" else None
        if experiment and name not in found:
            found[name] = built_benchmark(job), experiment
    return dict(found.values())
