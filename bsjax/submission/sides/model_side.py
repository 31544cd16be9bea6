"""The model's side of a submission, which builds the submitted model, shows it stimuli and sends its answers.

It runs contained, as ``python -m bsjax.submission.sides.model_side``. It reads questions from the standard input and
writes answers to the standard output. Everything that the submission prints goes to the log.
"""

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
    """Answer questions until the input ends."""
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
    """Move the pipes to other file descriptors, and redirect everything that is printed to the log."""
    questions, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    return questions, answers


class ModelSide:
    """The submitted model and the answers to questions about it."""

    def __init__(self) -> None:
        self._model: Any = None
        self._real_ids = False

    def answer(self, asked: Message) -> Message:
        """Answer a question; an error of the model becomes an answer of kind "error"."""
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
        """Build a model that a plugin registers, and describe it."""
        use_plugins(plugins)
        self._model = model_registry[model]()
        return self._described()

    def stored(self, kind: str, path: str, identifier: str, arguments: Mapping[str, Any]) -> Message:
        """Build a model from a file of activations or choices, and describe it."""
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
        """List the layers, with the shapes of their outputs and their time bins."""
        activations = self._model.activations_model
        shapes = {name: list(shape) for name, shape in activations.layers().items()}
        bins_of = getattr(activations, "time_bins", None)  # only networks over time have them
        times = {} if bins_of is None else {name: [list(each) for each in bins_of(name)] for name in shapes}
        return Message("layers", {"shapes": shapes, "time_bins": times if bins_of is not None else None})

    def activations(self, shown: Any, layers: list[str], microsaccades: Any) -> Message:
        """Compute the activations of layers for stimuli."""
        options = {} if microsaccades is None else {"microsaccades": Microsaccades(**microsaccades)}
        return _of_assembly(self._model.activations_model(_stimuli(shown), layers=layers, **options))

    def start_task(self, task: str, fitting: Any, settings: Mapping[str, Any]) -> Message:
        """Start a task, with stimuli and labels for fitting if the task needs them."""
        self._model.start_task(task, _stimuli(fitting) if isinstance(fitting, dict) else fitting, **settings)
        return Message("started")

    def start_recording(self, region: str, time_bins: Any) -> Message:
        """Start to record from a region."""
        self._model.start_recording(region, [(start, end) for start, end in time_bins])
        return Message("started")

    def look_at(self, shown: Any, number_of_trials: int, require_variance: bool) -> Message:
        """Show stimuli to the model and send its answers."""
        varied = {"require_variance": True} if require_variance else {}
        return _of_assembly(self._model.look_at(_stimuli(shown), number_of_trials=number_of_trials, **varied))


def _only(tables: Tables) -> Mapping[str, Any]:
    """The choices of the only model in some tables."""
    if len(tables) > 1:
        raise ValueError(f"expected the choices of one model, got those of {some(sorted(tables))}")
    return next(iter(tables.values()))


def _stimuli(shown: Mapping[str, Any]) -> StimulusSet:
    """A stimulus set from ids, files, and labels if they are for fitting."""
    columns = {"stimulus_id": shown["ids"]}
    if shown.get("condition") is not None:
        columns["condition"] = shown["condition"]
    if shown.get("labels") is not None:
        columns["image_label"] = shown["labels"]
    paths = {each: Path(path) for each, path in zip(shown["ids"], shown["files"], strict=False)}
    return StimulusSet(columns, identifier=shown.get("identifier"), stimulus_paths=paths)


def _of_assembly(assembly: Any) -> Message:
    """A message with the dimensions, values and coordinates of an assembly."""
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
