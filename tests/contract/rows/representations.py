"""Similarities of whole representations besides CKA and RDMs: canonical, of shape, of neighbours, of single units."""

from functools import partial

import numpy as np

from bsjax.metrics import (
    cca,
    cka_of_sampled_units,
    cknna,
    kernel_cka,
    mutual_nearest_neighbours,
    one_to_one,
    permutation_shape_similarity,
    pwcca,
    semi_matching,
    shape_similarity,
    soft_matching,
)
from tests.contract.row import Row
from tests.contract.rows.similarity import (
    COMMON,
    constant_layer,
    itself,
    layer_arrays,
    more_stimuli,
    of_layers,
    rotate,
    shift_units,
    units,
)

POLICY = "NaN where the responses of a side are constant over stimuli, counted in n_undefined"


def mix(x, rng):
    return x @ (np.eye(x.shape[-1]) + 0.3 * rng.normal(size=(x.shape[-1], x.shape[-1])))


def stretch_units(x, rng):
    return x * rng.uniform(0.5, 2.0, x.shape[-1])


SHIFTED = {"units of x shifted": units("x", shift_units), "units of y shifted": units("y", shift_units)}
ROTATED = {"x rotated": units("x", rotate), "y rotated": units("y", rotate)}
MIXED = {"units of x mixed": units("x", mix), "units of y mixed": units("y", mix)}
STRETCHED = {"units of x scaled each": units("x", stretch_units), "units of y scaled each": units("y", stretch_units)}
ROTATIONS = COMMON | SHIFTED | ROTATED


def shared_dimensions(rng, n=12, p=5, q=4):
    """Units that code for few dimensions in common, so that those of one side agree among themselves."""
    latent = rng.normal(size=(n, 2))
    x = latent @ rng.normal(size=(2, 2, p)) + 0.3 * rng.normal(size=(2, n, p))
    return {"x": x, "y": latent @ rng.normal(size=(2, q)) + 0.3 * rng.normal(size=(n, q)), "where": np.ones(n, bool)}


def row(name, metric, kernel, source, invariances, **more):
    shared = {
        "undefined": constant_layer,
        "undefined_policy": POLICY,
        "bounds": (0.0, 1.0),
        "dims": ("layer",),
        "arrays": partial(layer_arrays, n=12, p=5, q=4),
        "large": lambda rng: layer_arrays(rng, 200, 300, 100),
        "padded": more_stimuli,
        "identity": itself,
        "ceiling": "internal_consistency",
    }
    return Row(
        name,
        (metric,) if metric else (),
        partial(of_layers, similarity=kernel),
        source=source,
        invariances=invariances,
        **shared | more,
    )


HUH = "Huh et al. 2024"
WILLIAMS = "Williams et al. 2021"

ROWS = [
    row("procrustes", "procrustes", shape_similarity, WILLIAMS, ROTATIONS),
    row("shape", "shape", partial(shape_similarity, alpha=0.3), WILLIAMS, ROTATIONS),
    row(
        "permutation_shape",
        "permutation_shape",
        permutation_shape_similarity,
        WILLIAMS,
        COMMON | SHIFTED,
        bounds=(-1.0, 1.0),
    ),
    row("cca", "cca", cca, "Hotelling 1936", ROTATIONS | MIXED),
    row("svcca", "svcca", partial(cca, variance=0.8), "Raghu et al. 2017", ROTATIONS),
    row("pwcca", "pwcca", pwcca, "Morcos, Raghu & Bengio 2018", COMMON | SHIFTED, smooth=False),
    row(
        "mutual_nearest_neighbours",
        "mutual_nearest_neighbours",
        partial(mutual_nearest_neighbours, k=3),
        HUH,
        COMMON | ROTATED,
        smooth=False,
    ),
    row("cknna", "cknna", partial(cknna, k=6), HUH, COMMON | ROTATED, bounds=(-5.0, 5.0)),
    row("kernel_cka", "kernel_cka", kernel_cka, "Kornblith et al. 2019", ROTATIONS, bounds=(-1.0, 1.0)),
    row(
        "kernel_cka_laplacian",
        "",
        partial(kernel_cka, kernel="laplacian", unbiased=False),
        "Kornblith et al. 2019",
        ROTATIONS,
    ),
    row(
        "cka_of_sampled_units",
        "cka_of_sampled_units",
        cka_of_sampled_units,
        "Chun, Canatar, Chung & Lee 2025",
        COMMON | SHIFTED,
        arrays=shared_dimensions,
        bounds=(-np.inf, np.inf),
        identity=None,
        times_input=5.0,
    ),
    row("one_to_one", "one_to_one", one_to_one, "Li et al. 2015", COMMON | SHIFTED | STRETCHED, bounds=(-1.0, 1.0)),
    row(
        "soft_matching",
        "soft_matching",
        soft_matching,
        "Khosla & Williams 2024",
        COMMON | SHIFTED | STRETCHED,
        bounds=(-1.0, 1.0),
    ),
    row(
        "semi_matching",
        "semi_matching",
        semi_matching,
        "Li et al. 2015",
        COMMON | SHIFTED | STRETCHED,
        bounds=(-1.0, 1.0),
    ),
]
