"""Every benchmark on recordings that Brain-Score has: what is built, against the facts on the reference; no network.

``reference_recordings.json`` has those facts, one line a benchmark: class, data, region, metric, ceiling, size, trials,
time bins, parent, version, and the numbers that the reference's own tests expect.
"""

import ast
import json
import re
from pathlib import Path

import numpy as np
import pytest

from bsjax import load_benchmark
from bsjax.benchmarks import (
    Ceiling,
    MultiSubjectNeuralBenchmark,
    NeuralBenchmark,
    PropertiesBenchmark,
    TrainTestNeuralBenchmark,
)
from bsjax.benchmarks.families.coggan2024_fmri.benchmark import get_ceiling
from bsjax.benchmarks.prepare.steps import STEPS
from bsjax.benchmarks.rows.tables import builtin_rows
from bsjax.labelled.behaviour.domain_transfer import DomainTransferAccuracy
from bsjax.labelled.behaviour.object_solution_time import OSTCorrelation
from bsjax.labelled.ceilings.consistency import (
    InternalConsistency,
    SplitHalfPredictorConsistency,
    TemporalInternalConsistency,
)
from bsjax.labelled.ceilings.noise_ceiling import RSACeiling
from bsjax.labelled.ceilings.stored_reliability import MedianReliability, StoredNoiseCeiling
from bsjax.labelled.regression.crossvalidation import (
    CrossRegressedCorrelation,
    ReversePredictivity,
    TrainTestSplitCorrelation,
)
from bsjax.labelled.regression.factorised_readout import MaskRegression
from bsjax.labelled.regression.span_time import SpanTimeCrossRegressedCorrelation
from bsjax.labelled.similarity.cka import CKA
from bsjax.labelled.similarity.dimensionality import Dimensionality
from bsjax.labelled.similarity.rdms.rdm import rdm_similarity_by
from bsjax.labelled.similarity.rdms.subject_rdms import SubjectAgreement, SubjectSimilarity
from bsjax.labelled.similarity.rdms.subject_responses import SubjectRDMSimilarity
from bsjax.labelled.similarity.representational import RepresentationalSimilarity
from bsjax.labelled.similarity.subject_similarity import InterSubjectSimilarity, SimilarityToSubjects
from bsjax.labelled.splits import CrossValidation
from bsjax.metrics import ALPHAS, PLS, Ridge, RidgeCV

LINES = (Path(__file__).parents[1] / "rows" / "reference_recordings.json").read_text().splitlines()
REFERENCE = [json.loads(line) for line in LINES]
ROWS = {name: row for name, row in builtin_rows().items() if "kinds.published_recordings" in row.builder}
IN_TABLE = [fact for fact in REFERENCE if fact["identifier"] in ROWS]
OTHERS = [fact for fact in REFERENCE if fact["identifier"] not in ROWS]
# What the survey calls a metric, by its first word: the class here, and its settings.
OWN_METRICS = {
    "ost": (OSTCorrelation, {}),
    "rdm": (RepresentationalSimilarity, {"similarity": rdm_similarity_by()}),
    "RSM": (SubjectSimilarity, {"method": "corr", "squared": False}),
    "2AFC": (DomainTransferAccuracy, {"splits": 1000, "test_images": 30, "alphas": (1e-4, 1e-3, 1e-2, 0.1, 1, 10)}),
    "factor_dimensionality": (Dimensionality, {}),
}


def by_identifier(facts: list[dict]) -> dict:
    return {"argnames": "fact", "argvalues": facts, "ids": [fact["identifier"] for fact in facts]}


@pytest.mark.parametrize(**by_identifier(IN_TABLE))
def test_it_compares_as_the_reference_does(fact, without_network):
    benchmark = load_benchmark(fact["identifier"])
    each = one_of(benchmark)
    check_class(benchmark, each, fact)
    check_time_bins(each, fact["timebins"])
    check_metric(each.metric, fact)
    check_ceiling(each.ceiling_func, fact["ceiling"])
    check_data(fact)


