"""Representational similarities: CKA and RDMs, of all stimuli and on subsets of them."""

from functools import partial

import jax
import numpy as np

from bsjax.metrics import cka, cka_biased, rdm_similarity, similarity_on_subsets
from tests.contract.changes import (
    constant,
    padded,
    permute,
    reordered,
    rotate,
    shift,
    shift_patterns,
    stretch,
    stretch_patterns,
    units,
)
from tests.contract.row import Row

LAYERS, N, P, Q = 2, 10, 6, 4


def of_layers(x, y, where, *, similarity):
    """Two layers against one target, so that one of them may be undefined beside the other."""
    return jax.vmap(lambda layer: similarity(layer, y, where=where))(x)


def on_subsets(x, y, subsets, mask, *, similarity, rotation_invariant):
    return similarity_on_subsets(x, y, subsets, mask, similarity=similarity, rotation_invariant=rotation_invariant)


def layer_arrays(rng, n=N, p=P, q=Q):
    x = rng.normal(size=(LAYERS, n, p))
    return {"x": x, "y": x[0, :, :q] + rng.normal(size=(n, q)), "where": np.ones(n, bool)}


def subset_arrays(rng, n=N, p=P, q=Q):
    """The first subset leaves stimulus 0 out, the second one the last stimulus; both are padded."""
    x = rng.normal(size=(n, p))
    subsets = np.stack([np.r_[1:n, 0], np.r_[0 : n - 1, 0]]).astype(np.int32)
    mask = np.ones(subsets.shape, bool)
    mask[:, -1] = False
    return {"x": x, "y": x[:, :q] + rng.normal(size=(n, q)), "subsets": subsets, "mask": mask}


def constant_within_first_subset(arrays):
    """But for two stimuli that only the second subset has: of one alone, an unbiased CKA is undefined as well."""
    arrays["x"][2:] = 0.1
    arrays["mask"][0, arrays["subsets"][0] == 1] = False
    return arrays, 0


def itself(arrays, rng):
    first = arrays["x"] if arrays["x"].ndim == 2 else arrays["x"][0]
    return arrays | {"x": np.broadcast_to(first, arrays["x"].shape), "y": first}


CONSTANT_LAYER = constant("x", 0, 0)
MORE_STIMULI = padded(x=-2, y=-2, where=0, subsets=1, mask=1)
COMMON = {
    "stimuli reordered on both sides": reordered(y=-2, x=-2, where=0, places=("subsets",)),
    "units of x permuted": units("x", permute),
    "units of y permuted": units("y", permute),
    "x scaled": units("x", stretch),
    "y scaled": units("y", stretch),
}
OF_CKA = COMMON | {
    "x rotated": units("x", rotate),
    "y rotated": units("y", rotate),
    "units of x shifted": units("x", shift),
}
OF_RDM = COMMON | {
    "patterns of x shifted": units("x", shift_patterns),
    "patterns of y scaled each": units("y", stretch_patterns),
}

SHARED = {"padded": MORE_STIMULI, "identity": itself}
CKA, RDM = SHARED | {"invariances": OF_CKA}, SHARED | {"invariances": OF_RDM, "smooth": False}
LAYERED = {"arrays": layer_arrays, "large": partial(layer_arrays, n=200, p=300, q=100)}
SUBSETS = {"arrays": subset_arrays, "large": partial(subset_arrays, n=300, p=300, q=100)}

ROWS = [
    Row("cka", ("cka",), partial(of_layers, similarity=cka), undefined=CONSTANT_LAYER, **CKA | LAYERED),
    Row(
        "cka_biased",
        ("cka_biased",),
        partial(of_layers, similarity=cka_biased),
        undefined=CONSTANT_LAYER,
        bounds=(0.0, 1.0),
        variant_of="cka",
        **CKA | LAYERED,
    ),
    Row(
        "cka_cv",
        ("cka_cv",),
        partial(on_subsets, similarity=cka, rotation_invariant=True),
        undefined=constant_within_first_subset,
        variant_of="cka",
        **CKA | SUBSETS,
    ),
    Row(
        "rdm",
        ("rdm",),
        partial(of_layers, similarity=rdm_similarity),
        undefined=constant("x", (0, 2), 0),
        **RDM | LAYERED,
    ),
    Row(
        "rdm_cv",
        ("rdm_cv",),
        partial(on_subsets, similarity=rdm_similarity, rotation_invariant=False),
        undefined=constant("x", 0, 1),
        variant_of="rdm",
        **RDM | SUBSETS,
    ),
]
