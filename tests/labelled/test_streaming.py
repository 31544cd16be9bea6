"""Sources that are read in blocks score as those in memory, and no more of them is read than must be."""

import subprocess
import sys

import numpy as np
import pytest

from bsjax import load_metric
from bsjax.engine.memory_limit import memory_limit
from bsjax.labelled.streaming import compress, gram_of
from tests.support.responses import assembly

da = pytest.importorskip("dask.array")
zarr = pytest.importorskip("zarr")

N, WIDTH = 60, 700
ROOM = 20_000  # bytes of float32 that are read at once with the limit below
LIMIT = 2 * ROOM
SPLITS = {"crossvalidation_kwargs": {"splits": 3, "stratification_coord": None}}
METRICS = {
    "ridge": SPLITS,
    "ridgecv per target": {"alphas": (1.0, 100.0, 1e4), "alpha_per_target": True} | SPLITS,
    "cka_biased": {"error": "jackknife"},
    "rdm_cv": SPLITS,
}


class Counted:
    """An array that notes what is read of it."""

    def __init__(self, values):
        self.values, self.reads = values, []
        self.shape, self.dtype, self.ndim = values.shape, values.dtype, values.ndim

    def __getitem__(self, key):
        part = self.values[key]
        self.reads.append(part)
        return part


def features():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(N, 8)) @ rng.normal(size=(8, WIDTH)) + rng.normal(size=(N, WIDTH))
    # Responses have means beside which they vary little.
    return (values + 300 * rng.normal(size=WIDTH)).astype(np.float32)


VALUES = features()
TARGET = assembly(VALUES[:, :6] - VALUES[:, 6:12] + np.random.default_rng(1).normal(size=(N, 6)))[::-1]


def by_blocks(values, chunks):
    counted = Counted(values)
    return counted, assembly(da.from_array(counted, chunks=chunks, asarray=False, lock=True))


@pytest.mark.slow
@pytest.mark.parametrize("name", METRICS)
@pytest.mark.filterwarnings("ignore:the (small|larg)est penalty")
def test_blocks_score_as_the_whole(name):
    metric = load_metric(name.split()[0], **METRICS[name])
    with memory_limit("1GB"):
        wanted = metric(assembly(VALUES), TARGET)
    counted, source = by_blocks(VALUES, (N, 50))
    with memory_limit(LIMIT):
        score = metric(source, TARGET)
    assert float(score) == pytest.approx(float(wanted), abs=1e-9)
    if wanted.raw is not None:
        np.testing.assert_allclose(np.asarray(score.raw, float), np.asarray(wanted.raw, float), atol=1e-9)
    assert max(part.nbytes for part in counted.reads) <= ROOM
    assert sum(part.size for part in counted.reads) == VALUES.size  # each once


@pytest.mark.slow
def test_what_is_stored_in_blocks_of_stimuli_is_read_half_as_often_as_there_are_groups():
    counted, source = by_blocks(VALUES, (10, WIDTH))
    wanted = gram_of(assembly(VALUES))[0].dense()
    for blocks_at_once, groups in ((1, 6), (3, 2), (6, 1)):
        counted.reads.clear()
        with memory_limit(2 * blocks_at_once * 10 * WIDTH * 4):
            np.testing.assert_allclose(gram_of(source)[0].dense(), wanted, rtol=1e-12, atol=1e-9)
        assert {part.shape for part in counted.reads} == {(10, WIDTH)}
        assert len(counted.reads) == blocks_at_once * groups * (groups + 1) / 2


