"""The model's side of a submission: builds what was handed in, shows it stimuli, and says what it answers.

It runs contained, as ``python -m bsjax.submission.sides.model_side``; questions come through its standard input, and
answers go to its standard output. Whatever the submission prints goes to its log.
"""

from __future__ import annotations

import os
import resource
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import IO, Any

import numpy as np

from bsjax.activations.inputs.microsaccades import Microsaccades
from bsjax.adapters import from_stored
from bsjax.core.discovery import not_exiting, one_line, use_plugins
from bsjax.core.messages import some
from bsjax.data import StimulusSet
from bsjax.data.files.choice_tables import Tables, read_choices
from bsjax.models import ModelCommitment, model_registry
from bsjax.models.brain_model import looks_at_images
from bsjax.models.precomputed import PrecomputedFeatures
from bsjax.models.stored_behaviour import StoredBehaviour
from bsjax.submission.sides.wire import Message, receive, send

_MOST = 1 << 30


def main() -> None:
    """Answer questions until there are no more."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    questions, answers = pipes()
    side = ModelSide()
    while True:
        try:
            asked = receive(questions, _MOST)
        except EOFError:
            return
        send(answers, side.answer(asked))


def pipes() -> tuple[IO[bytes], IO[bytes]]:
    """The pipes, by numbers that no print() knows; what is printed goes to the log."""
    questions, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    return questions, answers


class ModelSide:
    """What was handed in, once it is built."""

    def __init__(self) -> None:
        self._model: Any = None
        self._real_ids = False

    def answer(self, asked: Message) -> Message:
        """What a question is answered by; the error, where there is one."""
        known: dict[str, Callable[..., Message]] = {
            "build": self.build,
            "stored": self.stored,
            "layers": self.layers,
            "activations": self.activations,
            "start_task": self.start_task,
            "start_recording": self.start_recording,
            "look_at": self.look_at,
        }
        try:
            with redirect_stdout(sys.stderr), not_exiting():
                return known[asked.what](**asked.values)
        except Exception as error:
            traceback.print_exc()
            return Message("error", {"type": type(error).__name__, "text": one_line(error)})

    def build(self, plugins: str, model: str) -> Message:
        """Build the model that a plugin registers, and say what it is."""
        use_plugins(plugins)
        self._model = model_registry[model]()
        return self._described()

    def stored(self, kind: str, path: str, identifier: str, arguments: Mapping[str, Any]) -> Message:
        """Take activations, or choices, of a file as the model."""
        if kind == "activations":
            self._model = ModelCommitment(identifier, from_stored(path, identifier), **arguments)
        elif path.endswith(".nc"):
            self._model = PrecomputedFeatures(path, identifier=identifier, **arguments)
        else:
            self._model = StoredBehaviour(_only(read_choices(path)), identifier, **arguments)
        return self._described()

    def _described(self) -> Message:
        model = self._model
        said = {"identifier": model.identifier, "visual_degrees": float(model.visual_degrees())}
        said["looks_at_images"] = bool(looks_at_images(model))
        said["arguments"] = model.arguments if isinstance(model, ModelCommitment) else None
        return Message("built", said)

    def layers(self) -> Message:
        """The layers, with the shapes of their outputs, and their times."""
        activations = self._model.activations_model
        shapes = {name: list(shape) for name, shape in activations.layers().items()}
        bins_of = getattr(activations, "time_bins", None)  # of networks over time
        times = {} if bins_of is None else {name: [list(each) for each in bins_of(name)] for name in shapes}
        return Message("layers", {"shapes": shapes, "time_bins": times if bins_of is not None else None})

    def activations(self, shown: Any, layers: list[str], microsaccades: Any) -> Message:
        """Activations of layers for stimuli."""
        options = {} if microsaccades is None else {"microsaccades": Microsaccades(**microsaccades)}
        return _of_assembly(self._model.activations_model(_stimuli(shown), layers=layers, **options))

    def start_task(self, task: str, fitting: Any, settings: Mapping[str, Any]) -> Message:
        """Start a task; where it is fitted, by stimuli and their labels."""
        self._model.start_task(task, _stimuli(fitting) if isinstance(fitting, dict) else fitting, **settings)
        return Message("started")

    def start_recording(self, region: str, time_bins: Any) -> Message:
        """Start a recording."""
        self._model.start_recording(region, [(start, end) for start, end in time_bins])
        return Message("started")

    def look_at(self, shown: Any, number_of_trials: int, require_variance: bool) -> Message:
        """What the model answers to stimuli."""
        varied = {"require_variance": True} if require_variance else {}
        return _of_assembly(self._model.look_at(_stimuli(shown), number_of_trials=number_of_trials, **varied))


def _only(tables: Tables) -> Mapping[str, Any]:
    """The choices of one model."""
    if len(tables) > 1:
        raise ValueError(f"expected the choices of one model, got those of {some(sorted(tables))}")
    return next(iter(tables.values()))


def _stimuli(shown: Mapping[str, Any]) -> StimulusSet:
    """A stimulus set of what is shown: ids, their files, and labels where they are to be learnt."""
    columns = {"stimulus_id": shown["ids"]}
    if shown.get("condition") is not None:
        columns["condition"] = shown["condition"]
    if shown.get("labels") is not None:
        columns["image_label"] = shown["labels"]
    paths = {each: Path(path) for each, path in zip(shown["ids"], shown["files"], strict=False)}
    return StimulusSet(columns, identifier=shown.get("identifier"), stimulus_paths=paths)


def _of_assembly(assembly: Any) -> Message:
    """An assembly as names and numbers: dims, values, and each coordinate with its dimension."""
    values: dict[str, Any] = {"dims": list(map(str, assembly.dims)), "coords": {}}
    arrays: dict[str, np.ndarray] = {}
    for name, coord in assembly.reset_index([*assembly.indexes]).coords.items():
        if len(coord.dims) == 1:
            values["coords"][str(name)] = str(coord.dims[0])
            _put(str(name), np.asarray(coord.values), values, arrays)
    _put("values", np.asarray(assembly.values), values, arrays)
    return Message("assembly", values, arrays)


def _put(name: str, array: np.ndarray, values: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    if array.dtype.kind in "biuf":
        arrays[name] = array
    else:
        values.setdefault("text", {})[name] = [str(each) for each in array.ravel().tolist()]


if __name__ == "__main__":
    main()
