"""Remote models: proxies on the trusted side for models whose code runs on the model's side."""

import builtins
import hashlib
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

import msgspec
import numpy as np

from bsjax.activations.checks import checked_layers
from bsjax.activations.inputs.microsaccades import Microsaccades
from bsjax.core.files import cache_dir
from bsjax.core.messages import some
from bsjax.data import BehavioralAssembly, NeuroidAssembly, StimulusSet
from bsjax.models import ModelCommitment
from bsjax.models.brain_model import Task, region_name
from bsjax.models.stimulus_presentation import as_stimulus_set
from bsjax.submission.sandbox import Contained, Sandbox
from bsjax.submission.sides.gallery import Gallery
from bsjax.submission.sides.wire import Message, Refused, receive, send

_MOST_TEXT = 2000
# Seconds that a process may take to end once it has closed its pipes.
_ENDS = 5.0


class ModelSideFailed(RuntimeError):
    """The submission raised an error, gave an invalid answer, or was killed.

    Attributes:
        passed: the exceeded limit, e.g. "memory"; "" if none.
        peak: largest measured memory, in bytes.
    """

    passed: str = ""
    peak: int = 0


@dataclass(frozen=True)
class HandedIn:
    """A submitted model, to be built by the model's side.

    Attributes:
        question: "build" or "stored".
        values: arguments of the question.
        digest: digest of everything that determines its answers: files and package versions.
        sandbox: the sandbox of the model's side.
        python: the interpreter to run there.
        most: largest size of the arrays of an answer, in bytes.
    """

    question: str
    values: Mapping[str, Any]
    digest: str
    sandbox: Sandbox
    python: str = sys.executable
    most: int = 8 << 30


class Committed(msgspec.Struct, forbid_unknown_fields=True):
    """The arguments that a remote commitment may send: names and numbers, but no path that would be read here."""

    visual_degrees: float
    layers: list[str] | None = None
    behavioral_readout_layer: str | list[str] | None = None
    region_layer_map: dict[str, str | list[str]] | None = None