@pytest.mark.parametrize(**by_identifier(OTHERS))
def test_experiments_with_code_of_their_own_compare_as_the_reference_does(fact, without_network):
    benchmark, stated = load_benchmark(fact["identifier"]), fact.get("metric_kwargs") or {}
    if fact["timebins"].startswith("18 bins"):
        assert benchmark.time_bins == [(start, start + 10) for start in range(70, 250, 10)]
    else:
        check_time_bins(benchmark, fact["timebins"])
    if fact["pattern"] == "PropertiesBenchmark":
        assert type(benchmark) is PropertiesBenchmark
        assert (benchmark.metric.property_name, benchmark.metric.ns) == (stated["property_name"], stated["ns"])
        assert fact["ceiling"]["method"] == "NeuronalPropertyCeiling" and "property_ceiling" in benchmark.describe()
        return
    kind, settings = OWN_METRICS[fact["metric"].partition(" ")[0].partition(":")[0]]
    assert isinstance(benchmark.metric, kind)
    assert {name: getattr(benchmark.metric, name) for name in settings} == settings
    if kind is Dimensionality:
        assert benchmark.metric.factor == stated["factor"]
    if fact["ceiling"]["method"] == "constant":
        assert benchmark.ceiling.value == fact["ceiling"]["value"]
    elif kind is SubjectSimilarity:
        assert benchmark.ceiling_func.method is get_ceiling
    else:  # each subject with the mean of the others
        leave_one_out = benchmark.ceiling_func.method
        assert type(leave_one_out) is SubjectAgreement
        assert (leave_one_out.bound, leave_one_out.method) == ("lower", "spearman")


def one_of(benchmark):
    """The benchmark itself, or that of the first of several subjects."""
    if isinstance(benchmark, MultiSubjectNeuralBenchmark):
        assert list(benchmark.children) == ["sub-01", "sub-03", "sub-05", "sub-06", "sub-07"]
        return benchmark.children["sub-01"]()
    return benchmark


def check_class(benchmark, each, fact):
    pattern = fact["pattern"]
    if pattern == "_MultiSubjectCKABenchmark":
        assert type(benchmark) is NeuralBenchmark  # in one go: the subjects have seen the same images
    elif " of " in pattern:
        assert type(benchmark) is MultiSubjectNeuralBenchmark
        assert type(each).__name__ == pattern.partition(" of ")[2]
    else:
        assert type(benchmark).__name__ == pattern.partition("(")[0]
    if isinstance(each, TrainTestNeuralBenchmark):
        assert each.alpha_coord == ("subject" if "alpha_coord=subject" in pattern else None)
        # Where the ceiling is a correlation, r²/c would be wrong.
        is_correlation = fact["ceiling"]["method"] == "ncsnr"
        assert each.normalisation == ("squared_ceil_score" if is_correlation else "explained_variance")
    if isinstance(each, NeuralBenchmark):
        squared = fact["normalisation"].startswith("score = raw^2 / ceiling")
        assert each.normalisation == ("explained_variance" if squared else "ceil_score")


def check_time_bins(each, stated):
    bins = re.match(r"\[\(.*?\)\]", stated)
    assert each.time_bins == (None if bins is None else ast.literal_eval(bins[0]))


