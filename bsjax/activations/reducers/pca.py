"""Principal component analysis through inner products between images, for any number of features."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy

from bsjax.activations.inputs.shown_items import items_of
from bsjax.activations.reducers.reducer import Reducer, Reduction, unchanged
from bsjax.data import StimulusSet

# Size in bytes of blocks of features in double precision.
_BLOCK = 64 << 20
# Relative to the largest, smaller eigenvalues are rounding errors: float32 features have errors of 1e-7, squared here.
_RANK = 1e-12
# Limit in bytes for components in memory; beyond it they are represented by the fitted images on disk.
_IN_MEMORY = 256 << 20


@dataclass(frozen=True, eq=False)
class PCA(Reducer):
    """Scores on the principal components of a layer's activations for given images.

    The components are computed from the n x n Gram matrix of the centred images, summed over blocks of features in
    double precision. This avoids a matrix of features x features, and LAPACK calls on more than 2³¹ entries. The sign
    of a component is chosen such that the score furthest from zero among the fitted images is positive. As in
    Brain-Score, a layer with no more features than ``n_components`` is unchanged. n images give at most n - 1
    components; a component without variance is 0 for every image.

    Args:
        n_components: number of components to keep.
        stimuli: the images to fit on. Brain-Score uses 1000 from ImageNet's validation set.

    Raises:
        ValueError: fewer than one component, or fewer than two images.

    Source: Pearson 1901, Philosophical Magazine 2; Eckart & Young 1936, Psychometrika 1.

    Example:
        >>> pca = PCA(2, StimulusSet({"stimulus_id": ["a", "b", "c"]}))
        >>> fitting = np.array([[1.0, 0, 0, 0], [-1, 0, 0, 0], [0, 0.5, 0, 0]], np.float32)
        >>> fitted = pca.reduction((4,), channels_last=True, fitting=fitting)
        >>> print(abs(fitted(fitting)).round(2))
        [[1.   0.17]
         [1.   0.17]
         [0.   0.33]]
    """

    n_components: int
    stimuli: StimulusSet = field(repr=False)

    def __post_init__(self) -> None:
        if self.n_components < 1:
            raise ValueError(f"n_components must be at least 1, got {self.n_components}")
        if not isinstance(self.stimuli, StimulusSet) or len(self.stimuli) < 2:
            raise ValueError("PCA needs stimuli= to fit on, a StimulusSet of at least two images")

    def digest(self) -> str:
        """The number of components, and the content of the images in order."""
        return f"pca {self.n_components} " + " ".join(item.digest() for item in items_of(self.stimuli))

    def reduced_shape(self, shape: tuple[int, ...], channels_last: bool) -> tuple[int, ...]:
        """The largest number of components; the layer's own shape if it is no larger."""
        if int(np.prod(shape)) <= self.n_components:
            return shape
        return (min(self.n_components, len(self.stimuli) - 1),)

    def held_bytes(self, shape: tuple[int, ...], channels_last: bool) -> int:
        """Bytes of the components or their representation, the mean, and two blocks of features."""
        features, images = int(np.prod(shape)), len(self.stimuli)
        if features <= self.n_components:
            return 0
        held = _bytes_of_components(features, self.n_components)
        held = held if held <= _IN_MEMORY else 8 * images * self.n_components
        return held + 8 * features + 2 * min(_BLOCK, 8 * images * features)

    def reduction(self, shape: tuple[int, ...], channels_last: bool, fitting: np.ndarray | None) -> Reduction:
        """Fit the components to a layer."""
        if fitting is None or int(np.prod(shape)) <= self.n_components:
            return unchanged
        mean, gram = _centred_gram(fitting)
        values, vectors = scipy.linalg.eigh(gram)
        [n_components] = self.reduced_shape(shape, channels_last)
        values, vectors = values[::-1][:n_components], vectors[:, ::-1][:, :n_components]
        varies = values > _RANK * max(values[0], 0)
        inverse = np.where(varies, 1 / np.sqrt(np.where(varies, values, 1)), 0)
        furthest = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None], axis=0)
        return _scores_on(mean, fitting, vectors * np.sign(furthest) * inverse)


def _bytes_of_components(features: int, n_components: int) -> int:
    return 4 * features * n_components


def _scores_on(mean: np.ndarray, fitting: np.ndarray, vectors: np.ndarray) -> Reduction:
    """Scores (x - mean) W with W = Xc' V, from components in memory, or from images and V if those are smaller."""

    def by_images(outputs: np.ndarray) -> np.ndarray:
        flat = outputs.reshape(len(outputs), -1)
        products = np.zeros((len(flat), len(fitting)))
        for part in _blocks(max(len(flat), len(fitting)), flat.shape[1]):
            products += (flat[:, part] - mean[part]) @ (fitting[:, part] - mean[part]).T
        return (products @ vectors).astype(np.float32)

    if _bytes_of_components(len(mean), vectors.shape[1]) > _IN_MEMORY:
        return by_images
    components = np.empty((len(mean), vectors.shape[1]), np.float32)
    for part in _blocks(*fitting.shape):
        components[part] = (fitting[:, part] - mean[part]).T @ vectors

    def by_components(outputs: np.ndarray) -> np.ndarray:
        flat = outputs.reshape(len(outputs), -1)
        scores = np.zeros((len(flat), vectors.shape[1]))
        for part in _blocks(*flat.shape):
            scores += (flat[:, part] - mean[part]) @ components[part]
        return scores.astype(np.float32)

    return by_components


def _centred_gram(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean of the features, and inner products of the centred rows, float64."""
    mean, gram = np.empty(x.shape[1]), np.zeros((len(x), len(x)))
    for part in _blocks(*x.shape):
        block = np.asarray(x[:, part], np.float64)
        mean[part] = block.mean(axis=0)
        block = block - mean[part]
        gram += block @ block.T
    return mean, gram


def _blocks(n_rows: int, n_features: int) -> list[slice]:
    width = max(1, _BLOCK // (8 * n_rows))
    return [slice(start, start + width) for start in range(0, n_features, width)]
