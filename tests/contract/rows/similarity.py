"""Representational similarities: CKA and RDMs, of all stimuli and on subsets of them."""

from functools import partial

import jax
import numpy as np

from bsjax.metrics import cka, cka_biased, rdm_similarity, similarity_on_subsets
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


def constant_layer(arrays):
    arrays["x"][0] = 0.1
    return arrays, 0


def constant_pattern_in_a_layer(arrays):
    arrays["x"][0, 2] = 0.1
    return arrays, 0


def constant_within_first_subset(arrays):
    """But for two stimuli that only the second subset has: of one alone, an unbiased CKA is undefined as well."""
    arrays["x"][2:] = 0.1
    arrays["mask"][0, arrays["subsets"][0] == 1] = False
    return arrays, 0


def constant_pattern_in_second_subset(arrays):
    arrays["x"][0] = 0.1
    return arrays, 1


def more_stimuli(arrays, rng):
    """Stimuli that do not count, with responses that would."""
    for side in ("x", "y"):
        more = 50.0 * rng.normal(size=(*arrays[side].shape[:-2], 2, arrays[side].shape[-1]))
        arrays[side] = np.concatenate([more, arrays[side]], axis=-2)
    if "where" in arrays:
        return arrays | {"where": np.r_[False, False, arrays["where"]]}
    subsets = np.concatenate([arrays["subsets"] + 2, np.zeros((2, 1), np.int32)], axis=1)
    mask = np.concatenate([arrays["mask"], np.zeros((2, 1), bool)], axis=1)
    return arrays | {"subsets": subsets.astype(np.int32), "mask": mask}


def reorder_stimuli(arrays, rng):
    order = rng.permutation(arrays["y"].shape[0])
    moved = {side: np.take(arrays[side], order, axis=-2) for side in ("x", "y")}
    if "where" in arrays:
        return arrays | moved | {"where": arrays["where"][order]}
    return arrays | moved | {"subsets": np.argsort(order)[arrays["subsets"]].astype(np.int32)}


def units(side, function):
    return lambda arrays, rng: arrays | {side: function(arrays[side], rng)}


def permute(x, rng):
    return x[..., rng.permutation(x.shape[-1])]


def rotate(x, rng):
    return x @ np.linalg.qr(rng.normal(size=(x.shape[-1], x.shape[-1])))[0]


def shift_units(x, rng):
    return x + rng.normal(size=x.shape[-1])


def shift_patterns(x, rng):
    return x + rng.normal(size=(x.shape[-2], 1))


def stretch(x, rng):
    return x * rng.uniform(0.1, 10.0)


def stretch_patterns(x, rng):
    return x * rng.uniform(0.1, 10.0, (x.shape[-2], 1))


def itself(arrays, rng):
    first = arrays["x"] if arrays["x"].ndim == 2 else arrays["x"][0]
    return arrays | {"x": np.broadcast_to(first, arrays["x"].shape), "y": first}


COMMON = {
    "stimuli reordered on both sides": reorder_stimuli,
    "units of x permuted": units("x", permute),
    "units of y permuted": units("y", permute),
    "x scaled": units("x", stretch),
    "y scaled": units("y", stretch),
}
OF_CKA = COMMON | {
    "x rotated": units("x", rotate),
    "y rotated": units("y", rotate),
    "units of x shifted": units("x", shift_units),
}
OF_RDM = COMMON | {
    "patterns of x shifted": units("x", shift_patterns),
    "patterns of y scaled each": units("y", stretch_patterns),
}

SHARED = {"padded": more_stimuli, "identity": itself}
CKA, RDM = SHARED | {"invariances": OF_CKA}, SHARED | {"invariances": OF_RDM, "smooth": False}
LAYERED = {"arrays": layer_arrays, "large": lambda rng: layer_arrays(rng, 200, 300, 100)}
SUBSETS = {"arrays": subset_arrays, "large": lambda rng: subset_arrays(rng, 300, 300, 100)}

ROWS = [
    Row("cka", ("cka",), partial(of_layers, similarity=cka), undefined=constant_layer, **CKA | LAYERED),
    Row(
        "cka_biased",
        ("cka_biased",),
        partial(of_layers, similarity=cka_biased),
        undefined=constant_layer,
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
        undefined=constant_pattern_in_a_layer,
        **RDM | LAYERED,
    ),
    Row(
        "rdm_cv",
        ("rdm_cv",),
        partial(on_subsets, similarity=rdm_similarity, rotation_invariant=False),
        undefined=constant_pattern_in_second_subset,
        variant_of="rdm",
        **RDM | SUBSETS,
    ),
]
