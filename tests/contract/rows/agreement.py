"""Behaviour: agreement of choices trial by trial, and the patterns of choices that two groups share."""

from functools import partial

import jax
import numpy as np

from bsjax.metrics.behaviour import agreement, confusions
from tests.contract.changes import constant, padded, reordered, stretch, units
from tests.contract.row import Row

CONDITIONS, SOURCES, TARGETS, TRIALS = 2, 2, 3, 10
MODELS, CHOICES, TASKS, OBSERVERS, SPLITS = 2, 4, 4, 6, 8


def of_models(kernel):
    """Several models against the same people, so that one of them may be undefined beside the others."""

    def compare(**arrays):
        settings = {name: v for name, v in arrays.items() if isinstance(v, int)}
        people = {name: v for name, v in arrays.items() if name.startswith("target")}
        models = {name: v for name, v in arrays.items() if name not in people and name not in settings}
        return jax.vmap(lambda model: kernel(**model, **people, **settings))(models)

    return compare


def pairs(rng, conditions=CONDITIONS, sources=SOURCES, targets=TARGETS, trials=TRIALS):
    def observers(n):
        present = rng.random((conditions, n, trials)) < 0.8
        present[..., :2] = True  # trials that every pair has in common
        return rng.uniform(0.05, 0.95, present.shape), present

    (source, source_present), (target, target_present) = observers(sources), observers(targets)
    return {"source": source, "target": target, "source_present": source_present, "target_present": target_present}


def right_for_wrong(arrays, rng):
    return arrays | {name: 1 - arrays[name] for name in ("source", "target")}


def the_same_answers(arrays, rng):
    answers = np.arange(TRIALS) % 2 * 1.0
    return {name: np.broadcast_to(answers, v.shape) if v.dtype.kind == "f" else v | True for name, v in arrays.items()}


OF_TRIALS = dict.fromkeys(("source", "target", "source_present", "target_present"), -1)
OF_CONDITION = {"right": -1, "present": -1}
OF_SOURCE = dict.fromkeys([f"source_{name}" for name in ("truth", "choice", "weight", "right", "task", "present")], -1)
OF_TARGET = {name.replace("source", "target"): -1 for name in OF_SOURCE}


def a_pair_without_a_common_trial(arrays):
    arrays["target_present"][0, 1] = False
    where = np.zeros((CONDITIONS, SOURCES, TARGETS), bool)
    where[0, :, 1] = True
    return arrays, where


def always_right(arrays):
    arrays, where = a_pair_without_a_common_trial(arrays)
    arrays["source"][1, 0] = arrays["target"][1, 2] = 1.0
    where[1, 0, 2] = True
    return arrays, where


PAIRS = {
    "arrays": pairs,
    "large": partial(pairs, conditions=4, sources=1, targets=20, trials=4000),
    "padded": padded(nan=True, **OF_TRIALS),
    "invariances": {"another order of trials": reordered(**OF_TRIALS), "right for wrong": right_for_wrong},
    "identity": the_same_answers,
}


def single(rng, conditions=3, trials=12):
    present = rng.random((conditions, trials)) < 0.7
    present[:, 0] = True
    return {"right": (rng.random(present.shape) < 0.6).astype(float), "present": present}


def numbers(rng, n=5):
    return {"source": rng.normal(size=n), "target": rng.normal(size=n)}


def two_sides(side, shapes):
    """Arrays of the source for every model, and of the target for all people together."""
    return {
        f"{who}_{name}": v
        for who, shape in zip(("source", "target"), shapes, strict=True)
        for name, v in side(shape).items()
    }


def choices(rng, n=60, m=80):
    def side(shape):
        codes = {name: rng.integers(0, CHOICES, shape) for name in ("truth", "choice")}
        return codes | {"weight": rng.uniform(0.5, 1.5, shape)}

    return two_sides(side, [(MODELS, n), (m,)])


def with_another_trial(arrays, rng):
    """One that weighs nothing, or is absent and has no value."""

    def more(name, values):
        fill = np.nan if name.endswith("right") else 0
        return np.concatenate([values, np.full((*values.shape[:-1], 1), fill).astype(values.dtype)], axis=-1)

    return {name: v if name == "source_task_of" else more(name, v) for name, v in arrays.items()}


def other_names(arrays, rng):
    code = rng.permutation(CHOICES)
    return {name: v if v.dtype.kind == "f" else code[v] for name, v in arrays.items()}


def source_as_target(arrays, rng):
    models = {name: v for name, v in arrays.items() if name.startswith("source_") and name != "source_task_of"}
    first = {name: np.stack([v[0]] * MODELS) for name, v in models.items()}
    return arrays | first | {name.replace("source", "target"): v[0] for name, v in models.items()}


def no_errors(arrays):
    arrays["source_choice"][1] = arrays["source_truth"][1]
    return arrays, 1


