"""The model-vs-human comparison of Geirhos et al. (2021): four numbers an experiment, and their means."""

from collections.abc import Mapping

import pandas as pd
import xarray as xr

from bsjax.engine.running import run
from bsjax.labelled.aggregate import nan_mean
from bsjax.labelled.align import listed
from bsjax.labelled.behaviour.responses import CONDITION, SUBJECT, judged_responses, laid_out
from bsjax.metrics.behaviour.agreement import agreement


def model_vs_human(
    models: Mapping[str, xr.DataArray], people: Mapping[str, xr.DataArray], dtype: str | None = None
) -> pd.DataFrame:
    """How accurate a model is out of distribution, and how much its choices are like people's.

    Of each experiment, means over subjects of means over conditions:

    - ``ood_accuracy``: accuracy of the model, on the trials of each subject;
    - ``accuracy_difference``: the square of the difference between the model's and a subject's accuracy;
    - ``observed_consistency``: share of the trials on which model and subject are both right or both wrong;
    - ``error_consistency``: that share beyond what their accuracies alone would give (``ErrorConsistency``).

    A condition that a subject has not done, or in which error consistency is undefined, is left out of its mean.

    Args:
        models: experiment -> the model's choices, as the ``source`` of ``ErrorConsistency``.
        people: experiment -> people's choices, as its ``target``; of the same experiments.
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.

    Returns:
        One row an experiment, in the order of ``models``, and a last row ``mean`` over the experiments.

    Raises:
        ValueError: the experiments of the two differ, or an experiment cannot be compared; the message names it.

    Source: Geirhos et al. 2021; https://github.com/bethgelab/model-vs-human.

    Example:
        >>> def trials(answers, **coords):
        ...     same = {"stimulus_id": [1, 2, 3, 4], "truth": ["dog"] * 4, "condition": [1] * 4} | coords
        ...     return xr.DataArray(answers, {name: ("presentation", c) for name, c in same.items()}, ["presentation"])
        >>> model = {"sketch": trials(["dog", "dog", "cat", "car"])}
        >>> person = {"sketch": trials(["dog", "dog", "dog", "cat"], subject=["A"] * 4)}
        >>> table = model_vs_human(model, person)
        >>> list(table.index), float(table.loc["mean", "observed_consistency"])
        (['sketch', 'mean'], 0.75)
    """
    if set(models) != set(people) or not models:
        differ = [*(f"{e} (model only)" for e in models if e not in people)]
        differ += [f"{e} (people only)" for e in people if e not in models]
        raise ValueError(
            f"models and people must be of the same experiments; they differ in {listed(differ, 'of them')}"
        )
    table = pd.DataFrame.from_dict(
        {experiment: _compared(experiment, models[experiment], people[experiment], dtype) for experiment in models},
        orient="index",
    )
    table.loc["mean"] = table.mean()
    return table


def _compared(experiment: str, model: xr.DataArray, people: xr.DataArray, dtype: str | None) -> dict[str, float]:
    try:
        tables = [
            judged_responses(model, "model", [CONDITION]),
            judged_responses(people, "people", [CONDITION], observer=SUBJECT),
        ]
        (source, target), _ = laid_out(tables, ["model", "people"], [CONDITION])
    except ValueError as error:
        raise ValueError(f"experiment {experiment}: {error}") from error
    compared = run(agreement, source.right, target.right, source.present, target.present, dtype=dtype)._asdict()
    columns = {
        "ood_accuracy": "source_accuracy",
        "accuracy_difference": "squared_difference",
        "observed_consistency": "observed_consistency",
        "error_consistency": "error_consistency",
    }
    return {column: float(nan_mean(nan_mean(compared[name][:, 0].T))) for column, name in columns.items()}
