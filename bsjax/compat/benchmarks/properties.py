"""Single-neuron properties, with the names and arguments known to plugins."""

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import UnivariateSpline

from bsjax.benchmarks.experiment import single_region
from bsjax.benchmarks.families.marques2020.properties import shows
from bsjax.benchmarks.families.marques2020.v1_population import population
from bsjax.benchmarks.lazy_loading import content_of
from bsjax.compat.assemblies import for_plugins
from bsjax.compat.benchmarks.base import BenchmarkBase, ceil_score
from bsjax.compat.score import Score

Numbers = NDArray[np.float64]

_GRATINGS = ("position_y", "position_x", "contrast", "radius", "spatial_frequency", "orientation", "phase")
# Kernels for smoothing a curve, with weights from left to right.
_SMOOTHING = {
    "hanning": (0.0, 0.4, 1.0, 0.4, 0.0),
    "flat": (1.0, 1.0, 1.0, 1.0, 1.0),
    "smooth": (0.0, 0.2, 1.0, 0.2, 0.0),
    "triangle": (0.5, 0.75, 1.0, 0.75, 0.5),
}


class PropertiesBenchmark(BenchmarkBase):
    """Similarity of the distributions of a single-neuron property in a model and in a recording.

    Units are selected and scaled as in :class:`bsjax.benchmarks.PropertiesBenchmark`; the plugin defines the property.

    Args:
        identifier: unique name.
        assembly: the recorded properties, with ``attrs["stimulus_set"]`` and ``attrs["number_of_trials"]``.
        neuronal_property: ``(model_identifier, responses, baseline) -> properties``, responses as ``(neuroid,
            presentation)`` in spikes per second.
        similarity_metric: metric of two such assemblies.
        timebins: the single time bin to record in, ``[(start, end)]`` in ms.
        ceiling_func: function of the assembly that returns the ceiling; called once.
        **kwargs: arguments of :class:`~bsjax.compat.benchmarks.base.BenchmarkBase`.
    """

    def __init__(
        self,
        identifier: str,
        assembly: Any,
        neuronal_property: Any,
        similarity_metric: Any,
        timebins: Any,
        ceiling_func: Callable[[Any], Any],
        **kwargs: Any,
    ) -> None:
        super().__init__(identifier, lambda: ceiling_func(content_of(assembly)), **kwargs)
        self._assembly = assembly
        self._neuronal_property = neuronal_property
        self._similarity_metric = similarity_metric
        self.timebins = timebins

    @cached_property
    def region(self) -> str:
        """The region to record."""
        return single_region(content_of(self._assembly), self.identifier)

    def __call__(self, candidate: Any) -> Score:
        """Score a model."""
        assembly = content_of(self._assembly)
        show = shows(candidate, self.region, self.timebins, int(assembly.attrs["number_of_trials"]))
        seen = show(assembly.stimulus_set.identifier)
        y, x = get_stimulus_position(seen)
        found = population(show, (float(y), float(x)), candidate.identifier)
        responses = for_plugins(found.rates(seen).transpose("neuroid", "presentation"))
        baseline = responses.isel(presentation=[0]).copy(data=found.baseline[:, None])
        identifier = candidate.identifier
        measured = self._neuronal_property(model_identifier=identifier, responses=responses, baseline=baseline)
        return ceil_score(self._similarity_metric(measured, assembly), self.ceiling)


def get_stimulus_position(stimulus_set: Any) -> Numbers:
    """Centre of the stimuli: y and x in degrees.

    Raises:
        ValueError: the stimuli are at different places.
    """
    places = [np.unique(np.asarray(stimulus_set[name])) for name in ("position_y", "position_x")]
    if any(len(place) != 1 for place in places):
        raise ValueError(f"the stimuli must have one position, theirs are y {places[0]} and x {places[1]}")
    return np.concatenate(places)


def check_gratings(activations: Any) -> None:
    """Verify that gratings are in the order of their columns, with the last varying fastest.

    Raises:
        ValueError: they are not.
    """
    columns = [activations[name].values for name in _GRATINGS]
    full = math.prod(len(np.unique(column)) for column in columns) == len(columns[0])
    # In some sets, sizes depend on the spatial frequency, and only the later columns form a grid.
    used = columns if full else columns[-3:]
    levels = [np.unique(column) for column in used]
    grid = np.stack([axis.ravel() for axis in np.meshgrid(*levels, indexing="ij")])
    repeats, left = divmod(len(columns[0]), grid.shape[1])
    if not left and np.array_equal(np.tile(grid, repeats), np.stack(used)):
        return
    raise ValueError(f"gratings must come in the order of {', '.join(_GRATINGS)}, the last changing fastest")


