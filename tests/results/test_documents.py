"""Scores as documents: nothing is lost, what scores share is there once, and each has a key of its own."""

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bsjax import Score
from bsjax.core.files import as_json
from bsjax.labelled.uncertainty import Uncertainty
from bsjax.results.documents import document_of, score_of
from tests.labelled.test_plain_values import scores
from tests.support.large_store import ceiled_score
from tests.support.plain_assemblies import assert_same_score

NEIGHBOURS = settings(deadline=None, suppress_health_check=list(HealthCheck))


def written_and_read(score, raw=True):
    made = document_of(score)
    content = json.loads(json.dumps(made.content))
    return score_of(content, made.raw.get) if raw else score_of(content)


def after_json(score):
    return Score.from_dict(json.loads(as_json(score.to_dict())))


def without_raw(score):
    if score is None:
        return None
    known = score.uncertainty
    known = known if known is None else replace(known, draws=None, errors=None, influence=None)
    parts = {"unceiled": without_raw(score.unceiled), "ceiling": without_raw(score.ceiling)}
    return replace(score, raw=None, uncertainty=known, **parts)


def drawn(over=("stimuli",), n_draws=30, seed=0, bins=(), **more):
    """The uncertainty of a score from draws, of two things together and each alone where ``over`` has two."""
    rng = np.random.default_rng(seed)
    names = [*(["factor"] if len(over) > 1 else []), "draw", *(["time_bin"] if len(bins) else [])]
    shape = [*([3] if len(over) > 1 else []), n_draws, *([len(bins)] if len(bins) else [])]
    coords = {"factor": ["both", *over]} if len(over) > 1 else {}
    coords |= {"time_bin": list(bins)} if len(bins) else {}
    draws = xr.DataArray(rng.normal(size=shape), coords, names)
    draws.values.flat[0] = math.nan
    standard_error = xr.DataArray([0.1] * len(bins), {"time_bin": list(bins)}, ["time_bin"]) if len(bins) else 0.1
    return Uncertainty(over, standard_error, "bootstrap draws", draws=draws, plan="1:ab", **more)


BINS = xr.DataArray([0.5, 0.25], dims=["time_bin"], coords={"time_bin": [70, 170]})
UNCERTAIN = {
    "not finite": Score(0.5, uncertainty=Uncertainty(("subjects",), math.nan, "one subject", dof=math.inf)),
    "of draws with all that is known": Score(
        0.5,
        uncertainty=drawn(
            errors=xr.DataArray(np.full(30, 0.1), dims=["draw"]), influence=xr.DataArray(np.arange(4.0), dims=["unit"])
        ),
    ),
    "of two factors in time": Score(BINS, uncertainty=drawn(("stimuli", "subjects"), bins=[70, 170])),
    "with those of all parts": Score(
        0.5,
        uncertainty=drawn(seed=1),
        raw=xr.DataArray([0.5], dims=["split"]),
        unceiled=Score(0.6, uncertainty=drawn(seed=2)),
        ceiling=Score(0.7, uncertainty=drawn(seed=3), unceiled=Score(0.8, uncertainty=drawn(seed=4))),
    ),
}


def raw(values, **coords):
    values = np.asarray(values)
    return Score(0.5, raw=xr.DataArray(values, dims=["split", "neuroid"][: values.ndim], coords=coords))


LEVELS = pd.MultiIndex.from_product([["a", "b"], [1, 2]], names=["object", "repetition"])
RAWS = {
    "float64 of other byte order": raw(np.array([0.1, -0.0], ">f8")),
    "columns first": raw(np.asfortranarray(np.arange(6.0).reshape(2, 3))),
    "objects": Score(0.5, raw=xr.DataArray(np.array([None, (1, "\udcff"), math.nan], object), dims=["split"])),
    "moments": raw(np.array(["2024-01-02", "NaT"], "datetime64[ns]")),
    "with levels": Score(1.0, raw=xr.DataArray(np.arange(4.0), dims=["x"], coords={"x": LEVELS})),
    "spans and no dimension": raw([1.0], lag=("split", np.array([1], "timedelta64[ms]")), animal="Tito"),
}


