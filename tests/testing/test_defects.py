"""Defects that are planted in sound metrics: each is found, by the property that it breaks."""

import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bsjax import NeuroidAssembly, Score
from bsjax.testing import ContractError, check_metric, checks
from tests.testing.sound import INVARIANCES, SPLITS, Geometry, Nearest, alignment

SOUND = {"itself": 1.0, "invariances": INVARIANCES}
OF_KERNEL = {"itself": 1.0, "invariances": (*INVARIANCES, "shift", "stimuli")}


class FirstUnit(Geometry):
    def products(self, values):
        return super().products(values[:, :1])


class Stretched(Geometry):
    def products(self, values):
        return super().products(values * np.linspace(1, 3, values.shape[1]))


class Absolute(Geometry):
    def products(self, values):
        return np.log1p(np.abs(super().products(values)))


class ByPosition(Geometry):
    def values(self, source, target):
        return [np.array(source.values, np.float64), np.array(target.values, np.float64)]


class Intersecting(Geometry):
    def __call__(self, source, target):
        shared = np.intersect1d(source["stimulus_id"], target["stimulus_id"])
        return super().__call__(*(each[np.isin(each["stimulus_id"], shared)] for each in (source, target)))


class IgnoringNaN(Geometry):
    def values(self, source, target):
        filled = [each.copy(data=np.nan_to_num(each.values)) for each in (source, target)]
        return super().values(*filled)


class OneSided(Geometry):
    def __call__(self, source, target):
        x, y = self.values(source, target)
        r = self.correlation(np.tanh(self.pairs(x, target)), self.pairs(y, target))
        return self.summary(r)


class CopiesCompared(Geometry):
    def different(self, target):
        return np.triu(np.ones((len(target), len(target)), bool), 1)


class CopiesSplit(Nearest):
    def folds(self, target):
        return np.arange(len(target)) % SPLITS


class TestTrained(Nearest):
    __test__ = False

    def trains(self, fold, held_out):
        return np.ones_like(fold, bool)


class Remembering(Geometry):
    """Keeps what it was given by the identifiers of the stimuli, and so knows no permutation."""

    kept = None

    def __call__(self, source, target):
        key = float(np.sort(source.values, axis=None) @ np.arange(source.size)), target.values.tobytes()
        self.kept = self.kept or {}
        if key not in self.kept:
            self.kept[key] = super().__call__(source, target)
        return self.kept[key]


class Drifting(Geometry):
    calls = 0

    def correlation(self, a, b):
        self.calls += 1
        return super().correlation(a, b) / (1 + 1e-4 * self.calls)


class InSingle(Geometry):
    def values(self, source, target):
        return [each.astype(np.float32) for each in super().values(source, target)]


class FewDigitsOfSingle(Geometry):
    def values(self, source, target):
        digits = 0 if source.dtype == np.float32 else 15
        return [each.round(digits) for each in super().values(source, target)]


class Retracing(Geometry):
    def correlation(self, a, b):
        with jax.enable_x64(True):
            r = jax.jit(lambda a, b: jnp.corrcoef(a, b)[0, 1])(a, b)
        return float(r) if np.ptp(a) and np.ptp(b) else np.nan


class InPlace(Geometry):
    def values(self, source, target):
        source.values -= source.values.mean(axis=0)
        return super().values(source, target)


class GlobalSeed(Geometry):
    def summary(self, r):
        np.random.seed(0)
        return super().summary(r * (1 - 1e-3 * np.random.rand()))


class GlobalNoise(Geometry):
    def summary(self, r):
        return super().summary(r * (1 - 1e-3 * random.random()))


class ZeroForUndefined(Geometry):
    def summary(self, r):
        return super().summary(np.nan_to_num(r))


class BeyondOne(Geometry):
    def summary(self, r):
        return super().summary(1.0 + r)


class BareNumber(Geometry):
    def summary(self, r):
        return r


class Distance(Geometry):
    def summary(self, r):
        return super().summary(-r)


class Wasteful(Geometry):
    def products(self, values):
        values = values - values.mean(axis=0)
        return (values[:, None] * values[None]).sum(axis=-1)


class Misnamed(Geometry):
    def summary(self, r):
        return Score(float(r), provenance={"metric": "another"})


DEFECTS = {
    FirstUnit: "permutation",
    Stretched: "rotation",
    Absolute: "scale",
    ByPosition: "order of rows",
    Intersecting: "other stimuli",
    IgnoringNaN: "missing",
    OneSided: "symmetric",
    CopiesCompared: "draws",
    CopiesSplit: "draws",
    TestTrained: "noise",
    Remembering: "permutations",
    Drifting: "repeatable",
    InSingle: "digits",
    FewDigitsOfSingle: "float32",
    Retracing: "one trace",
    InPlace: "inputs",
    GlobalSeed: "global seed",
    GlobalNoise: "global seed",
    ZeroForUndefined: "undefined",
    BeyondOne: "range",
    BareNumber: "range",
    Distance: "itself",
    Wasteful: "memory",
    Misnamed: "settings",
}


