"""Checks of mappings, and of the metrics that cross-validate them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import numpy as np

from bsjax.engine.precision import precision
from bsjax.engine.programs.compilation import compiled
from bsjax.labelled.regression.forms import regression
from bsjax.metrics import Folds, Mapping, cross_validate, make_folds, train_test
from bsjax.testing.contract import STANDARD, Check, Property, Size, Violated, as_code, run_all, same
from bsjax.testing.data import noise, related
from bsjax.testing.kernels import Kernel
from bsjax.testing.metrics import checks

_SPLITS = 3
_INVARIANCES = ("permutation", "shift", "target unit scales")


def check_mapping(
    mapping: Mapping,
    *,
    invariances: Sequence[str] = _INVARIANCES,
    differentiable: bool = True,
    memory: float = 10.0,
    size: tuple[int, int, int] = STANDARD,
) -> None:
    """Checks a mapping: its traits, its folds, and the kernel and the metric that cross-validate it.

    Args:
        mapping: the mapping with its settings, such as ``Ridge(alpha=1.0)``.
        invariances: changes that do not affect its scores, as for :func:`bsjax.testing.checks`.
        differentiable: whether its scores have non-zero gradients.
        memory: highest memory, as a multiple of the bytes of features and targets.
        size: numbers of stimuli, features and targets of the test data.

    Raises:
        ContractError: a property does not hold.

    Example:
        >>> from bsjax.metrics import Ridge
        >>> check_mapping(Ridge(alpha=1.0), invariances=["source rotation"])  # doctest: +SKIP
        >>> [check.name for check in mapping_checks(Ridge())][:3]
        ['folds', 'traits', 'range']
    """
    run_all(mapping_checks(mapping, invariances=invariances, differentiable=differentiable, memory=memory, size=size))


def mapping_checks(
    mapping: Mapping,
    *,
    invariances: Sequence[str] = _INVARIANCES,
    differentiable: bool = True,
    memory: float = 10.0,
    size: tuple[int, int, int] = STANDARD,
) -> list[Check]:
    """The checks of a mapping; see :func:`check_mapping`."""
    name = type(mapping).__name__
    own = [
        Property("folds", "held-out stimuli do not affect the fit", partial(_folds, mapping), size=Size(*size)),
        Property("traits", "the traits of the mapping are true", partial(_traits, mapping), size=Size(*size)),
    ]

    def arrays(rng: np.random.Generator, of: Size) -> dict[str, np.ndarray]:
        x, y = related(rng, of)
        folds = make_folds(of.stimuli, _splits(of.stimuli))
        return {"x": x, "y": y, **{name: np.asarray(getattr(folds, name)) for name in ("held_out", "held_out_mask")}}

    def kernel(x: Any, y: Any, held_out: Any, held_out_mask: Any) -> Any:
        return cross_validate(x, y, Folds(held_out, held_out_mask), mapping=mapping)

    def constant_target(given: Any) -> tuple[Any, Any]:
        given["y"][:, 0] = 0.1
        return given, (..., 0)

    of_kernel = Kernel(
        kernel,
        lambda rng: arrays(rng, Size(*size)),
        bounds=(-1.0, 1.0),
        undefined=constant_target,
        large=lambda rng: arrays(rng, Size(300, 200, 50)),
        memory=memory,
        differentiable=differentiable,
    )
    metric = regression("cross_validated", lambda: mapping, name)
    found = [each.of(name, partial(as_code, call=name)) for each in [*own, *of_kernel.properties()]]
    return found + checks(metric, invariances=invariances, size=size, memory=memory)


def _splits(n: int) -> list[tuple[np.ndarray, np.ndarray]]:
    rows = np.arange(n)
    return [(np.setdiff1d(rows, rows[k :: _SPLITS + 1]), rows[k :: _SPLITS + 1]) for k in range(_SPLITS)]


def _folds(mapping: Mapping, rng: np.random.Generator, size: Size) -> None:
    """Each fold predicts the same as a fit to its training stimuli alone."""
    x, y = noise(rng, size)  # noise, so that leaked stimuli change the fit
    splits = _splits(size.stimuli)
    with precision("float64"):
        together = compiled(cross_validate, mapping=mapping)(x, y, make_folds(size.stimuli, splits))
        for found, (train, test) in zip(np.asarray(together), splits, strict=True):
            alone = compiled(train_test, mapping=mapping)(x[train], x[test], y[train], y[test])
            same(found, alone, 1e-6, "fitted to the training stimuli alone and in a cross-validation", {"x": x, "y": y})


def _traits(mapping: Mapping, rng: np.random.Generator, size: Size) -> None:
    x, y = related(rng, size)
    traits = mapping.traits
    with precision("float64"):
        folds = make_folds(size.stimuli, _splits(size.stimuli))

        def r(x: Any, y: Any) -> np.ndarray:
            return np.asarray(compiled(cross_validate, mapping=mapping)(x, y, folds))

        whole, zeros = r(x, y), np.zeros((len(x), 2))
        if traits.fits_targets_alone:
            same(r(x, y[:, :1]), whole[:, :1], 1e-6, "a target with others and alone", {"x": x, "y": y})
        if traits.ignores_zero_features:
            same(r(np.c_[x, zeros], y), whole, 1e-6, "without and with all-zero features", {"x": x, "y": y})
        if traits.ignores_zero_targets:
            same(r(x, np.c_[y, zeros])[:, : y.shape[1]], whole, 1e-6, "without and with all-zero targets",
                 {"x": x, "y": y})  # fmt: skip
        if traits.depends_on == "inner products":
            turned = x @ np.linalg.qr(rng.normal(size=(x.shape[1], x.shape[1])))[0]
            same(r(turned, y), whole, 1e-6, "before and after a rotation of the features", {"x": x, "y": y})
        static = not jax.tree.leaves(mapping)
        if static and not _hashable(mapping):
            raise Violated("it has no leaves and is not hashable: each call would be compiled again")


def _hashable(mapping: Any) -> bool:
    try:
        hash(mapping)
    except TypeError:
        return False
    return True
