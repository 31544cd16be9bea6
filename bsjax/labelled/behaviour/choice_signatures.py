"""Behavioural signatures of object recognition, compared between a model's choice probabilities and people's trials."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bsjax.labelled.aggregate import mean_and_deviation, nan_mean, spread_or_none
from bsjax.labelled.align import STIMULUS, coordinate, refuse_different, unique_ids, with_dims
from bsjax.labelled.behaviour.responses import SUBJECT, read, refuse_where
from bsjax.labelled.metric import WithCeiling
from bsjax.labelled.resampling.draws import Drawn
from bsjax.labelled.score import Score
from bsjax.labelled.settings import whole_number
from bsjax.metrics.behaviour.choice_signatures import Consistency, Signature, choice_consistency, choice_reliability
from bsjax.metrics.resampling.behaviour import signature_bootstraps

_SIDES = "source_probabilities", "target"
SIGNATURES = {
    "i1": Signature(),  # d' of each image, averaged over distractors
    "i1n": Signature(normalise=True),  # the same, relative to the other images of its object
    "i2": Signature(per_distractor=True),  # d' of each image against each distractor
    "i2n": Signature(per_distractor=True, normalise=True),  # the same, relative to the other images of its object
    "o1": Signature("object"),  # d' of each object, averaged over distractors
    "o2": Signature("object", per_distractor=True),  # d' of each object against each other object
}


@dataclass(frozen=True)
class ChoiceSignature(WithCeiling):
    """Similarity of a model's pattern of object confusions to that of observers.

    The trials are two-way match-to-sample choices. A random half of them gives a d' for each image (``I1``), each image
    and distractor (``I2``), each object (``O1``) or each pair of objects (``O2``). The same d' are computed from the
    model's probabilities, and the two are correlated over all cells that both define. ``I1n`` and ``I2n`` first
    subtract, for each distractor, the mean over the images of an object. The score is the mean over ``repetitions``
    halves, its error their standard deviation; ``raw`` has one correlation per half. The halves depend on the order of
    the trials, and are the same in all draws of stimuli and subjects. There is no interval by default, only in draws.

    A cell (an image, an image with a distractor, an object, or a pair) is left out if either side has no d', and
    counted in ``n_undefined`` if that happens in any half. There is no d' if a distractor was never offered with an
    image in a half, an image has no trials in it, probabilities are NaN or zero for both objects, or a false-alarm rate
    of 1 meets a miss rate of 0. Trials without an answer do not count. An object that was offered and never chosen has
    a rate of 0.

    Args:
        identifier: name of the signature, an entry of ``SIGNATURES``.
        repetitions: number of random halves.
        random_state: seed of the halves.
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.

    Source: Rajalingham et al. 2018; Schrimpf et al. 2018.

    Example:
        >>> from bsjax import BehavioralAssembly
        >>> model = BehavioralAssembly([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]], dims=["presentation", "choice"], coords={
        ...     "stimulus_id": ("presentation", ["dog1", "dog2", "cat1"]), "choice": ("choice", ["dog", "cat"])})
        >>> chosen = ["dog", "dog", "cat", "cat", "cat", "dog"] * 20
        >>> trials = BehavioralAssembly(chosen, dims=["presentation"], coords={
        ...     "stimulus_id": ("presentation", ["dog1", "dog2", "dog2", "cat1", "cat1", "cat1"] * 20),
        ...     "truth": ("presentation", ["dog", "dog", "dog", "cat", "cat", "cat"] * 20),
        ...     "sample_obj": ("presentation", ["dog", "dog", "dog", "cat", "cat", "cat"] * 20),
        ...     "dist_obj": ("presentation", ["cat", "cat", "cat", "dog", "dog", "dog"] * 20)})
        >>> score = I1()(model, trials)
        >>> score.n_units, float(score) > 0.9
        (3, True)
    """

    normalisation = "each_split_over_sqrt_ceiling"  # the ceiling, too, is of half of the trials
    needs = (STIMULUS, "truth", "sample_obj", "dist_obj")
    needs_of_source = (STIMULUS,)

    identifier: str = field()
    repetitions: int = 2
    random_state: int = 0
    dtype: str | None = None

    def __post_init__(self) -> None:
        whole_number(self.repetitions, "repetitions", 1)

    @property
    def signature(self) -> Signature:
        """The settings of the signature, for the kernels."""
        return SIGNATURES[self.identifier]

    def __call__(self, source_probabilities: xr.DataArray, target: xr.DataArray) -> Score:
        """Scores how well the model's signature predicts that of each half of the trials.

        Args:
            source_probabilities: (presentation, choice), one row per image, with ``stimulus_id`` and the objects in
                ``choice``.
            target: the object chosen in each trial (presentation), with ``stimulus_id``, ``truth`` (the image's
                object), and the two offered objects in ``sample_obj`` and ``dist_obj``.

        Raises:
            ValueError: images or objects differ, a coordinate is missing, or probabilities are negative.
        """
        probabilities, trials = _compared(source_probabilities, target)
        half, _ = self._halves(trials)
        arrays = probabilities, *trials.codes, half.astype(float)
        return self._score(self.run_kernel(choice_consistency, *arrays, kind=self.signature), trials)

    def drawn_values(self, drawn: Drawn, source_probabilities: xr.DataArray, target: xr.DataArray) -> dict[str, Any]:
        """Its values in every draw of stimuli and subjects, see :func:`bsjax.labelled.metric.scored`.

        All draws use the same random halves of the trials. An image is weighted by its copies in the draw, in means
        over images and in the correlation of image signatures; a trial is weighted by the copies of its ``subject``.
        Cells without trials or images in a draw are left out, as in the score.
        """
        probabilities, trials = _compared(source_probabilities, target)
        return self._in_draws(drawn, target, trials, self._halves(trials)[:1], probabilities, complete=False)

    def ceiling(self, assembly: xr.DataArray, skipna: bool = False) -> Score:
        """How well one half of the trials predicts the other, not corrected for the halved number of trials.

        Args:
            assembly: trials, as in ``target``.
            skipna: leave out cells that only the second half defines; otherwise they are an error.

        Raises:
            ValueError: a coordinate is missing, or the first half lacks a cell of the second.
        """
        trials = _Trials(assembly)
        halves = (half.astype(float) for half in self._halves(trials))
        n_objects = len(trials.objects)
        found = self.run_kernel(choice_reliability, *trials.codes, *halves, kind=self.signature, n_objects=n_objects)
        lost = int(np.max(found.lost))
        if lost and not skipna:
            raise ValueError(
                f"{lost} d' of the second half of the trials are undefined in the first half, which has too few "
                "trials: pass skipna=True to leave them out"
            )
        return spread_or_none(self._score(found, trials, ceiling={"skipna": skipna}), "random halves of the trials")

    def drawn_ceilings(self, drawn: Drawn, assembly: xr.DataArray, skipna: bool = False) -> dict[str, Any]:
        """The ceiling in every draw of stimuli and subjects, which are weighted as in :meth:`drawn_values`.

        Without ``skipna``, a draw is undefined if its first half lacks a cell of the second.
        """
        trials = _Trials(assembly)
        return self._in_draws(drawn, assembly, trials, self._halves(trials), None, complete=not skipna)

    def _in_draws(
        self, drawn: Drawn, assembly: xr.DataArray, trials: "_Trials", halves: Any, probabilities: Any, complete: bool
    ) -> dict[str, Any]:
        """The values in every draw of a model, or of the first half of the trials, compared with the last half."""
        truth, *codes = trials.codes
        settings = {"kind": self.signature, "n_objects": len(trials.objects), "complete": complete}

        def of_draws(together: Sequence[str]) -> np.ndarray:
            images = drawn.in_order("stimuli", trials.images) if "stimuli" in together else None
            subjects = drawn.counts["subjects"] if "subjects" in together else None
            who = None if subjects is None else drawn.codes("subjects", assembly[SUBJECT].values)
            arrays = truth, tuple(codes), np.stack(halves).astype(float), images, subjects, who, probabilities
            return nan_mean(self.run_kernel(signature_bootstraps, *arrays, **settings))

        return {"values": drawn.in_passes(of_draws)}

    def _halves(self, trials: "_Trials") -> tuple[np.ndarray, np.ndarray]:
        """Masks of the answered trials in the first and the second half, drawn as in Brain-Score."""
        rng = np.random.RandomState(self.random_state)
        n = len(trials.answered)
        orders = np.stack([rng.permutation(n) for _ in range(self.repetitions)])
        first = orders.argsort(axis=1) < n // 2
        return first & trials.answered, ~first & trials.answered

    def _score(self, found: Consistency, trials: "_Trials", **called_with: Any) -> Score:
        rows = len(trials.images if self.signature.of == "image" else trials.objects)
        cells = rows * (len(trials.objects) - 1 if self.signature.per_distractor else 1)
        counted = {"n_units": cells, "n_undefined": cells - int(found.compared)}
        raw = xr.DataArray(np.asarray(found.r, float), {"split": np.arange(len(found.r))}, ["split"])
        made = self.provenance(**called_with)
        return mean_and_deviation(raw, "random halves of the trials", "r", made, **counted)


I1, I1n, I2, I2n, O1, O2 = (partial(ChoiceSignature, name) for name in SIGNATURES)


class _Trials:
    """Trials as integer codes of images and objects, among those of a model if given."""

    def __init__(
        self, trials: xr.DataArray, images: np.ndarray | None = None, objects: np.ndarray | None = None
    ) -> None:
        trials = with_dims(trials, "target", "presentation")
        stimuli, truth, sample, distractor = read(trials, ChoiceSignature.needs, "target")
        chosen = np.asarray(trials.values)
        self.answered = ~pd.isna(chosen)
        strange = self.answered & (chosen != sample) & (chosen != distractor)
        problem = f"{strange.sum()} trials chose an object that was neither sample_obj nor dist_obj, for"
        refuse_where(strange, stimuli, STIMULUS, problem)
        # One column at a time, because text as Python strings takes many times the memory of its codes.
        of_image = pd.factorize(stimuli, use_na_sentinel=False)
        of_object = [pd.factorize(column, use_na_sentinel=False) for column in (truth, chosen, sample, distractor)]
        shown, given = np.asarray(of_image[1]), [np.asarray(labels) for _, labels in of_object]
        given[1] = given[1][~pd.isna(given[1])]
        named = pd.unique(np.concatenate(given).astype(object))
        self.images = np.sort(shown) if images is None else images
        self.objects = np.sort(named) if objects is None else objects
        refuse_different(self.images, shown, _SIDES, STIMULUS)
        refuse_different(self.objects, named, _SIDES, "objects")
        stimulus = _codes(*of_image, self.images)
        what = [_codes(*column, self.objects) for column in of_object]
        truth_of_image = np.zeros(len(self.images), np.int32)
        truth_of_image[stimulus] = what[0]
        refuse_where(truth_of_image[stimulus] != what[0], stimuli, STIMULUS, "target has more than one truth for")
        # A trial without an answer has weight 0, so its object code does not matter.
        self.codes = (truth_of_image, stimulus, np.maximum(what[1], 0), what[2], what[3])


def _compared(source: xr.DataArray, target: xr.DataArray) -> tuple[np.ndarray, _Trials]:
    """A model's probabilities ``(images, objects)``, and the trials with codes of the same images and objects."""
    source = with_dims(source, "source_probabilities", "presentation", "choice")
    images = unique_ids(source, "source_probabilities")
    objects = coordinate(source, "choice", "choice", "source_probabilities")
    refuse_where(pd.Index(objects).duplicated(), objects, "choice", "source_probabilities repeats")
    values = np.asarray(source.values, float)
    refuse_where((values < 0).any(axis=1), images, STIMULUS, "source_probabilities has negative values for")
    return values, _Trials(target, images, objects)


def _codes(codes: np.ndarray, labels: Any, among: np.ndarray) -> np.ndarray:
    """Codes of ``labels`` translated to positions ``among`` other labels, -1 for labels not among them."""
    return pd.Index(among).get_indexer(pd.Index(labels)).astype(np.int32)[codes]
