"""Half precision comes from models: a metric computes in float32 or float64 with it, and never overflows."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pandas as pd
import pytest
import torch

from bsjax import NeuroidAssembly, load_ceiling, load_metric, metrics, score_arrays

RNG = np.random.default_rng(0)
X, Y = 300 * RNG.normal(size=(60, 9)), 300 * RNG.normal(size=(60, 9))  # of squares beyond what float16 holds
TRIALS = np.stack([X, X + 100 * RNG.normal(size=X.shape), X + 100 * RNG.normal(size=X.shape)])
PRESENT = np.ones(TRIALS.shape, bool)
NARROW = [np.float16, ml_dtypes.bfloat16]
KERNELS = {
    "pearson": (metrics.pearson, (X, Y)),
    "spearman": (metrics.spearman, (X[:, 0], Y[:, 0])),
    "cka": (metrics.cka, (X, Y)),
    "ranks of many": (metrics.ranks, (np.arange(3000.0) % 1500,)),
    "rdm_similarity": (metrics.rdm_similarity, (X, Y)),
    "noise_ceiling_snr": (metrics.noise_ceiling_snr, (TRIALS, PRESENT)),
    "train_test": (
        lambda x, y: metrics.train_test(x[:50], x[50:], y[:50], y[50:], mapping=metrics.Ridge(1.0)),
        (X, Y + X),
    ),
}


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_is_that_of_the_same_numbers_in_float32(name):
    kernel, given = KERNELS[name]
    half = [jnp.asarray(a.astype(np.float16) if a.dtype.kind == "f" else a) for a in given]
    whole = [a.astype("float32") if a.dtype == np.float16 else a for a in half]
    program = jax.jit(kernel)
    found = program(*half)
    assert found.dtype == jnp.float32 and jnp.isfinite(found).all()
    np.testing.assert_allclose(found, program(*whole), rtol=1e-5, atol=1e-6)


def kinds(values):
    yield from (values.astype(narrow) for narrow in NARROW)
    yield from (jnp.asarray(values, narrow) for narrow in (jnp.float16, jnp.bfloat16))
    yield from (torch.tensor(values, dtype=narrow, requires_grad=True) for narrow in (torch.float16, torch.bfloat16))


@pytest.mark.slow
def test_arrays_of_any_float_dtype():
    for x in kinds(X):
        wide = np.asarray(x.detach().float() if isinstance(x, torch.Tensor) else x, np.float32)
        for given in ((x, X + Y), (X + Y, x)):
            plain = [wide if side is x else side for side in given]
            found, expected = (float(score_arrays(*sides, "pls", n_components=3)) for sides in (given, plain))
            assert found == expected


def test_tables_of_columns_that_pandas_keeps_itself():
    table = pd.DataFrame(X.round()).convert_dtypes()
    assert not any(isinstance(dtype, np.dtype) for dtype in table.dtypes)
    assert float(score_arrays(table, Y, "cka")) == float(score_arrays(X.round(), Y, "cka"))
    with pytest.raises(ValueError, match="NaN"):
        score_arrays(table.where(table != table.iloc[0, 0]), Y, "cka")
    with pytest.raises(ValueError, match="must hold real numbers, it holds"):
        score_arrays(pd.DataFrame(X.astype(str)).convert_dtypes(), Y, "cka")


def test_assemblies():
    def assembly(values, **coords):
        coords = {name: ("presentation", values) for name, values in coords.items()}
        return NeuroidAssembly(values, coords=coords, dims=["presentation", "neuroid"])

    ids = {"stimulus_id": np.arange(60)}
    x, wide = X.astype(ml_dtypes.bfloat16), X.astype(ml_dtypes.bfloat16).astype("float32")
    splits = {"crossvalidation_kwargs": {"stratification_coord": None}}
    target = assembly(X + Y, **ids)
    for half in (x, torch.tensor(wide).bfloat16()):
        found = load_metric("ridge", **splits)(assembly(half, **ids), target)
        assert found == load_metric("ridge", **splits)(assembly(wide, **ids), target)
    repeated = {"stimulus_id": np.tile(np.arange(60), 3), "repetition": np.repeat(np.arange(3), 60)}
    trials = TRIALS.reshape(180, 9).astype(ml_dtypes.bfloat16)
    for name in ("internal_consistency", "noise_ceiling_snr"):
        ceiling = load_ceiling(name)
        assert ceiling(assembly(trials, **repeated)) == ceiling(assembly(trials.astype("float32"), **repeated))
