"""Similarities of whole representations besides CKA and RDMs: canonical, of shape, of neighbours, of single units."""

from functools import partial

import numpy as np

from bsjax import metrics
from tests.contract.changes import rotate, shift, stretch_each, units
from tests.contract.row import Row
from tests.contract.rows.similarity import COMMON, CONSTANT_LAYER, MORE_STIMULI, itself, layer_arrays, of_layers


def mix(x, rng):
    return x @ (np.eye(x.shape[-1]) + 0.3 * rng.normal(size=(x.shape[-1], x.shape[-1])))


SHIFTED = {"units of x shifted": units("x", shift), "units of y shifted": units("y", shift)}
ROTATED = {"x rotated": units("x", rotate), "y rotated": units("y", rotate)}
MIXED = {"units of x mixed": units("x", mix), "units of y mixed": units("y", mix)}
STRETCHED = {"units of x scaled each": units("x", stretch_each), "units of y scaled each": units("y", stretch_each)}
ROTATIONS = COMMON | SHIFTED | ROTATED


def shared_dimensions(rng, n=12, p=5, q=4):
    """Units that code for few dimensions in common, so that those of one side agree among themselves."""
    latent = rng.normal(size=(n, 2))
    x = latent @ rng.normal(size=(2, 2, p)) + 0.3 * rng.normal(size=(2, n, p))
    return {"x": x, "y": latent @ rng.normal(size=(2, q)) + 0.3 * rng.normal(size=(n, q)), "where": np.ones(n, bool)}


WITHIN_0_AND_1 = ("procrustes", "shape", "cca", "svcca", "pwcca", "mutual_nearest_neighbours", "kernel_cka_laplacian")


def row(name, kernel, invariances, **more):
    shared = {
        "undefined": CONSTANT_LAYER,
        "bounds": (0.0, 1.0) if name in WITHIN_0_AND_1 else (-1.0, 1.0),
        "metrics": (name,),
        "arrays": partial(layer_arrays, n=12, p=5, q=4),
        "large": partial(layer_arrays, n=200, p=300, q=100),
        "padded": MORE_STIMULI,
        "identity": itself,
    }
    return Row(name=name, kernel=partial(of_layers, similarity=kernel), invariances=invariances, **shared | more)


ROWS = [
    row("procrustes", metrics.shape_similarity, ROTATIONS),
    row("shape", partial(metrics.shape_similarity, alpha=0.3), ROTATIONS, variant_of="procrustes"),
    row("permutation_shape", metrics.permutation_shape_similarity, COMMON | SHIFTED),
    row("cca", metrics.cca, ROTATIONS | MIXED),
    row("svcca", partial(metrics.cca, variance=0.8), ROTATIONS, variant_of="cca"),
    row("pwcca", metrics.pwcca, COMMON | SHIFTED, smooth=False),
    row("mutual_nearest_neighbours", partial(metrics.mutual_nearest_neighbours, k=3), COMMON | ROTATED, smooth=False),
    row("cknna", partial(metrics.cknna, k=6), COMMON | ROTATED, bounds=(-5.0, 5.0)),
    row("kernel_cka", metrics.kernel_cka, ROTATIONS),
    row(
        "kernel_cka_laplacian",
        partial(metrics.kernel_cka, kernel="laplacian", unbiased=False),
        ROTATIONS,
        metrics=(),
        variant_of="kernel_cka",
    ),
    row(
        "cka_of_sampled_units",
        metrics.cka_of_sampled_units,
        COMMON | SHIFTED,
        arrays=shared_dimensions,
        bounds=(-np.inf, np.inf),
        identity=None,
        times_input=5.0,
    ),
    row("one_to_one", metrics.one_to_one, COMMON | SHIFTED | STRETCHED),
    row("soft_matching", metrics.soft_matching, COMMON | SHIFTED | STRETCHED),
    row("semi_matching", metrics.semi_matching, COMMON | SHIFTED | STRETCHED),
]