class ModelSide:
    """A running model's side, as seen from the trusted side. Use it in a ``with`` block, which ends it.

    Args:
        handed_in: the submitted model.

    Raises:
        ModelSideFailed: the model cannot be built.
    """

    def __init__(self, handed_in: HandedIn) -> None:
        self._handed_in = handed_in
        self._within = ExitStack()
        self.hides_errors = False
        place = cache_dir() / "galleries"
        place.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=place)).resolve()
        self._within.callback(shutil.rmtree, folder, ignore_errors=True)
        self.gallery = Gallery(folder)
        sandbox = handed_in.sandbox
        sandbox = replace(sandbox, readable=(*sandbox.readable, folder))
        command = [handed_in.python, "-m", "bsjax.submission.sides.model_side"]
        self._process: Contained = self._within.enter_context(sandbox.start(command))
        try:
            self.built = self.ask(Message(handed_in.question, handed_in.values)).values
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *of: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process and remove its gallery."""
        self._within.close()

    @property
    def log(self) -> str:
        """The log of the process, complete once it has ended."""
        return self._process.log

    @property
    def peak(self) -> int:
        """Largest measured memory, in bytes."""
        return self._process.watch.peak

    @property
    def digest(self) -> str:
        """Digest of the submitted model."""
        return self._handed_in.digest

    def ask(self, message: Message) -> Message:
        """Send a question and wait for the answer.

        Raises:
            ModelSideFailed: the submission raised an error, was killed, or gave an invalid answer.
        """
        try:
            send(self._process.stdin, message)
            answer = receive(self._process.stdout, self._handed_in.most)
        except Refused as error:
            raise self.refused(str(error)) from None
        except (EOFError, OSError, ValueError):  # the process has ended and closed the pipe
            self._process.wait(_ENDS)
            raise self._failed(self._process.reason or "it ended before it answered") from None
        if answer.what == "error":
            kind, text = (str(answer.values.get(name, ""))[:_MOST_TEXT] for name in ("type", "text"))
            # The name of a custom error could reveal the stimuli.
            known = kind if hasattr(builtins, kind) else "an error of its own"
            raise self._failed(known if self.hides_errors else f"{kind}: {text}")
        return answer

    def refused(self, why: str) -> ModelSideFailed:
        """End the process after an invalid answer; gives the error to raise."""
        self._process.end()
        return self._failed("its answer is refused" + ("" if self.hides_errors else f": {why}"))

    def _failed(self, why: str) -> ModelSideFailed:
        plain = "".join(one if one.isprintable() else " " for one in f"the submission failed: {why}")
        failed = ModelSideFailed(" ".join(plain.split()))
        failed.passed, failed.peak = self._process.passed, self.peak
        return failed

    def model(self) -> Any:
        """Make the model that benchmarks can score.

        Raises:
            ModelSideFailed: the description of the model is invalid.
        """
        said, asked = self.built, self._handed_in
        stored = asked.question == "stored"
        expected = asked.values["identifier" if stored else "model"]
        # A model must keep the identifier that was submitted, else it could overwrite the scores of another.
        if said.get("identifier") != expected:
            raise self.refused(f"it calls itself {str(said.get('identifier'))[:100]!r}, and is {expected!r}")
        # Submitted code sees only pixels, since ids and names of stimuli may reveal their content.
        if not stored and not said.get("looks_at_images"):
            raise self.refused(
                "it takes stored answers by the ids of stimuli: hand these in as a file, with a model.json"
            )
        try:
            degrees = float(said["visual_degrees"])
            if said["arguments"] is None:
                return RemoteModel(self, expected, degrees, not stored)
            arguments = msgspec.convert(said["arguments"], Committed)
            return ModelCommitment(
                expected, RemoteActivations(self, expected, not stored), **msgspec.structs.asdict(arguments)
            )
        except (KeyError, TypeError, ValueError) as error:
            raise self.refused(f"what it says of itself makes no model: {error}") from None


class RemoteActivations:
    """An activations model that runs on the model's side.

    Args:
        side: the model's side.
        identifier: name of the model.
        looks_at_images: whether it gets image files, rather than the ids of stimuli.
    """

    def __init__(self, side: ModelSide, identifier: str, looks_at_images: bool = True) -> None:
        self._side = side
        self.identifier = identifier
        self.looks_at_images = looks_at_images
        self._layers: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.identifier!r})"

    @property
    def digest(self) -> str:
        """Digest of the submitted model."""
        return self._side.digest

    def recipe_digest(self) -> str:
        """The digest of everything that determines the activations."""
        return self._side.digest

    def layers(self) -> dict[str, tuple[int, ...]]:
        """Layer -> shape of its output for one image."""
        return {name: tuple(map(int, shape)) for name, shape in self._known()["shapes"].items()}

    def time_bins(self, layer: str) -> tuple[tuple[float, float], ...] | None:
        """The (start, end) of each time bin of a layer, in ms; None for a static model."""
        times = self._known()["time_bins"]
        return None if times is None else tuple((float(start), float(end)) for start, end in times.get(layer, ()))

    def _known(self) -> dict[str, Any]:
        if not self._layers:
            self._layers = dict(self._side.ask(Message("layers")).values)
        return self._layers

    def __call__(
        self, stimuli: StimulusSet, layers: str | Sequence[str], *, microsaccades: Microsaccades | None = None
    ) -> NeuroidAssembly:
        """Compute activations for every row of stimuli, like :class:`~bsjax.activations.ExtractedActivations`.

        Raises:
            ModelSideFailed: the submission raised an error, was killed, or gave an invalid answer.
        """
        shown, rows = _presented(self._side, stimuli, self.looks_at_images)
        asked = {"shown": shown, "layers": checked_layers(layers)}
        asked["microsaccades"] = None if microsaccades is None else asdict(microsaccades)
        answer = self._side.ask(Message("activations", asked))
        trials = 1 if microsaccades is None else microsaccades.number_of_trials
        found = _Answer(self._side, answer, ("presentation", "neuroid"), len(shown["ids"]) * trials)
        positions = (rows[:, None] * trials + np.arange(trials)).reshape(-1)
        return found.assembly(NeuroidAssembly, stimuli, positions, trials)


class RemoteModel:
    """A brain model on the model's side that is not a :class:`~bsjax.models.ModelCommitment`.

    Args:
        side: the model's side.
        identifier: name of the model.
        visual_degrees: width of its visual field, in degrees.
        looks_at_images: whether it gets image files, rather than the ids of stimuli.
    """

    def __init__(self, side: ModelSide, identifier: str, visual_degrees: float, looks_at_images: bool = True) -> None:
        self._side = side
        self.looks_at_images = looks_at_images
        self.identifier = identifier
        self._visual_degrees = visual_degrees
        self._task = Task.passive

    def recipe_digest(self) -> str:
        """The digest of everything that determines its answers."""
        return self._side.digest

    def visual_degrees(self) -> float:
        """Width of its visual field, in degrees."""
        return self._visual_degrees

    def start_task(self, task: Task | str, fitting_stimuli: Any = None, **settings: Any) -> None:
        """Start a task; stimuli for fitting are sent with their labels."""
        fitting = fitting_stimuli
        if isinstance(fitting_stimuli, StimulusSet):
            fitting, rows = _presented(self._side, fitting_stimuli, self.looks_at_images)
            fitting = _in_rows(fitting, rows)
            fitting["labels"] = [str(label) for label in fitting_stimuli["image_label"]]
        elif fitting_stimuli is not None and not isinstance(fitting_stimuli, (str, Mapping)):
            fitting = [str(label) for label in fitting_stimuli]
        self._task = Task(task)
        self._side.ask(Message("start_task", {"task": self._task.value, "fitting": fitting, "settings": settings}))

    def start_recording(self, recording_target: Any, time_bins: Sequence[tuple[float, float]]) -> None:
        """Start to record from a region in time bins (start, end) in ms."""
        bins = [[float(start), float(end)] for start, end in time_bins]
        self._task = Task.passive
        self._side.ask(Message("start_recording", {"region": region_name(recording_target), "time_bins": bins}))

    def look_at(self, stimuli: Any, number_of_trials: int = 1, require_variance: bool = False) -> Any:
        """Get its answers: one row per stimulus and trial, or one row per triplet.

        Raises:
            ModelSideFailed: the submission raised an error, was killed, or gave an invalid answer.
        """
        stimuli = as_stimulus_set(stimuli)
        shown, rows = _presented(self._side, stimuli, self.looks_at_images)
        names, triplets = shown["ids"], self._task is Task.odd_one_out
        if triplets:  # their rows must stay together
            shown = _in_rows(shown, rows)
        asked = {"shown": shown, "number_of_trials": number_of_trials, "require_variance": require_variance}
        answer = self._side.ask(Message("look_at", asked))
        n_rows = len(stimuli) // 3 if triplets else len(names)
        behaves = "choice" in answer.values.get("dims", ())
        found = _Answer(self._side, answer, ("presentation", "choice" if behaves else "neuroid"), n_rows, trials=True)
        if triplets:
            real = dict(zip(shown["ids"], stimuli["stimulus_id"].tolist(), strict=True))
            return found.odd_ones(real, stimuli["stimulus_id"].to_numpy())
        positions = (rows[:, None] * found.trials + np.arange(found.trials)).reshape(-1)
        return found.assembly(BehavioralAssembly if behaves else NeuroidAssembly, stimuli, positions, found.trials)


def _presented(side: ModelSide, stimuli: StimulusSet, as_images: bool) -> tuple[dict[str, Any], np.ndarray]:
    """The description of stimuli for the model's side, without duplicates, and the row of each stimulus in it."""
    ids = stimuli["stimulus_id"].tolist()
    if not as_images:  # stored answers, which exist only for public stimuli
        if side.hides_errors:
            raise side.refused("stored answers are to public stimuli, and these are private")
        told = {"ids": ids, "files": [], "identifier": stimuli.identifier}
        if "condition" in stimuli:  # an image may have several choices, one per condition
            told["condition"] = [str(each) for each in stimuli["condition"]]
        return told, np.arange(len(ids))
    names, rows = side.gallery.show([Path(stimuli.get_stimulus(each)) for each in ids])
    return {"ids": names, "files": [str(side.gallery.path(name)) for name in names]}, rows