def check_textures(activations: Any) -> None:
    """Verify that every sample of every family of textures and of noise is present.

    Raises:
        ValueError: some are missing or repeated.
    """
    rows = np.stack(
        [np.unique(activations[name].values, return_inverse=True)[1] for name in ("type", "family", "sample")]
    )
    expected = int(np.prod(rows.max(axis=1) + 1))
    if rows.shape[1] != expected or len(np.unique(rows, axis=1).T) != expected:
        raise ValueError(f"{expected} textures are expected, each once, got {rows.shape[1]}")


def calc_circular_variance(orientation_curve: Any, orientation: Any) -> float:
    r""":math:`1 - |\sum_k r_k e^{2 i \theta_k}| / \sum_k |r_k|`, orientations in degrees (Ringach et al. 2002)."""
    curve, angle = np.asarray(orientation_curve, float), np.deg2rad(np.asarray(orientation, float))
    return float(1 - np.abs(curve @ np.exp(2j * angle)) / np.abs(curve).sum())


def calc_orthogonal_preferred_ratio(orientation_curve: Any, orientation: Any) -> float:
    """Response to the orientation orthogonal to the preferred one, divided by the response to the preferred one."""
    curve = np.asarray(orientation_curve, float)
    best = int(np.argmax(curve))
    return float(curve[(best + len(orientation) // 2) % len(curve)] / curve[best])


def calc_bandwidth(
    orientation_curve: Any, orientation: Any, filt_type: str | None = "hanning", thrsh: float = 0.5, mode: str = "full"
) -> tuple[float, int, Numbers, Numbers]:
    """The width of an orientation tuning curve at a fraction of its peak.

    Args:
        orientation_curve: response to each orientation.
        orientation: orientations in degrees, from 0 to 180.
        filt_type: smoothing of the curve: ``"hanning"``, ``"flat"``, ``"smooth"``, or None.
        thrsh: the fraction of the peak.
        mode: ``"full"`` for the width, ``"half"`` for half of it.

    Returns:
        The width in degrees, NaN if it exceeds 180 or the curve does not fall that low; the preferred orientation;
        orientations in steps of a degree, and the smoothed curve at them.
    """
    angles = np.asarray(orientation, float)
    around = np.concatenate([angles - 180, angles, angles + 180])
    curve = _smoothed(np.tile(np.squeeze(np.asarray(orientation_curve, float)), 3), filt_type, "same")
    fine = np.linspace(-180, 359, 540)
    fitted = np.asarray(UnivariateSpline(around, curve, s=0.0)(fine))
    best = int(np.argmax(fitted[180:360]))
    low = np.flatnonzero(fitted <= fitted[best + 180] * thrsh)
    left, right = low[low < best + 180], low[low > best + 180]
    width = float(fine[right[0]] - fine[left[-1]]) if len(left) and len(right) else np.nan
    width = np.nan if width > 180 else width
    return width / 2 if mode == "half" else width, best, fine[180:360], fitted[180:360]


def calc_spatial_frequency_tuning(
    y: Any, sf: Any, filt_type: str | None = "triangle", thrsh: float = 0.707, mode: str = "ratio"
) -> tuple[float, float, float, Numbers, Numbers]:
    """The peak and the width of a spatial frequency tuning curve on a logarithmic axis.

    Args:
        y: response to each frequency.
        sf: frequencies in cycles per degree.
        filt_type: smoothing of the curve, see :func:`calc_bandwidth`, or ``"triangle"``.
        thrsh: the fraction of the peak at which the width is taken.
        mode: ``"ratio"``: the lower divided by the higher frequency, in per cent; ``"oct"``: the higher divided by the
            lower, minus one.

    Returns:
        The width, NaN if the curve does not fall that low on both sides; the peak; R² of the smoothed curve;
        frequencies, and the smoothed curve at them.
    """
    values, log = np.squeeze(np.asarray(y, float)), np.log2(np.asarray(sf, float))
    padded = np.concatenate([values[[0, 0]], values, values[[-1, -1]]])
    spline = UnivariateSpline(log, _smoothed(padded, filt_type, "valid") if filt_type else values, s=0.0)
    fine = np.linspace(log[0], log[-1], 100)
    fitted = np.asarray(spline(fine))
    best = int(np.argmax(fitted))
    low = np.flatnonzero(fitted <= fitted[best] * thrsh)
    left, right = low[low < best], low[low > best]
    below = 2 ** fine[left[-1]] if len(left) else np.nan
    above = 2 ** fine[right[0]] if len(right) else np.nan
    width = above / below - 1 if mode == "oct" else below / above * 100
    r2 = 1 - np.sum((values - spline(log)) ** 2) / np.sum((values - values.mean()) ** 2)
    return float(width), float(2 ** fine[best]), float(r2), 2**fine, fitted


def calc_size_tuning(size_curve: Any, radius: Any) -> tuple[float, float, float, float]:
    """The summation field, the surround diameter, their ratio, and the surround suppression index.

    The first three are NaN if large gratings suppress the unit by at most a tenth (Cavanaugh et al. 2002).

    Raises:
        ValueError: no radius beyond the peak can be that of the surround, because the radii do not ascend.
    """
    curve, radii = np.asarray(size_curve, float), np.asarray(radius, float)
    peak, plateau = curve.max(), curve[-1]
    suppression = float((peak - plateau) / peak)
    if not (peak > 0 and suppression > 0.1):
        return np.nan, np.nan, np.nan, suppression
    field = 2 * radii[np.argmax(curve >= 0.95 * peak)]
    beyond = (curve <= plateau + 0.05 * abs(plateau)) & (radii > radii[np.argmax(curve)])
    if not beyond.any():
        raise ValueError(f"radii must ascend, as the curve is taken to end at the largest, got {radii.tolist()}")
    surround = 2 * radii[np.argmax(beyond)]
    return float(field), float(surround), float(surround / field), suppression


def calc_texture_modulation(response: Any, noise: Any = None) -> Any:
    """Texture modulation, the normalised difference of responses to textures and noise: mean over families, and each.

    Args:
        response: responses to noise and to textures, ``(2, families)``; or to textures only, with dims
            ``(neuroids, families, ...)``.
        noise: responses to noise, shaped like the latter, as in tutorials; the result is then the mean for each
            neuroid.
    """
    if noise is not None:
        shape = (*np.shape(noise)[:2], -1)
        texture, noise = (np.reshape(each, shape).astype(float).mean(-1) for each in (response, noise))
        return np.nanmean((texture - noise) / (texture + noise), axis=-1)
    noise, texture = np.asarray(response, float)
    by_family = (texture - noise) / (texture + noise)
    return float(np.nanmean(by_family)), by_family


def calc_sparseness(response: Any) -> float:
    """Sparseness of responses over stimuli, see :func:`bsjax.metrics.tuning.sparseness`."""
    values = np.asarray(response, float).ravel()
    return float((1 - values.mean() ** 2 / np.mean(values**2)) / (1 - 1 / len(values)))


def calc_variance_ratio(response: Any) -> tuple[float, float, float]:
    """Ratio of the variance across families to that across samples, and the share of each in the total variance.

    Args:
        response: ``(families, samples)``.
    """
    values = np.asarray(response, float)
    families, samples = values.shape
    of_family = values.mean(axis=1)
    of_samples = np.sum((values - of_family[:, None]) ** 2) / (families * (samples - 1))
    between = samples * np.sum((of_family - of_family.mean()) ** 2) / (families - 1)
    of_families = (between - of_samples) / samples
    total = of_samples + of_families
    return (of_families / total + 0.02) / (of_samples / total + 0.02), of_samples / total, of_families / total


def _smoothed(curve: Numbers, filt_type: str | None, mode: Any) -> Numbers:
    if filt_type is None:
        return curve
    if filt_type not in _SMOOTHING:
        raise ValueError(f"filt_type must be None or one of {', '.join(_SMOOTHING)}, got {filt_type!r}")
    weights = np.array(_SMOOTHING[filt_type])
    return np.asarray(np.convolve(weights / weights.sum(), curve, mode=mode), float)