def wrong_gradient(x, y, where=None):
    @jax.custom_jvp
    def root(value):
        return jnp.sqrt(value)

    @root.defjvp
    def of_root(values, slopes):
        return root(values[0]), slopes[0]  # the derivative is 1 / (2 root)

    return root(alignment(x, y, where=where)) ** 2


def infinite_gradient(x, y):
    width = y.max() - y.min()
    return alignment(x, y) + 0.0 * jnp.where(width > 0, jnp.sqrt(width), 0.0)


def single_result(x, y):
    return alignment(x, y).astype("float32")


def single_on_the_way(x, y):
    return alignment(x.astype("float32"), y.astype("float32")).astype(x.dtype)


def zero_for_undefined(x, y):
    return jnp.nan_to_num(alignment(x, y))


def branching_on_values(x, y):
    return alignment(x, y) if y.sum() > -1e9 else jnp.zeros(())


def blind_in_a_batch(x, y):
    def on_the_host(a):
        return np.asarray(a, np.asarray(a).dtype).mean(keepdims=False).reshape(()) * np.ones(a.shape[:-2], a.dtype)

    shape = jax.ShapeDtypeStruct((), x.dtype)
    return alignment(x, y) + 1e-3 * jax.pure_callback(on_the_host, shape, x, vmap_method="expand_dims")


def deaf_to_masks(x, y, where=None):
    return alignment(x, y)


def all_pairs_at_once(x, y):
    return alignment(x, y) + 0.0 * jnp.sort(jnp.abs(x[:, None, :] - x[None, :, :]), axis=0).max()


def branches_in_a_batch(x, y):
    gram = x.T @ x

    def by_eigenvalues():
        return jnp.linalg.eigvalsh(gram).sum()

    return alignment(x, y) + 0.0 * jax.lax.cond(gram[0, 0] < 0, by_eigenvalues, lambda: jnp.trace(gram))


def order_of_stimuli(x, y):
    return alignment(x[1:], y[1:])


def without_centres(x, y):
    """Variances as the difference of large numbers."""
    x = x + 1000.0
    variance = (x**2).mean(axis=0, keepdims=True) - x.mean(axis=0, keepdims=True) ** 2
    spread = jnp.sqrt(jnp.maximum(variance, 1e-30))
    return alignment(x / spread, y)


KERNELS = {
    wrong_gradient: "gradient",
    infinite_gradient: "gradient",
    single_result: "dtype",
    single_on_the_way: "dtype",
    zero_for_undefined: "undefined",
    branching_on_values: "jit",
    blind_in_a_batch: "batch",
    deaf_to_masks: "mask",
    all_pairs_at_once: "memory",
    branches_in_a_batch: "branches",
    order_of_stimuli: "stimuli",
    without_centres: "float32",
}


def failure(metric, name, **promised):
    """What the check of that name says."""
    [check] = [check for check in checks(metric, **promised) if check.name == name]
    with pytest.raises(ContractError) as caught:
        check()
    return caught.value


@pytest.mark.slow
def test_a_sound_similarity_passes():
    check_metric(Geometry(), **SOUND)


def test_a_sound_regression_passes():
    check_metric(Nearest(), invariances=["permutation", "source rotation", "scale"])


@pytest.mark.slow
def test_a_sound_kernel_passes():
    check_metric(alignment, **OF_KERNEL)


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.__name__)
def test_a_defect_of_a_metric_is_found(defect):
    found = failure(defect(), DEFECTS[defect], **SOUND if issubclass(defect, Geometry) else {})
    assert found.property == DEFECTS[defect] and found.property in str(found)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_a_defect_of_a_kernel_is_found(kernel):
    found = failure(kernel, KERNELS[kernel], **OF_KERNEL)
    assert found.property == KERNELS[kernel] and found.property in str(found)


def test_the_example_is_small_and_runs():
    from bsjax.testing import assembly

    found = failure(FirstUnit(), "permutation")
    given = {"np": np, "assembly": assembly, "geometry": FirstUnit()}
    calls = [line for line in found.example.splitlines() if line.startswith("geometry(")]
    scores = []
    for line in found.example.splitlines():
        if line in calls:
            scores.append(eval(line, given))
        else:
            exec(line, given)
    assert len(scores) == 2 and abs(scores[0] - scores[1]) > 1e-6
    assert isinstance(given["source"], NeuroidAssembly) and given["source"].size < 100
