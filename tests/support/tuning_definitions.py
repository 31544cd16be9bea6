"""The properties of one neuron, by their definitions, with SciPy's splines and loops: what kernels are held against."""

import numpy as np
from scipy.interpolate import UnivariateSpline

ORIENTATIONS = np.arange(0.0, 180.0, 15.0)
FREQUENCIES = 2.0 ** np.linspace(-1.375, 3.875, 22)
RADII = 2.0 ** np.linspace(-2.25, 3.25, 12) / 2


def circular_variance(curve, theta=ORIENTATIONS):
    return 1 - abs(sum(r * np.exp(2j * np.deg2rad(t)) for r, t in zip(curve, theta, strict=True))) / sum(abs(curve))


def orthogonal_preferred_ratio(curve):
    best = int(np.argmax(curve))
    return curve[best - len(curve) // 2] / curve[best]


def orientation_spline(curve, neighbour, theta=ORIENTATIONS):
    weights = np.array([0, neighbour, 1, neighbour, 0])
    smooth = np.convolve(np.tile(curve, 3), weights / weights.sum(), mode="same")
    return UnivariateSpline(np.concatenate([theta - 180, theta, theta + 180]), smooth, s=0)


def half_bandwidth(curve, theta=ORIENTATIONS):
    spline = orientation_spline(curve, 0.4, theta)
    peak = int(np.argmax(spline(np.arange(180))))
    ends = []
    for direction in (-1, 1):
        degree = peak + direction
        while -180 <= degree <= 359 and spline(degree) > 0.707 * spline(peak):
            degree += direction
        ends.append(degree)
    width = ends[1] - ends[0]
    return width / 2 if ends[0] >= -180 and ends[1] <= 359 and width <= 180 else np.nan


def preferred_orientation(curve, theta=ORIENTATIONS):
    peak = int(np.argmax(orientation_spline(curve, 0.2, theta)(np.arange(180))))
    return peak - 180 if peak >= 157.5 else peak


def frequency_samples(curve, frequencies=FREQUENCIES):
    weights = np.array([0, 0.2, 1, 0.2, 0])
    smooth = np.convolve(np.pad(curve, 2, mode="edge"), weights / weights.sum(), mode="valid")
    octaves = np.log2(frequencies)
    at = np.linspace(octaves[0], octaves[-1], 100)
    return at, UnivariateSpline(octaves, smooth, s=0)(at)


def peak_spatial_frequency(curve, frequencies=FREQUENCIES):
    at, samples = frequency_samples(curve, frequencies)
    return 2 ** at[np.argmax(samples)]


def spatial_frequency_bandwidth(curve, frequencies=FREQUENCIES):
    at, samples = frequency_samples(curve, frequencies)
    peak = int(np.argmax(samples))
    low = np.flatnonzero(samples <= 0.707 * samples[peak])
    if not (low < peak).any() or not (low > peak).any():
        return np.nan
    return 100 * 2 ** at[low[low < peak][-1]] / 2 ** at[low[low > peak][0]]


def size_tuning(curve, radii=RADII):
    """Suppression index, grating summation field, surround diameter."""
    peak, last = max(curve), curve[-1]
    index = (peak - last) / peak
    if index <= 0.1:
        return index, np.nan, np.nan
    field = next(r for r, value in zip(radii, curve, strict=True) if value >= 0.95 * peak)
    beyond = radii > radii[np.argmax(curve)]
    return index, 2 * field, 2 * radii[beyond & (curve <= last + 0.05 * abs(last))][0]


def texture_modulation_index(texture, noise):
    return np.nanmean([(t - n) / (t + n) if t + n else np.nan for t, n in zip(texture, noise, strict=True)])


def sparseness(responses):
    n = len(responses)
    return (1 - np.mean(responses) ** 2 / np.mean(responses**2)) / (1 - 1 / n)


def variance_ratio(rates):
    y = np.sqrt(rates / 10) + np.sqrt(rates / 10 + 1)
    families, samples = y.shape
    within = sum(np.sum((row - row.mean()) ** 2) for row in y) / (families * (samples - 1))
    between = samples * np.sum((y.mean(axis=1) - y.mean()) ** 2) / (families - 1)
    of_families = (between - within) / samples
    total = within + of_families
    return (of_families / total + 0.02) / (within / total + 0.02)
