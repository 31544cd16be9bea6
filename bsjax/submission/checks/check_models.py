"""The checklist for models."""

from __future__ import annotations

from typing import Any

import numpy as np

from bsjax.benchmarks.families.simulated.procedural import procedural_stimuli
from bsjax.core.messages import some
from bsjax.data import NeuroidAssembly, StimulusSet
from bsjax.data.publishing.checklist import Check
from bsjax.models import RecordingTarget, Task, model_registry
from bsjax.models.brain_model import looks_at_images
from bsjax.submission.checks.attempt import attempt, check

_WIDEST = 9000  # degrees; a width in pixels is a common mistake
_TIME_BIN = (70, 170)


def check_model(identifier: str) -> list[Check]:
    """Load a model, and record from each of its regions while it looks at two images.

    Example:
        >>> all(item.passed for item in check_model("pixels"))
        True
    """
    model, problem = attempt(lambda: model_registry[identifier]())
    checks = [check("loads", "the model loads", problem)]
    if problem:
        return checks
    own = getattr(model, "identifier", None)
    wrong = "" if own == identifier else f"it is registered as {identifier!r} and calls itself {own!r}: use one"
    checks += [
        check("identifier", "its identifier is the one under which it is registered", wrong),
        check("degrees", f"visual_degrees() is above 0 and below {_WIDEST}", _degrees(model)),
    ]
    # To choose the layer of an unmapped region, a model with candidate layers would look at a whole data set.
    candidates = getattr(model, "layers", None)
    mapped = list(getattr(model, "region_layer_map", RecordingTarget) if candidates else RecordingTarget)
    regions = {region: attempt(lambda r=region: model.start_recording(r, [_TIME_BIN]))[1] for region in mapped}
    starts = [region for region, problem in regions.items() if not problem]
    images = procedural_stimuli("checklist", n_per_kind=1, n_pixels=64, visual_degrees=8, seed=0).iloc[:2]
    fitting = {Task.label: ["imagenet"], Task.probabilities: [images.assign(image_label=["one", "other"])]}
    tasks = [task for task in Task if not attempt(lambda t=task: model.start_task(t, *fitting.get(t, ())))[1]]
    does = f"it records from {', '.join(starts) or 'no region'}" + (f", does {', '.join(tasks)}" if tasks else "")
    why = next(filter(None, regions.values()), "it has no layer for any region yet")
    nothing = "" if starts or tasks else f"it starts neither a recording nor a task: {why}"
    checks.append(check("starts", does, nothing))
    if not looks_at_images(model):
        return [*checks, Check("records", "it answers to two images", skipped="its answers are stored: score it")]
    for region in starts:
        checks.append(
            check(f"records {region}", f"it answers to two images in {region}", *_answers(model, region, images))
        )
    return checks


def _degrees(model: Any) -> str:
    degrees, problem = attempt(lambda: float(model.visual_degrees()))
    if problem:
        return f"{problem}: say how wide the model's field is, e.g. visual_degrees=8"
    return "" if 0 < degrees < _WIDEST else f"it is {degrees:g}: give the width of the model's field in degrees"


def _answers(model: Any, region: str, images: StimulusSet) -> list[str]:
    def look() -> Any:
        model.start_recording(region, [_TIME_BIN])
        return model.look_at(images, number_of_trials=1)

    answer, problem = attempt(look)
    return [problem] if problem else answer_problems(answer, images)


def answer_problems(answer: Any, images: StimulusSet) -> list[str]:
    """List what is wrong with recorded responses to images; [] if nothing is."""
    if not isinstance(answer, NeuroidAssembly):
        return [f"it answers with a {type(answer).__name__}: return a bsjax.NeuroidAssembly"]
    lacking = [name for name in ("stimulus_id", "neuroid_id") if name not in answer.coords]
    if lacking:
        return [f"its answer has no coordinate {' and no '.join(lacking)}"]
    problems = []
    if sorted(answer["stimulus_id"].values) != sorted(images["stimulus_id"]):
        problems.append(f"its answer is to {some(answer['stimulus_id'].values.tolist())}, not to the images shown")
    ids = answer["neuroid_id"].to_index()
    if not ids.is_unique:
        problems.append(f"neuroid_id repeats {some(ids[ids.duplicated()].unique())}: give each unit an id of its own")
    if not np.isfinite(answer.values).all():
        problems.append("its answer has values that are not finite: look at the preprocessing of images")
    return problems
