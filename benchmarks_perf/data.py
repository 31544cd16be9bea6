"""Arrays to measure on: activations and neural responses that share latent dimensions, with their labels."""

from dataclasses import dataclass

import numpy as np

# As many as in the inputs of the oracle tests. It matters for PLS: with fewer latents than components, the
# last components fit noise, where an iterative solver converges slowly.
LATENTS = 20
CATEGORIES = 8


@dataclass(frozen=True)
class Recordings:
    """Two aligned arrays and their labels, in plain NumPy so that every implementation gets the very same.

    Attributes:
        source: model activations, ``(stimuli, features)``, float64.
        target: neural responses, ``(stimuli, neuroids)``, float64.
        stimulus_id, object_name: one a stimulus; ``object_name`` is what the splits are balanced over.
        source_id, target_id: one a column.
    """

    source: np.ndarray
    target: np.ndarray
    stimulus_id: np.ndarray
    object_name: np.ndarray
    source_id: np.ndarray
    target_id: np.ndarray


def recordings(stimuli: int, features: int, neuroids: int, seed: int = 0) -> Recordings:
    """Draws `Recordings` whose features predict the neuroids.

    The latents' standard deviation falls with the square root of their rank, so that components differ in
    size. Features and neuroids carry noise of their own, so that no component is ever exhausted.

    Examples:
        >>> drawn = recordings(stimuli=64, features=30, neuroids=5)
        >>> drawn.source.shape, drawn.target.shape, len(set(drawn.object_name))
        ((64, 30), (64, 5), 8)
    """
    random = np.random.default_rng(seed)
    latents = random.standard_normal((stimuli, LATENTS)) / np.sqrt(np.arange(1, LATENTS + 1))
    source = latents @ random.standard_normal((LATENTS, features)) + 0.3 * random.standard_normal((stimuli, features))
    target = latents @ random.standard_normal((LATENTS, neuroids)) + random.standard_normal((stimuli, neuroids))
    return Recordings(
        source=source,
        target=target,
        stimulus_id=np.array([f"stimulus{i:05d}" for i in range(stimuli)]),
        object_name=np.array([f"object{i % CATEGORIES}" for i in range(stimuli)]),
        source_id=np.array([f"feature{i:05d}" for i in range(features)]),
        target_id=np.array([f"site{i:05d}" for i in range(neuroids)]),
    )
