"""What `jax.vmap` of a kernel costs: beside a loop over the same inputs in one program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bsjax.metrics import (
    PLS,
    FactorisedReadout,
    NeuronToNeuron,
    Ridge,
    RidgeCV,
    cka,
    cka_biased,
    cross_validate,
    make_folds,
    rdm_similarity,
)

from .. import report
from ..harness import Contestant, interleaved, timed

BOUND = 1.2
"""How much longer than the loop a batch is to take at most."""

_SIZES = {"stimuli": 400, "features": 192, "neuroids": 50}
_FAST_SIZES = {"stimuli": 60, "features": 12, "neuroids": 5}
_FOLDS = 5
_COUNTS = {"penalties": 20, "layers": 8, "resamplings": 50}
_PENALTIES = tuple(np.logspace(-2, 5, 12).tolist())


class Batch(NamedTuple):
    """A function of one input, and many of them along the leading axes of arrays."""

    function: Callable[[Any], Any]
    inputs: Any


def batches(sizes: Mapping[str, int]) -> dict[str, Batch]:
    """Every mapping and similarity over layers and resamplings of the stimuli, and over penalties those that have any.

    Args:
        sizes: numbers of stimuli, features and neuroids.

    Example:
        >>> made = batches(_FAST_SIZES)
        >>> made["ridge, 20 penalties"].inputs.shape
        (20,)
    """
    n, p, q = (sizes[key] for key in ("stimuli", "features", "neuroids"))
    rng = np.random.default_rng(0)
    layers = jnp.asarray(rng.normal(size=(_COUNTS["layers"], n, p)))
    x = layers[0]
    y = jnp.asarray(np.asarray(x @ rng.normal(size=(p, q))) + 3.0 * rng.normal(size=(n, q)))
    drawn = jnp.asarray(rng.integers(0, n, (_COUNTS["resamplings"], n)))
    tests = np.array_split(rng.permutation(n), _FOLDS)
    folds = make_folds(n, [(np.setdiff1d(np.arange(n), test), test) for test in tests])
    few = FactorisedReadout(p // 4, 2, 2, epochs=3)
    mappings: dict[str, Any] = {
        "pls": PLS(10),
        "ridge": Ridge(1.0),
        "least squares": Ridge(0.0),
        "ridgecv": RidgeCV(_PENALTIES),
        "ridgecv per target": RidgeCV(_PENALTIES, alpha_per_target=True),
        "neuron to neuron": NeuronToNeuron(),
        "factorised read-out": few,
    }
    kernels: dict[str, Callable[..., Any]] = {
        **{name: partial(cross_validate, folds=folds, mapping=mapping) for name, mapping in mappings.items()},
        "cka": cka,
        "cka, biased": cka_biased,
        "rdm": rdm_similarity,
        "rdm, tau-a": partial(rdm_similarity, method="tau-a"),
    }
    times = jnp.linspace(0.1, 10.0, _COUNTS["penalties"])
    of_penalty = {
        "ridge": Ridge,
        "ridgecv": lambda factor: RidgeCV(factor * jnp.asarray(_PENALTIES)),
        "factorised read-out": lambda penalty: FactorisedReadout(p // 4, 2, 2, spatial_penalty=penalty, epochs=3),
    }
    made = {
        f"{name}, {len(times)} penalties": Batch(
            lambda penalty, made=made: cross_validate(x, y, folds, mapping=made(penalty)), times
        )
        for name, made in of_penalty.items()
    }
    for name, kernel in kernels.items():
        made[f"{name}, {len(layers)} layers"] = Batch(lambda layer, kernel=kernel: kernel(layer, y), layers)
        made[f"{name}, {len(drawn)} resamplings"] = Batch(lambda rows, kernel=kernel: kernel(x[rows], y[rows]), drawn)
    return made


def measure(
    name: str,
    *,
    fast: bool = False,
    rounds: int = 12,
    peer_rounds: int = 6,
    with_peer: bool = True,
    progress: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Measures a batch and a loop of every kernel in turns, each one compiled program of float64.

    Args:
        name: ``"transforms"``.
        fast: small sizes.
        rounds: measured calls at most.
        peer_rounds, with_peer: not used: there is no peer.
        progress: is told what happens, a line at a time.
    """
    sizes = _FAST_SIZES if fast else _SIZES
    lines: dict[str, Any] = {}
    with jax.enable_x64(True):
        for what, batch in batches(sizes).items():
            lines[what] = {"kind": "bsjax", **_beside_a_loop(batch, rounds)}
            progress(f"{what}: {lines[what]['times_the_loop']:.2f} of the loop")
    return {
        "row": name,
        "title": f"vmap of kernels: {sizes['stimuli']} x {sizes['features']} -> {sizes['neuroids']}",
        "sizes": sizes,
        "fast": fast,
        "contestants": lines,
        "environment": report.environment(),
    }


def _beside_a_loop(batch: Batch, rounds: int) -> dict[str, Any]:
    traced = []

    def once(one: Any) -> Any:
        traced.append(one)
        return batch.function(one)

    programs = {"batch": jax.jit(jax.vmap(once)), "loop": jax.jit(lambda inputs: jax.lax.map(batch.function, inputs))}

    def call(which: str, trim: bool) -> Any:
        return timed(lambda: programs[which](batch.inputs))

    times = interleaved({which: Contestant(partial(call, which), rounds, 3, compiles=True) for which in programs})
    found = times["batch"].summary()
    loop_s = times["loop"].summary()["median_s"]
    difference = jax.tree.map(
        lambda a, b: float(jnp.nanmax(jnp.abs(a - b))), *(p(batch.inputs) for p in programs.values())
    )
    return {
        **found,
        "loop_s": loop_s,
        "times_the_loop": found["median_s"] / loop_s,
        "traces": len(traced),
        "difference": difference,
    }
