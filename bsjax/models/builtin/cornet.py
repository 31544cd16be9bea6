"""A recurrent network similar to CORnet-S, with random weights and responses over time."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from bsjax.activations.inputs.preprocessing import imagenet_preprocessing
from bsjax.activations.temporal import TemporalActivations
from bsjax.adapters import from_jax
from bsjax.core.extras import import_extra
from bsjax.models.brain_model import RecordingTarget
from bsjax.models.commitment import ModelCommitment
from bsjax.models.time_alignment import align_time

if TYPE_CHECKING:
    from flax import nnx

_SIZE = 96
_CHANNELS = {"V1": 32, "V2": 64, "V4": 96, "IT": 128}
_CLASSES = 1000

STEPS: dict[str, tuple[float, float, int]] = {
    "V1": (50, 100, 1),
    "V2": (70, 100, 2),
    "V4": (90, 50, 4),
    "IT": (100, 100, 2),
}
"""Area -> onset of its first step in ms after stimulus onset, duration of a step in ms, and number of steps."""


def cornet_random(seed: int = 0) -> ModelCommitment:
    """Four recurrent areas with the steps and times of CORnet-S in Brain-Score, and random weights.

    Images are resized to 96 x 96 pixels and standardised as for ImageNet; the visual field is 8 degrees. V1 responds
    once, from 50 to 150 ms after stimulus onset; V2 twice, from 70 ms, for 100 ms each; V4 four times, from 90 ms, 50
    ms each; IT twice, from 100 ms, 100 ms each. A step of an area combines the state of the area below at the time
    when the step begins with the area's own last step. Areas are thus unrolled jointly in time, as in the brain, and
    late steps of V4 receive more processed input than early ones. Each area halves the resolution, and its steps share
    weights. Weights come from He initialisation; nothing is trained.

    A recording in other time bins is the mean of the steps, weighted by the fraction of each step that lies in the
    bin. A bin that extends beyond the steps of an area uses the steps that it overlaps, and a bin without overlap uses
    the nearest step. So 70 to 170 ms, the bin of many recordings, can be recorded from every area. (Brain-Score's own
    CORnet uses the step that starts nearest to the bin.)

    Behaviour is read from the layer ``decoder``, the last step of IT averaged over positions. ``logits`` are 1000
    random projections of it, one for each class of ImageNet.

    Args:
        seed: for the weights; another seed gives another model, with the seed in its identifier.

    Raises:
        ImportError: flax is not installed.

    Source: Kubilius, J., Schrimpf, M., et al. (2019). Brain-like object recognition with high-performing shallow
    recurrent ANNs. NeurIPS.

    Example:
        >>> model = cornet_random()
        >>> model.activations_model.layers()["V4"], model.activations_model.time_bins("V2")
        ((6, 6, 96), ((70.0, 170.0), (170.0, 270.0)))
    """
    identifier = "cornet-random" if seed == 0 else f"cornet-random-{seed}"
    nnx = import_extra("flax.nnx", "flax")
    structure, weights = nnx.split(make_cornet(seed))

    def forward(weights: Any, images: Any) -> Any:
        return nnx.merge(structure, weights)(images)

    network = from_jax(forward, identifier, preprocess=imagenet_preprocessing(_SIZE, layout="NHWC"), parameters=weights)
    steps = {area: step_bins(area) for area in STEPS}
    activations = TemporalActivations(network, dict.fromkeys(STEPS, 0), bins=steps)
    return ModelCommitment(
        identifier,
        activations,
        layers=[*STEPS, "decoder"],
        behavioral_readout_layer="decoder",
        region_layer_map={region: region.value for region in RecordingTarget},
        align=partial(align_time, outside="nearest"),
    )


def step_bins(area: str) -> list[tuple[float, float]]:
    """(start, end) of each step of an area, in ms after stimulus onset.

    Example:
        >>> step_bins("IT")
        [(100, 200), (200, 300)]
    """
    first, width, n = STEPS[area]
    return [(first + step * width, first + (step + 1) * width) for step in range(n)]


def step_below(area: str, below: str) -> list[int]:
    """For each step of an area, the last step of the area below that began before it or with it.

    Example:
        >>> step_below("V4", "V2")
        [0, 0, 1, 1]
    """
    begun = [start for start, _ in step_bins(below)]
    return [max(n for n, start in enumerate(begun) if start <= at) for at, _ in step_bins(area)]


def make_cornet(seed: int = 0) -> nnx.Module:
    """The network of :func:`cornet_random`, from ``(images, 96, 96, 3)`` to a dict of layers.

    Areas are ``(images, steps, rows, columns, channels)``, ``decoder`` ``(images, channels)``, ``logits`` ``(images,
    1000)``.
    """
    import_extra("flax.nnx", "flax")
    import jax.numpy as jnp
    from flax import nnx

    class Area(nnx.Module):
        """Convolution of the input from below plus that of the area's own last step."""

        def __init__(self, n_in: int, n_out: int, side: int, recurrent: bool, rngs: nnx.Rngs) -> None:
            he = nnx.initializers.he_normal()
            self.feedforward = nnx.Conv(n_in, n_out, (side, side), strides=2, kernel_init=he, rngs=rngs)
            self.recurrent = nnx.Conv(n_out, n_out, (3, 3), kernel_init=he, rngs=rngs) if recurrent else None

        def __call__(self, below, last):
            driven = self.feedforward(below)
            if self.recurrent is None or last is None:
                return nnx.relu(driven)
            return nnx.relu((driven + self.recurrent(last)) / 2**0.5)  # keeps the variance of a single input

    class CORnet(nnx.Module):
        def __init__(self, rngs: nnx.Rngs) -> None:
            widths = zip((3, *_CHANNELS.values()), _CHANNELS.items(), strict=False)
            self.areas = nnx.Dict(
                {
                    area: Area(n_in, n_out, 7 if area == "V1" else 3, STEPS[area][2] > 1, rngs)
                    for n_in, (area, n_out) in widths
                }
            )
            self.classes = nnx.Linear(_CHANNELS["IT"], _CLASSES, rngs=rngs)

        def __call__(self, images):
            # V1 halves the resolution twice, by its stride and by pooling, like the first layer of CORnet.
            v1 = self.areas["V1"](images, None)
            steps = {"V1": [nnx.max_pool(v1, (3, 3), strides=(2, 2), padding="SAME")]}
            for below, area in zip(STEPS, list(STEPS)[1:], strict=False):
                last, steps[area] = None, []
                for source in step_below(area, below):
                    last = self.areas[area](steps[below][source], last)
                    steps[area].append(last)
            decoder = steps["IT"][-1].mean((1, 2))
            outputs = {area: jnp.stack(states, axis=1) for area, states in steps.items()}
            return {**outputs, "decoder": decoder, "logits": self.classes(decoder)}

    return CORnet(nnx.Rngs(seed))
