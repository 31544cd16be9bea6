"""The table and its legend."""

import dataclasses

import numpy as np
import xarray as xr

from bsjax import Score
from bsjax.labelled.uncertainty import Uncertainty
from bsjax.scoring import Outcome, brief_legend, legend, table

SCORE = Score(
    1.0321,
    error=0.0123,
    error_kind="standard error over 10 splits",
    unceiled=Score(0.8888, n_units=96),
    ceiling=Score(0.7654, formula="2r/(1+r)", provenance={"metric": "internal_consistency"}),
    formula="r²/c",
    n_units=96,
    uncertainty=Uncertainty(("stimuli",), 0.02, "jackknife of 10 groups", dof=9),
    provenance={"dtype": "float64", "device": "cpu", "bsjax": "9.9", "jax": "1.2", "data": "sha256:ab", "n_stimuli": 7},
)
SIMILARITY = dataclasses.replace(
    SCORE, value=-0.00004, error=None, unceiled=Score(float("nan")), formula="r/√c", n_units=None, uncertainty=None
)
DRAWN = Uncertainty(
    ("stimuli", "subjects"),
    0.2,
    "100 bootstrap draws",
    draws=xr.DataArray(np.linspace(0.19, 0.81, 100), dims=["draw"]),
    kind="percentile",
)
OUTCOMES = [
    Outcome("gabor-v1", "Simulated.V1-neuron_to_neuron", SCORE, None, 12.34),
    Outcome("gabor-v1", "Simulated.V1-cka", SIMILARITY, None, 0.04),
    Outcome("a-model-with-a-long-name", "Simulated.V1-cka", SIMILARITY, None, 1.0),
    Outcome("gabor-v1", "Broken", None, ValueError("no"), 1.0),
]
# The interval is half of Student's t with 9 degrees of freedom, 2.262, times 0.02 to either side.
NUMBERS = [
    ["0.889", "0.765", "1.032*", "0.012", "0.987..1.077", "96", "12.3"],
    ["nan", "0.765", "0.000", "-", "-", "-", "0.0"],
]


def test_one_line_a_pair_with_all_its_numbers():
    header, *rows = [line.split() for line in table(OUTCOMES).splitlines()]
    assert header == ["model", "benchmark", "raw", "ceiling", "score", *"± error 95 % interval".split(), "units", "s"]
    assert rows[0] == ["gabor-v1", "Simulated.V1-neuron_to_neuron", *NUMBERS[0]]
    assert rows[1] == ["gabor-v1", "Simulated.V1-cka", *NUMBERS[1]]
    assert rows[3:] == [["gabor-v1", "Broken", "failed"]]


def test_a_model_that_fails_alike_on_all_benchmarks_is_one_row():
    alike = [Outcome("gone", f"B{n}", error=OSError("no network"), state="failed") for n in range(12)]
    other = Outcome("gone", "B12", error=OSError("no room"), state="failed")
    rows = [line.split() for line in table([*alike, *OUTCOMES, other]).splitlines()]
    assert ["gone", "12", "benchmarks", "failed"] in rows and ["gone", "B12", "failed"] in rows and len(rows) == 7


def test_what_has_no_interval_shows_none():
    bins = xr.DataArray([0.1, 0.2], dims=["time_bin"])
    in_time = Score(bins, error=bins, uncertainty=Uncertainty(("stimuli",), bins, "jackknife of 10 groups"))
    undefined = Score(float("nan"), uncertainty=Uncertainty(("subjects",), float("nan"), "one subject"))
    outcomes = [Outcome("m", f"b{n}", score, None, 1.0) for n, score in enumerate((in_time, undefined))]
    outcomes.append(Outcome("m", "drawn", Score(0.5, uncertainty=DRAWN), None, 1.0))
    assert [line.split()[6] for line in table(outcomes).splitlines()[1:]] == ["-", "-", "0.206..0.795"]
    assert "percentile over stimuli and subjects: 100 bootstrap draws (drawn)" in " ".join(legend(outcomes).split())


def test_chance_and_baselines_have_columns_where_they_were_asked_for():
    details = {"p_value": 0.01, "calibrated": 0.25, "baselines": {"a": float("nan"), "b": 0.125, "c": 0.1}}
    calibrated = dataclasses.replace(SCORE, provenance=SCORE.provenance.with_details(**details))
    outcomes = [OUTCOMES[0], Outcome("gabor-v1", "Simulated.V1-pls", calibrated, None, 1.0)]
    header, *rows = table(outcomes).splitlines()
    assert header.endswith("calibrated      p  best baseline")
    assert [row.split()[9:] for row in rows] == [["-", "-", "-"], ["0.250", "0.010", "b", "0.125"]]
    narrow = table(outcomes, 76).splitlines()
    assert "   best baseline: b 0.125" in narrow and max(map(len, narrow)) <= 76
    in_legend = legend(outcomes)
    assert "1 in 20 permutations" in in_legend and "no model of the brain" in in_legend
    assert "calibrated" not in table(OUTCOMES) + legend(OUTCOMES)


def test_the_short_legend_names_what_the_error_is():
    errors = {"splits": "standard error over 10 splits", "halves": "standard deviation over 20 values, ddof 0"}
    outcomes = {name: Outcome("m", name, Score(0.5, error=0.1, error_kind=kind)) for name, kind in errors.items()}
    assert "standard error over splits;" in brief_legend([outcomes["splits"]])
    assert "standard deviation;" in brief_legend([outcomes["halves"]])
    assert "standard error or deviation" in brief_legend(list(outcomes.values()))