@pytest.mark.slow
@given(scores(depth=2))
@NEIGHBOURS
def test_any_score_comes_back_whole_and_has_one_key(score):
    again = written_and_read(score)
    assert_same_score(after_json(score), again)
    assert again.to_dict() == score.to_dict()
    key = document_of(score).key
    assert key == document_of(again).key == document_of(after_json(score)).key
    assert len(key) == 32 and int(key, 16) >= 0


@pytest.mark.parametrize("score", UNCERTAIN.values(), ids=UNCERTAIN)
def test_uncertainties_come_back(score):
    again = written_and_read(score)
    assert_same_score(after_json(score), again)
    assert again.to_dict() == score.to_dict()
    assert document_of(score).key == document_of(again).key == document_of(after_json(score)).key
    assert str(again.interval()) == str(score.interval())
    alone = written_and_read(score, raw=False)
    assert alone.to_dict() == without_raw(score).to_dict()
    assert alone.uncertainty is None or alone.interval().kind == "t"


@pytest.mark.parametrize("score", RAWS.values(), ids=RAWS)
def test_raw_values_of_every_kind_come_back(score):
    again = written_and_read(score)
    assert again.to_dict() == score.to_dict()
    xr.testing.assert_identical(again.raw, score.raw)
    assert again.raw.dtype == score.raw.dtype and all(
        again.raw[name].dtype == coord.dtype for name, coord in score.raw.coords.items()
    )


def test_the_smallest_change_of_anything_changes_the_key():
    score = ceiled_score("m", "b")
    raw, ceiling, known = score.raw, score.ceiling, score.uncertainty
    changes = [{"value": 0.5000000000000001}, {"value": -0.0}, {"error": None}, {"n_undefined": 1}, {"unceiled": None}]
    changes += [{"provenance": score.provenance.with_entries(n_stimuli=n)} for n in (481, 480.0, "480", True)]
    changes += [{"raw": each} for each in (raw.assign_coords(split=np.arange(1, 11)), raw + 1e-15, raw.astype("f4"))]
    changes += [{"ceiling": replace(ceiling, raw=None)}, {"uncertainty": replace(known, kind="t")}]
    changes += [{"uncertainty": replace(known, draws=drawn(seed=seed).draws)} for seed in (1, 2)]
    keys = [document_of(replace(score, **change)).key for change in ({}, *changes)]
    assert len(set(keys)) == len(keys)


@given(st.permutations(["n_stimuli", "stimuli", "bins", "weights"]))
def test_the_order_of_details_does_not_change_the_key_and_comes_back(names):
    values = {"n_stimuli": 480, "stimuli": "sha256:bd8b8af9d3991e64", "bins": (70, 170), "weights": {"a": 0.5}}
    ordered, usual = (Score(0.5, provenance={name: values[name] for name in order}) for order in (names, values))
    assert document_of(ordered).key == document_of(usual).key
    assert list(written_and_read(ordered).provenance.details) == names


@pytest.mark.parametrize("dtype", ["<f4", ">f8"])
def test_nan_is_nan_whichever_bits_it_has(dtype):
    def made(nan):
        values = np.array([1.0, nan, -0.0], dtype)
        return Score(nan, error=nan, raw=xr.DataArray(values, dims=["split"]), provenance={"threshold": nan})

    # What 0 / 0 gives on most processors has its sign set.
    usual, other = (document_of(made(nan)) for nan in (math.nan, -math.nan))
    assert usual.key == other.key and usual.raw == other.raw
    again = written_and_read(made(-math.nan)).raw
    assert again.dtype == np.dtype(dtype) and again.identical(made(math.nan).raw)