def check_metric(metric, fact):
    name, stated = fact["metric"], fact.get("metric_kwargs") or {}
    alphas = stated.get("alphas", "")
    if name in ("ridge_split", "dual_ridge_split"):
        assert type(metric) is TrainTestSplitCorrelation and metric.mapping == Ridge(1.0)
        return
    if name in ("ridgecv_split", "dual_ridgecv_split"):
        assert type(metric) is TrainTestSplitCorrelation
        if alphas.startswith("23 values"):
            assert len(metric.mapping.alphas) == 23 and metric.mapping.alphas[9:12] == (5e3, 1e4, 32_500.0)
            assert metric.mapping.alphas[-5:] == tuple(np.linspace(1e6, 1e7, 5))
        elif alphas.startswith("10^-10"):
            assert metric.mapping.alphas == tuple(10.0**exponent for exponent in range(-10, 11))
        else:
            assert alphas == "ALPHA_LIST (99 values .01..1e7)" and metric.mapping == RidgeCV(ALPHAS)
            assert len(ALPHAS) == 99 and (ALPHAS[0], ALPHAS[-1]) == (0.01, 1e7)
        assert not metric.mapping.alpha_per_target
        return
    if name.lower().startswith("rdm"):
        assert type(metric) is SubjectRDMSimilarity and metric.method == "spearman"
        return
    if name.startswith("cka"):
        assert type(metric) is SimilarityToSubjects
        assert type(metric.metric) is RepresentationalSimilarity and metric.metric.similarity is CKA
        return
    expected = dict(stated["crossvalidation_kwargs"])
    if expected.pop("preprocess_indices", None):
        from bsjax.benchmarks.families.igustibagus2024.benchmark import drop_shared_backgrounds

        expected["preprocess_indices"] = drop_shared_backgrounds
    if name == "mask_regression":
        assert type(metric) is MaskRegression and metric.crossvalidation_kwargs == expected
        return
    if name == "reverse_pls":
        assert type(metric) is ReversePredictivity
        metric = metric.forward
    assert type(metric) is (SpanTimeCrossRegressedCorrelation if "spantime" in name else CrossRegressedCorrelation)
    mapping = {"ridge": Ridge(1.0), "CrossRegressedCorrelation(dual_ridge_cv, pearson)": RidgeCV(ALPHAS)}
    assert metric.mapping == mapping.get(name, PLS(25, "converged"))
    assert metric.crossvalidation == CrossValidation(train_size=0.9, splits=10, random_state=1, **expected)


def check_ceiling(ceiling, stated):
    assert isinstance(ceiling, Ceiling)
    method, name = ceiling.method, stated["method"]
    if name.startswith("internal_consistency"):
        assert type(method) is (TemporalInternalConsistency if "temporal" in name else InternalConsistency)
        assert method.split_coord == stated.get("kwargs", {}).get("split_coord", "repetition")
        assert (method.splits, method.random_state, method.consistency_metric) == (10, 1, None)
    elif name == "SplitHalfPredictorConsistency":
        assert type(method) is SplitHalfPredictorConsistency and (method.n_splits, method.seed) == (10, 0)
    elif name == "rsa_ceiling":
        assert type(method) is RSACeiling and (method.method, method.pooling) == ("spearman", "raw")
    elif name == "ncsnr":
        assert method == StoredNoiseCeiling("nc_12rep", "median" if "median" in stated["detail"] else "mean")
    elif name == "reliability median":
        assert method == MedianReliability("reliability_window", bootstraps=1000, seed=0)
    else:
        assert name == "pairwise inter-subject CKA"
        assert type(method) is InterSubjectSimilarity and method.metric.similarity is CKA


def check_data(fact):
    """The rows name the data sets that the reference loads, and only steps that there are."""
    row = ROWS[fact["identifier"]]
    steps = [row.settings.get(name, ()) for name in ("steps", "target_steps", "ceiling_steps")]
    assert {name for each in steps for name, *_ in each} <= set(STEPS)
    if not fact.get("dataset"):
        return
    stated = re.split(r" / ", fact["dataset"].partition(" (")[0])
    if stated[0].endswith("_train+test"):
        stated = [stated[0].removesuffix("+test"), stated[0].replace("train+test", "test")]
    named = list(dict.fromkeys(re.sub(r"sub-.*", "", name) for name in row.data))
    assert named == [re.sub(r"sub-.*", "", name) for name in stated]


def test_what_cannot_be_had_is_said_when_it_scores(brainio_home, model, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9")  # nobody listens there
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    benchmark = load_benchmark("MajajHong2015public.IT-pls")
    with pytest.raises(ConnectionError, match=r"cannot load assembly 'MajajHong2015.public'.*\[access to"):
        benchmark(model())


FACTS = (
    *("identifier", "pattern", "dataset", "region", "metric", "metric_kwargs", "ceiling", "normalisation"),
    *("visual_degrees", "number_of_trials", "timebins", "parent", "version", "tests", "notes"),
)


def test_the_facts_are_those_of_the_survey(shared_data):
    survey = shared_data.parent / "spec" / "benchmarks.json"
    if not survey.is_file():
        pytest.skip(f"no survey of the reference at {survey}")
    rows = [row for row in json.loads(survey.read_bytes()) if row["task"] == "recording"]
    assert [{name: row[name] for name in FACTS if row.get(name) is not None} for row in rows] == REFERENCE