def tasks(rng, n=60, m=80):
    def side(shape):
        task = np.broadcast_to(np.arange(shape[-1]) % TASKS, shape).copy()
        present = rng.random(shape) < 0.8
        present[..., : 2 * TASKS] = True
        return {"right": rng.uniform(0, 1, shape), "task": task, "present": present}

    stands_for = np.stack([rng.permutation(TASKS) for _ in range(MODELS)])
    return two_sides(side, [(MODELS, n), (m,)]) | {"source_task_of": stands_for}


def tasks_as_target(arrays, rng):
    return source_as_target(arrays, rng) | {"source_task_of": np.stack([np.arange(TASKS)] * MODELS)}


def a_task_without_trials(arrays):
    arrays["source_present"][1] &= arrays["source_task"][1] != 2
    return arrays, 1


def drops(rng, observers=OBSERVERS, splits=SPLITS):
    present = np.arange(observers) != observers - 1
    first = rng.random((splits, observers)).argsort(axis=1) < observers // 2
    return {
        "source": np.asarray(rng.uniform(0.15, 0.25)),
        "target": rng.uniform(0.05, 0.4, observers),
        "present": present,
        "first": first,
    }


OF_OBSERVERS = {"target": 0, "present": 0, "first": 1}


def a_half_of_nobody(arrays):
    arrays["present"] &= ~arrays["first"][0]
    return arrays, ~(arrays["first"] & arrays["present"]).any(axis=1)


def other_units(arrays, rng):
    return arrays | {name: 2 * arrays[name] for name in ("source", "target")}


def the_same_drop(arrays, rng):
    return arrays | {"target": np.full(OBSERVERS, arrays["source"])}


ROWS = [
    Row(
        name="error consistency",
        metrics=("error_consistency", "kato_error_consistency"),
        kernel=agreement.error_consistency,
        undefined=always_right,
        **PAIRS,
    ),
    Row(
        name="accuracy distance",
        metrics=("accuracy_distance", "kato_accuracy_distance"),
        kernel=agreement.accuracy_distance,
        bounds=(0, 1),
        undefined=a_pair_without_a_common_trial,
        **PAIRS,
    ),
    Row(
        name="accuracy",
        metrics=("accuracy",),
        kernel=agreement.accuracy,
        arrays=single,
        large=partial(single, conditions=10, trials=20_000),
        bounds=(0, 1),
        undefined=constant("present", 1, [1], False),
        padded=padded(nan=True, **OF_CONDITION),
        invariances={"another order of trials": reordered(**OF_CONDITION)},
        identity=lambda arrays, rng: arrays | {"right": np.ones_like(arrays["right"])},
    ),
    Row(
        name="value delta",
        metrics=("value_delta",),
        kernel=agreement.value_delta,
        settings={"scale": 0.75},
        arrays=numbers,
        large=partial(numbers, n=100_000),
        bounds=(0, 1),
        undefined=constant("source", 2, [2], np.nan),
        padded=lambda arrays, rng: arrays,  # one number against one number: nothing can be masked
        invariances={
            "source for target": lambda arrays, rng: {"source": arrays["target"], "target": arrays["source"]},
            "both moved": lambda arrays, rng: {name: v + 3.0 for name, v in arrays.items()},
        },
        identity=lambda arrays, rng: arrays | {"target": arrays["source"]},
    ),
    Row(
        name="confusion similarity",
        metrics=("confusion_similarity",),
        kernel=of_models(confusions.confusion_similarity),
        settings={"choices": CHOICES},
        arrays=choices,
        large=partial(choices, n=20_000, m=40_000),
        undefined=no_errors,
        padded=with_another_trial,
        invariances={
            "another order of trials": reordered(**OF_SOURCE),
            "other names": other_names,
            "heavier trials": units("source_weight", stretch),
        },
        identity=source_as_target,
    ),
    Row(
        name="tasks consistency",
        metrics=("tasks_consistency",),
        kernel=of_models(confusions.tasks_consistency),
        settings={"source_tasks": TASKS},
        arrays=tasks,
        large=partial(tasks, n=20_000, m=40_000),
        undefined=a_task_without_trials,
        padded=with_another_trial,
        invariances={
            "another order of trials": reordered(**OF_TARGET),
            "accuracies on another scale": units("source_right", lambda x, rng: 0.5 * x + 0.1),
        },
        identity=tasks_as_target,
    ),
    Row(
        name="accuracy delta",
        metrics=("baker_accuracy_delta",),
        kernel=confusions.delta_similarity,
        arrays=drops,
        large=partial(drops, observers=4000, splits=250),
        bounds=(0, 1),
        undefined=a_half_of_nobody,
        padded=padded(nan=True, **OF_OBSERVERS),
        invariances={"another order of observers": reordered(**OF_OBSERVERS), "other units": other_units},
        identity=the_same_drop,
        times_input=9.0,  # its inputs are masks of one byte, which become weights of eight
    ),
]
