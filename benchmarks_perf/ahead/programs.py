"""The programs that are compiled: of every row of the table that is measured, and of every other registered metric."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import jax
import numpy as np

from bsjax.metrics import PLS, BandedRidge, Ridge, RidgeCV, cca, cka, rdm_similarity, shape_similarity, train_test
from bsjax.metrics.ceilings.consistency import complete_split_half_consistency
from bsjax.metrics.resampling.bootstraps import cka_bootstraps
from bsjax.metrics.similarity.rdms.searchlights import searchlight_similarity
from bsjax.metrics.similarity.vectors import cka_vector, inner_products
from tests.contract.rows import choices, regressions
from tests.contract.table import TABLE as CONTRACT

from ..rows.table import TABLE as MEASURED

Shapes = Mapping[str, jax.ShapeDtypeStruct]

LAYERS = 16
"""How many sources, of one shape, are compared with one target at once."""


@dataclass(frozen=True, eq=False)
class Program:
    """A kernel at the shapes of real data, in float32.

    Attributes:
        kernel: takes arrays by keyword.
        shapes: of its arrays.
        settings: its static arguments.
        of_source: the arrays that a model's layers have each their own of; none where no model takes part.
        row: the row of the table of measurements whose floor it has.
    """

    kernel: Callable[..., Any]
    shapes: Shapes
    settings: Mapping[str, Any] = field(default_factory=dict)
    of_source: tuple[str, ...] = ()
    row: str | None = None

    def __call__(self, arrays: Mapping[str, Any]) -> Any:
        return self.kernel(**arrays, **self.settings)

    def at(self, layers: int) -> tuple[Callable[..., Any], Shapes]:
        """The function of arrays and its shapes, of so many sources at once."""
        if layers == 1:
            return self, self.shapes
        given = {name: 0 if name in self.of_source else None for name in self.shapes}
        many = {
            name: jax.ShapeDtypeStruct((layers, *shape.shape), shape.dtype) if name in self.of_source else shape
            for name, shape in self.shapes.items()
        }
        return jax.vmap(self.__call__, in_axes=(given,)), many


def _floats(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, np.float32)


def _integers(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, np.int32)


def _flags(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, np.bool_)


def shapes_of(arrays: Mapping[str, Any]) -> Shapes:
    """The shapes of arrays, with numbers in 32 bits as they are on accelerators."""
    make = {"f": _floats, "i": _integers, "b": _flags}
    return {name: make[np.asarray(values).dtype.kind](*np.shape(values)) for name, values in arrays.items()}


def _cross_validated(sizes: Mapping[str, int], splits: int = 10) -> Shapes:
    n, p, q = sizes["stimuli"], sizes["features"], sizes["neuroids"]
    bins = (sizes["bins"],) if "bins" in sizes else ()
    held_out = -(-n // 10)
    folds = {"held_out": _integers(splits, held_out), "held_out_mask": _flags(splits, held_out)}
    return {"x": _floats(n, p, *bins), "y": _floats(n, q, *bins), **folds}


def _on_split(sizes: Mapping[str, int]) -> Shapes:
    return {
        f"{side}_{part}": _floats(sizes[part], sizes[width])
        for side, width in (("x", "features"), ("y", "neuroids"))
        for part in ("train", "test")
    }


def _pair(sizes: Mapping[str, int]) -> Shapes:
    return {"x": _floats(sizes["stimuli"], sizes["features"]), "y": _floats(sizes["stimuli"], sizes["neuroids"])}


def _subsets(sizes: Mapping[str, int], splits: int = 10) -> Shapes:
    kept = sizes["stimuli"] * 9 // 10
    return {**_pair(sizes), "subsets": _integers(splits, kept), "mask": _flags(splits, kept)}


def _measured(row: str, kernel: Callable[..., Any], shapes: Shapes, *of_source: str, **settings: Any) -> Program:
    return Program(kernel, shapes, settings, of_source, row)


def _programs_of_rows() -> dict[str, Program]:
    sizes = {name: row.sizes for name, row in MEASURED.items()}
    options = {name: row.options for name, row in MEASURED.items()}

    def mapped(row: str, **settings: Any) -> Program:
        return _measured(row, regressions.cross_validated, _cross_validated(sizes[row]), "x", **settings)

    def split(row: str, **settings: Any) -> Program:
        return _measured(row, train_test, _on_split(sizes[row]), "x_train", "x_test", **settings)

    ridge_cv = RidgeCV(tuple(options["ridgecv_split"]["alphas"]))
    per_target = options["alpha_per_target"]
    per_target = RidgeCV(tuple(per_target["alphas"]), alpha_per_target=True, cv=per_target["cv"])
    banded = options["banded_ridge"]
    width = sizes["banded_ridge"]["features"] // banded["spaces"]
    searched = tuple(banded["alphas"]), tuple(map(tuple, banded["shares"]))
    repeated, chosen, drawn = sizes["internal_consistency"], sizes["i2n"], sizes["bootstraps"]
    trials = (repeated["repetitions"], repeated["stimuli"], repeated["neuroids"])
    return {
        "pls": mapped("pls", mapping=PLS(options["pls"]["n_components"])),
        "ridge": mapped("ridge", mapping=Ridge(1.0)),
        "linear_predictivity": mapped("linear_predictivity", mapping=Ridge(0.0)),
        "neuron_to_neuron": mapped("neuron_to_neuron", **CONTRACT["neuron_to_neuron"].settings),
        "cka": _measured("cka", cka, _pair(sizes["cka"]), "x"),
        "rdm": _measured("rdm", rdm_similarity, _pair(sizes["rdm"]), "x"),
        "ridgecv_split": split("ridgecv_split", mapping=ridge_cv),
        "alpha_per_target": split("alpha_per_target", mapping=per_target),
        "banded_ridge": split(
            "banded_ridge", mapping=BandedRidge((width,) * banded["spaces"], *searched, cv=banded["cv"])
        ),
        "procrustes": _measured("procrustes", shape_similarity, _pair(sizes["procrustes"]), "x"),
        "cca": _measured("cca", cca, _pair(sizes["cca"]), "x"),
        "similarity_matrix": _measured(
            "similarity_matrix", _of_all_pairs, {"x": _floats(*sizes["similarity_matrix"].values())}
        ),
        "internal_consistency": _measured(
            "internal_consistency",
            complete_split_half_consistency,
            {"trials": _floats(*trials), "first": _flags(10, repeated["repetitions"])},
        ),
        "i2n": _measured(
            "i2n",
            CONTRACT["I2n"].kernel,
            _choices(chosen["images"], chosen["objects"], chosen["trials"]),
            "probabilities",
            **CONTRACT["I2n"].settings,
        ),
        "spantime_ridge": _measured(
            "spantime_ridge",
            regressions.over_time,
            _cross_validated(sizes["spantime_ridge"]),
            "x",
            mapping=Ridge(1.0),
        ),
        "bootstraps": _measured(
            "bootstraps",
            cka_bootstraps,
            {**_pair(drawn), "counts": _integers(options["bootstraps"]["bootstraps"] + 1, drawn["stimuli"])},
            "x",
        ),
        "rdm_of_trials": _measured(
            "rdm_of_trials", CONTRACT["rdm_of_trials"].kernel, _source_and_trials(sizes["rdm_of_trials"]), "source"
        ),
        "searchlight": _measured("searchlight", searchlight_similarity, _searchlights(sizes["searchlight"]), "models"),
    }


def _of_all_pairs(x: jax.Array) -> jax.Array:
    return inner_products(jax.vmap(cka_vector)(x))


def _source_and_trials(sizes: Mapping[str, int]) -> Shapes:
    r, n, q = sizes["repetitions"], sizes["stimuli"], sizes["neuroids"]
    return {"source": _floats(n, q), "trials": _floats(r, n, q), "present": _flags(r, n)}


def _searchlights(sizes: Mapping[str, int], widest: int = 123) -> Shapes:
    """Neighbourhoods of radius 3, which hold at most 123 voxels."""
    n, centres = sizes["stimuli"], sizes["centres"]
    neighbourhoods = {"neighbours": _integers(centres, widest), "members": _flags(centres, widest)}
    return {"models": _floats(1, n * (n - 1) // 2), "y": _floats(n, sizes["side"] ** 3), **neighbourhoods}


def _choices(images: int, objects: int, n: int, halves: int = 10) -> Shapes:
    small = shapes_of(choices.with_probabilities(np.random.default_rng(0), images, n))
    return {**small, "probabilities": _floats(images, objects), "weights": _floats(halves, n)}


def _programs_of_others() -> dict[str, Program]:
    """Every other row of the contract, at the sizes of a measured row, or else at those that bound its memory."""
    sizes = {name: row.sizes for name, row in MEASURED.items()}
    at = {
        "pls_split": _on_split(sizes["ridgecv_split"]),
        "ridge_split": _on_split(sizes["ridgecv_split"]),
        "neuron_to_neuron_split": _on_split(sizes["ridgecv_split"]),
        "ridgecv": _cross_validated(sizes["ridge"]),
        "spantime_pls": _cross_validated(sizes["spantime_ridge"]),
        "cka_cv": _subsets(sizes["cka"]),
        "rdm_cv": _subsets({**sizes["rdm"], "stimuli": 1000}),
        "predictor_consistency": _of_trials(sizes["internal_consistency"]),
        "rsa_ceiling": {"responses": _floats(4, 1000, 500), "units": _flags(4, 500), "seen": _flags(4, 1000)},
    }
    settings = {"pls_split": {"mapping": PLS(25)}, "spantime_pls": {"mapping": PLS(25)}}
    sources = {"x", "x_train", "x_test", "probabilities", "source"}
    known = set(_programs_of_rows()) | {"I2n", "cka_biased"}
    made = {"cka_biased": Program(CONTRACT["cka_biased"].kernel, _layered(sizes["cka"]))}
    for name, row in CONTRACT.items():
        if name in known:
            continue
        shapes = at.get(name) or shapes_of(row.large(np.random.default_rng(0)))
        of_source = tuple(array for array in shapes if array in sources and name in at)
        made[name] = Program(row.kernel, shapes, settings.get(name, row.settings), of_source)
    return made


def _layered(sizes: Mapping[str, int]) -> Shapes:
    n = sizes["stimuli"]
    return {"x": _floats(1, n, sizes["features"]), "y": _floats(n, sizes["neuroids"]), "where": _flags(n)}


def _of_trials(sizes: Mapping[str, int]) -> Shapes:
    trials = (sizes["repetitions"], sizes["stimuli"], sizes["neuroids"])
    return {"trials": _floats(*trials), "present": _flags(*trials), "first": _flags(10, *trials[:2])}


@cache
def programs() -> dict[str, Program]:
    """All of them by name: of the measured rows first."""
    return {**_programs_of_rows(), **_programs_of_others()}
