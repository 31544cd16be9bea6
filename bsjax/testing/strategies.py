"""Hypothesis strategies for responses, assemblies, choices, dissimilarity matrices and splits.

They need hypothesis, which ``bsjax[testing]`` installs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bsjax.core.extras import import_extra
from bsjax.data import BehavioralAssembly, NeuroidAssembly
from bsjax.testing.data import assembly

st: Any = import_extra("hypothesis.strategies", "testing")

# Values are multiples of 1/8, which floats represent exactly: ties are exact, and printed examples are short.
_PARTS, _LARGEST = 8, 10
_OBJECTS = ("car", "dog", "face", "tree")


def _values(shape: tuple[int, ...], ties: bool) -> Any:
    size = int(np.prod(shape))
    most = 3 if ties else _LARGEST * _PARTS
    whole = st.lists(st.integers(-most, most), min_size=size, max_size=size)
    return whole.map(lambda numbers: np.array(numbers, float).reshape(shape) / _PARTS)


def responses(
    stimuli: tuple[int, int] = (4, 12),
    units: tuple[int, int] = (1, 5),
    *,
    constant: bool = False,
    ties: bool = False,
) -> Any:
    """Arrays of responses ``(stimuli, units)`` in float64.

    Args:
        stimuli, units: smallest and largest number of each.
        constant: whether some units may be constant over stimuli.
        ties: whether many values are tied.

    Returns:
        A strategy of arrays.

    Raises:
        ImportError: hypothesis is not installed. The message has the command that installs it.

    Example:
        >>> from hypothesis import find
        >>> find(responses(), lambda values: values.shape[1] >= 2).shape
        (4, 2)
    """

    @st.composite
    def drawn(draw: Any) -> np.ndarray:
        shape = draw(st.integers(*stimuli)), draw(st.integers(*units))
        values = draw(_values(shape, ties))
        if constant:
            values[:, draw(st.lists(st.booleans(), min_size=shape[1], max_size=shape[1]))] = 0.1
        return values

    return drawn()


def assemblies(
    stimuli: tuple[int, int] = (4, 12),
    neuroids: tuple[int, int] = (1, 5),
    *,
    repetitions: tuple[int, int] | None = None,
    time_bins: int | None = None,
    constant: bool = False,
    ties: bool = False,
) -> Any:
    """Assemblies of responses (presentation, neuroid[, time_bin]), with the coordinates of the data standard.

    Args:
        stimuli, neuroids: smallest and largest number of each.
        repetitions: smallest and largest number of presentations of a stimulus, drawn for each stimulus; rows are in
            any order, with the coordinate ``repetition``. None for one presentation of each stimulus.
        time_bins: number of time bins of 10 ms; None for no time dimension.
        constant: whether some neuroids may be constant.
        ties: whether many values are tied.

    Returns:
        A strategy of ``NeuroidAssembly``.

    Raises:
        ImportError: hypothesis is not installed. The message has the command that installs it.

    Example:
        >>> from hypothesis import find
        >>> find(assemblies(repetitions=(1, 3)), lambda trials: len(trials) > 4).dims
        ('presentation', 'neuroid')
    """

    @st.composite
    def drawn(draw: Any) -> NeuroidAssembly:
        n, units = draw(st.integers(*stimuli)), draw(st.integers(*neuroids))
        times = [1] * n if repetitions is None else draw(_counts(n, repetitions))
        rows = [(f"stimulus{s:02d}", r) for r in range(max(times)) for s in range(n) if r < times[s]]
        if repetitions is not None:
            rows = draw(st.one_of(st.just(rows), st.permutations(rows)))
        values = draw(_values((len(rows), units * (time_bins or 1)), ties))
        if constant:
            alike = np.array(draw(st.lists(st.booleans(), min_size=units, max_size=units)))
            values[:, np.repeat(alike, time_bins or 1)] = 0.1
        made = assembly(values[:, :units], "y", [stimulus for stimulus, _ in rows])
        coords: dict[str, Any] = {str(name): coord for name, coord in made.coords.items()}
        coords["object_name"] = ("presentation", [_object_of(stimulus) for stimulus, _ in rows])
        if repetitions is not None:
            coords["repetition"] = ("presentation", [repetition for _, repetition in rows])
        if time_bins is None:
            return NeuroidAssembly(made.values, coords, made.dims)
        starts = 70 + 10 * np.arange(time_bins)
        coords |= {"time_bin_start": ("time_bin", starts), "time_bin_end": ("time_bin", starts + 10)}
        return NeuroidAssembly(values.reshape(len(rows), units, -1), coords, (*made.dims, "time_bin"))

    return drawn()


def choices(
    stimuli: tuple[int, int] = (4, 8), subjects: tuple[int, int] = (1, 3), objects: tuple[int, int] = (2, 4)
) -> Any:
    """Choices of subjects among objects, with one trial of each subject and stimulus; some trials may be missing.

    Args:
        stimuli, subjects, objects: smallest and largest number of each; at most four objects.

    Returns:
        A strategy of ``BehavioralAssembly`` (presentation) with ``stimulus_id``, ``truth``, ``choice`` and ``subject``.

    Raises:
        ImportError: hypothesis is not installed. The message has the command that installs it.

    Example:
        >>> from hypothesis import find
        >>> find(choices(), lambda trials: (trials["choice"] != trials["truth"]).any())["choice"].dims
        ('presentation',)
    """

    @st.composite
    def drawn(draw: Any) -> BehavioralAssembly:
        n, people, kinds = (draw(st.integers(*of)) for of in (stimuli, subjects, objects))
        every = [(f"stimulus{s:02d}", f"subject{p}", _OBJECTS[s % kinds]) for p in range(people) for s in range(n)]
        kept = draw(st.one_of(st.just(every), st.lists(st.sampled_from(every), min_size=n, unique=True)))
        chosen = draw(st.lists(st.sampled_from(_OBJECTS[:kinds]), min_size=len(kept), max_size=len(kept)))
        names = ("stimulus_id", "subject", "truth")
        coords = {name: ("presentation", list(of)) for name, of in zip(names, zip(*kept, strict=True), strict=True)}
        truth = coords["truth"]
        more = {"choice": ("presentation", chosen), "object_name": truth, "image_label": truth}
        return BehavioralAssembly(chosen, coords={**coords, **more}, dims=["presentation"])

    return drawn()


def rdms(stimuli: tuple[int, int] = (4, 8), *, ties: bool = False) -> Any:
    """Dissimilarity matrices ``(stimuli, stimuli)``: symmetric, non-negative, with a zero diagonal.

    Args:
        stimuli: smallest and largest number of stimuli.
        ties: whether many dissimilarities are tied.

    Returns:
        A strategy of arrays.

    Raises:
        ImportError: hypothesis is not installed. The message has the command that installs it.

    Example:
        >>> from hypothesis import find
        >>> find(rdms(stimuli=(3, 3)), lambda matrix: matrix.max() > 0).max()
        np.float64(0.125)
    """

    @st.composite
    def drawn(draw: Any) -> np.ndarray:
        n = draw(st.integers(*stimuli))
        upper = np.zeros((n, n))
        upper[np.triu_indices(n, 1)] = np.abs(draw(_values((n * (n - 1) // 2,), ties)))
        return upper + upper.T

    return drawn()


def splits(stimuli: int, folds: tuple[int, int] = (1, 4)) -> Any:
    """Splits of stimuli into training and test rows, at least two of each.

    Args:
        stimuli: number of stimuli, at least four.
        folds: smallest and largest number of splits.

    Returns:
        A strategy of lists of pairs (training rows, test rows), the argument of ``bsjax.metrics.make_folds``.

    Raises:
        ImportError: hypothesis is not installed. The message has the command that installs it.

    Example:
        >>> from hypothesis import find
        >>> [(train, test)] = find(splits(4), lambda found: True)
        >>> train.tolist(), test.tolist()
        ([0, 1], [2, 3])
    """

    @st.composite
    def drawn(draw: Any) -> list[tuple[np.ndarray, np.ndarray]]:
        found = []
        for _ in range(draw(st.integers(*folds))):
            order, cut = draw(st.permutations(range(stimuli))), draw(st.integers(2, stimuli - 2))
            found.append((np.sort(order[:cut]), np.sort(order[cut:])))
        return found

    return drawn()


def _counts(n: int, between: tuple[int, int]) -> Any:
    return st.lists(st.integers(*between), min_size=n, max_size=n)


def _object_of(stimulus: str) -> str:
    return _OBJECTS[int(stimulus[-2:]) % len(_OBJECTS)]