def test_digits_are_kept_beside_large_means_and_in_rank_deficient_data():
    values = np.concatenate([VALUES[:30], VALUES[:30]])  # every stimulus twice
    centred = values - values.mean(axis=0, dtype=np.longdouble)
    exact = np.asarray(centred @ centred.T, float)
    with memory_limit(LIMIT):
        (few,) = compress(assembly(values), depends_on="inner products")
        (rows,) = compress(assembly(values), depends_on="correlations")
    np.testing.assert_allclose(few.values @ few.values.T, exact, rtol=0, atol=1e-12 * np.abs(exact).max())
    assert not few.values[:, 29:].any()  # the rank of 30 centred stimuli
    np.testing.assert_allclose(rows.values @ rows.values.T, np.corrcoef(values.astype(float)), rtol=0, atol=1e-12)
    np.testing.assert_allclose(rows.values.mean(axis=1), 0, atol=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("chunks", [(20, 50), (20, WIDTH)])
def test_training_and_test_stimuli_share_their_coordinates(chunks):
    metric, sides = load_metric("pls_split", n_components=5), (TARGET[20:], TARGET[:20])
    wanted = metric(assembly(VALUES)[:40], assembly(VALUES)[40:], *sides)
    train, test = (by_blocks(part, chunks)[1] for part in (VALUES[:40], VALUES[40:]))
    test["stimulus_id"] = "presentation", [f"s{i}" for i in range(40, N)]
    with memory_limit(2 * LIMIT):
        score = metric(train, test, *sides)
    np.testing.assert_allclose(np.asarray(score.raw, float), np.asarray(wanted.raw, float), atol=1e-9)


def test_other_stimuli_are_refused_before_anything_is_read():
    counted, source = by_blocks(VALUES, (N, 50))
    source["stimulus_id"] = "presentation", [f"other {i}" for i in range(N)]
    with memory_limit(LIMIT), pytest.raises(ValueError, match="different stimuli"):
        load_metric("ridge", **SPLITS)(source, TARGET)
    assert not sum(part.size for part in counted.reads)  # dask looks at a part without values


LARGE = """
import sys
import dask.array as da, numpy as np, xarray as xr
from bsjax import load_metric
from bsjax.core.memory import peak_during
from bsjax.engine.memory_limit import memory_limit

n, width = 500, 100_000  # 200 MB in float32, 400 MB in float64
def assembly(values):
    return xr.DataArray(values, {"stimulus_id": ("presentation", np.arange(n))}, ["presentation", "neuroid"])
target = assembly(np.random.default_rng(0).normal(size=(n, 5)))
metrics = [load_metric("cka"), load_metric("ridge", crossvalidation_kwargs={"stratification_coord": None})]
source, scores = assembly(da.from_zarr(sys.argv[1])), []
def score():
    scores[:] = [float(metric(source, target)) for metric in metrics]
with memory_limit("32MB"):
    score()  # compiled here
    peak = peak_during(score)
print(peak, *scores)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the peak of a process's memory")
def test_a_large_file_is_scored_in_little_memory(tmp_path):
    """The process may take less than the file holds, let alone that in float64."""
    path, (n, width) = tmp_path / "features.zarr", (500, 100_000)
    rng = np.random.default_rng(0)
    target = rng.normal(size=(n, 5)).sum(axis=1, dtype=np.float32)
    features = zarr.create_array(path, shape=(n, width), chunks=(n, 1_000), dtype="float32", compressors=None)
    for start in range(0, width, 1_000):
        features[:, start : start + 1_000] = rng.standard_normal((n, 1_000), np.float32) + target[:, None]
    run = subprocess.run([sys.executable, "-c", LARGE, str(path)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    peak, cka, ridge = (float(v) for v in run.stdout.split())
    assert 0 < peak < features.nbytes
    assert 0 < cka < 1 and 0 < ridge < 1


@pytest.mark.parametrize("name", ["cka", "rdm"])
def test_blocks_of_constant_responses_are_undefined(name):
    constant = np.full((N, WIDTH), 0.1)
    constant[1] = np.nextafter(0.1, 1)  # equal up to rounding, as means of other numbers of repetitions are
    with memory_limit(LIMIT):
        score = load_metric(name)(assembly(constant), TARGET)
    assert np.isnan(float(score)) and score.n_undefined == 1
