"""The odd-one-out task: choosing the stimulus of three that is least similar to the others."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd

from bsjax.core.messages import some
from bsjax.data import BehavioralAssembly, StimulusSet
from bsjax.engine.transfers import to_host
from bsjax.models.tasks.features import See

_MEASURES = ("dot", "cosine")


@dataclass(frozen=True)
class OddOneOutTask:
    """Chooses the stimulus of each triplet that is not in the most similar pair.

    Attributes:
        layers: the layers whose features are compared.
        similarity_measure: ``"dot"`` for the inner product of features, or ``"cosine"``.

    Raises:
        ValueError: the measure is unknown.

    Source: Hebart et al. 2020.
    """

    layers: Sequence[str]
    similarity_measure: str = "dot"

    def __post_init__(self) -> None:
        if self.similarity_measure not in _MEASURES:
            measures = ", ".join(_MEASURES)
            raise ValueError(f"similarity_measure must be one of {measures}, got {self.similarity_measure!r}")

    def __call__(self, see: See, stimuli: StimulusSet) -> BehavioralAssembly:
        """The odd one of every three rows.

        Similarities are compared in the order first and second, first and third, second and third; the first of equal
        ones counts. With several trials, features are averaged over those of a stimulus.

        Args:
            see: gives the model's features; each stimulus is shown once.
            stimuli: three rows per triplet; a stimulus may be in many.

        Returns:
            The ``stimulus_id`` of the odd one, dims ``(presentation, choice)`` with one choice. The coordinate
            ``stimulus_id`` joins the three: ``"a|b|c"``.

        Raises:
            ValueError: the number of rows is not a multiple of 3, or the measure is ``cosine`` and all features of a
                stimulus are zero.
        """
        if len(stimuli) % 3:
            raise ValueError(f"triplets need a multiple of 3 rows, three for each, got {len(stimuli)}")
        ids = stimuli["stimulus_id"].to_numpy()
        row_of, unique = pd.factorize(ids)
        first = np.unique(row_of, return_index=True)[1]
        seen = see(stimuli.iloc[first], self.layers)
        features = seen.transpose("presentation", "neuroid").data
        if not isinstance(features, jax.Array):
            features = np.asarray(features)
        features = features.reshape(len(unique), -1, features.shape[1]).mean(axis=1)
        similarity = self._similarities(features, unique.tolist())
        i, j, k = row_of.reshape(-1, 3).T
        most = np.argmax([similarity[i, j], similarity[i, k], similarity[j, k]], axis=0)
        triplets = ids.reshape(-1, 3)
        odd = triplets[np.arange(len(triplets)), 2 - most]
        names = ["|".join(map(str, triplet)) for triplet in triplets.tolist()]
        return BehavioralAssembly(
            odd[:, None], coords={"stimulus_id": ("presentation", names)}, dims=["presentation", "choice"]
        )

    def _similarities(self, features: np.ndarray | jax.Array, ids: Sequence[object]) -> np.ndarray:
        if self.similarity_measure == "cosine":
            xp: Any = jnp if isinstance(features, jax.Array) else np
            norms = xp.linalg.norm(features, axis=1, keepdims=True)
            silent = [one for one, norm in zip(ids, to_host(norms)[:, 0], strict=True) if norm == 0]
            if silent:
                raise ValueError(f"features of {some(silent)} are all zero: they have no angle to others; use 'dot'")
            features = features / norms
        if isinstance(features, jax.Array):
            return to_host(jnp.matmul(features, features.T, precision="highest"))
        return features @ features.T