def _in_rows(shown: dict[str, Any], rows: np.ndarray) -> dict[str, Any]:
    """The description with one entry per row, duplicates included."""
    return shown | {name: [shown[name][row] for row in rows] for name in ("ids", "files") if shown[name]}


class _Answer:
    """An assembly from the model's side, with checked dimensions, sizes and finite values."""

    def __init__(
        self, side: ModelSide, answer: Message, dims: tuple[str, ...], n_rows: int, *, trials: bool = False
    ) -> None:
        self._side = side
        told = answer.values
        text = told.get("text", {})
        self._parts: dict[str, Any] = {**answer.arrays, **{name: np.array(each) for name, each in text.items()}}
        if answer.what != "assembly" or "values" not in self._parts:
            raise side.refused(f"an assembly was asked for, and it sent {answer.what!r}")
        given, self.dims = tuple(told.get("dims", ())), dims
        if "time_bin" in given and dims[-1] == "neuroid":
            self.dims = (*dims, "time_bin")
        values = self._parts.pop("values")
        if sorted(given) != sorted(self.dims):
            raise side.refused(f"dimensions {some(given)}, where {some(self.dims)} were expected")
        if values.dtype.kind == "U":  # text is sent flat
            values = values.reshape(n_rows, -1) if n_rows and values.size % n_rows == 0 else values.reshape(-1, 1)
        if values.ndim != len(given):
            raise side.refused(f"values of shape {values.shape}, with dimensions {some(given)}")
        self.values = values.transpose([given.index(dim) for dim in self.dims])
        self.trials, left = divmod(len(self.values), n_rows) if n_rows else (0, len(self.values))
        if left or not self.trials or (self.trials != 1 and not trials):
            raise side.refused(f"{len(self.values)} rows, where {n_rows} were expected")
        if self.values.dtype.kind == "f":
            strange = np.isinf if "time_bin" in self.dims else lambda array: ~np.isfinite(array)
            if strange(self.values).any():
                raise side.refused("numbers that are NaN or infinite")
        sizes = dict(zip(self.dims, self.values.shape, strict=True))
        self.coords = {name: (dim, self._parts[name]) for name, dim in told["coords"].items() if name in self._parts}
        for name, (dim, array) in self.coords.items():
            if array.shape != (sizes.get(dim),):
                raise side.refused(f"coordinate {name[:100]!r} of shape {array.shape} on {dim[:100]!r}")

    def assembly(self, kind: Any, stimuli: StimulusSet, positions: np.ndarray, trials: int) -> Any:
        """The assembly with the columns of the stimuli as coordinates."""
        columns = {str(name): np.repeat(np.asarray(stimuli[name]), trials) for name in stimuli.columns}
        taken = sorted(name for name, (dim, _) in self.coords.items() if dim != "presentation" and name in columns)
        if taken:
            raise self._side.refused(f"coordinates named like columns of the stimuli: {some(taken)}")
        coords: dict[str, Any] = {
            name: (dim, array[positions] if dim == "presentation" else array)
            for name, (dim, array) in self.coords.items()
        }
        coords |= {name: ("presentation", column) for name, column in columns.items()}
        values = self.values if _is_range(positions, len(self.values)) else self.values[positions]
        attrs = {"stimulus_set_identifier": stimuli.identifier} if stimuli.identifier else None
        return kind(values, coords=coords, dims=self.dims, attrs=attrs)

    def odd_ones(self, real: Mapping[str, Any], ids: np.ndarray) -> BehavioralAssembly:
        """The choices of odd-one-out triplets, with the ids of the stimuli."""
        strange = sorted({str(each) for each in self.values.ravel()} - {*real})
        if strange:
            raise self._side.refused(f"choices that were not shown: {some(strange)}")
        odd = np.array([real[str(each)] for each in self.values.ravel()]).reshape(self.values.shape)
        names = ["|".join(map(str, triplet)) for triplet in ids.reshape(-1, 3).tolist()]
        return BehavioralAssembly(odd, coords={"stimulus_id": ("presentation", names)}, dims=list(self.dims))


def _is_range(positions: np.ndarray, length: int) -> bool:
    return len(positions) == length and bool((positions == np.arange(length)).all())


def digest_of(*parts: str) -> str:
    """Combine several strings into one digest."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
