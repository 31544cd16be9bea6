"""A store of results as large as that of a public leaderboard, written at once."""

import copy
import hashlib

import numpy as np
import xarray as xr
from sqlalchemy import insert

from bsjax.core.digests.plain import digest_of_json
from bsjax.labelled import Provenance, Score
from bsjax.labelled.uncertainty import Uncertainty
from bsjax.results import ResultStore, tables
from bsjax.results.documents import document_of


def ceiled_score(model: str, benchmark: str, seed: int = 0, **origin) -> Score:
    """A score such as a benchmark of recordings gives: normalised, with raw values and the benchmark's ceiling."""
    rng, of_benchmark = (np.random.default_rng([*start, *benchmark.encode()]) for start in ([seed, 1], [0, 2]))
    names = [f"neuroid_{n}" for n in range(24)]
    raw, of_ceiling = (
        xr.DataArray(
            each.normal(size=(10, len(names))),
            dims=["split", "neuroid"],
            coords={"split": range(10), "neuroid_id": ("neuroid", names)},
        )
        for each in (rng, of_benchmark)
    )
    versions = {"bsjax": "0.1.0", "jax": "0.10.2", "jaxlib": "0.10.2", "numpy": "2.4.6", "scipy": "1.17.1"}
    metric = Provenance(metric="pls", dtype="float64", device="cpu", seeds={"random_state": 1}, versions=versions)
    whole = metric.with_entries(
        model=model,
        model_digest=hashlib.md5(model.encode()).hexdigest(),
        layers={"IT": ["layer4.1.conv2"]},
        benchmark=benchmark,
        benchmark_version=1,
        data="sha256:cfafb8509c847e79",
        parent="IT",
        region="IT",
        n_stimuli=480,
        stimuli="sha256:bd8b8af9d3991e64",
        seconds=9.998,
        **{"start": "2026-11-23T17:42:53+00:00", **origin},
    )
    value, error = rng.uniform(size=2)
    method, of_stimuli = "standard error over 10 splits, corrected for the stimuli that they share", ("stimuli",)
    unceiled = Score(
        value,
        error=error,
        error_kind="standard error over 10 splits, ddof 0",
        raw=raw,
        formula="r",
        n_units=24,
        uncertainty=Uncertainty(of_stimuli, error * 1.4, method, dof=9),
    )
    over_ceiling = f"{method}; of the ceiling jackknife of 10 groups"
    of_groups = Uncertainty(of_stimuli, 0.01, "jackknife of 10 groups", dof=9)
    return Score(
        value**2,
        error=error / 10,
        error_kind="standard error over 10 splits, ddof 0 and the ceiling's, by the delta method",
        raw=raw,
        unceiled=Score(unceiled, provenance=metric),
        ceiling=Score(
            0.8, error=0.01, raw=of_ceiling, formula="2r/(1+r)", n_units=24, provenance=metric, uncertainty=of_groups
        ),
        formula="r²/c",
        n_units=24,
        provenance=whole,
        uncertainty=Uncertainty(of_stimuli, error * 0.14, over_ceiling, dof=9),
    )


def fill(store: ResultStore, n_models: int, n_benchmarks: int) -> None:
    """Write a score of each model on each benchmark, all different; no raw values."""
    rng = np.random.default_rng(0)
    models = [f"resnet{n}_some_variant" for n in range(n_models)]
    digests = [hashlib.md5(name.encode()).hexdigest() for name in models]
    run = store.begin_run(n_models * n_benchmarks)
    with store.writing() as connection:
        connection.execute(
            insert(tables.models),
            [
                {"id": n + 1, "identifier": name, "digest": digest, "facts": {}}
                for n, (name, digest) in enumerate(zip(models, digests, strict=True))
            ],
        )
        for benchmark in range(n_benchmarks):
            name = f"Lab2020.IT-{benchmark}"
            about = {"id": benchmark + 1, "identifier": name, "version": 1, "parent": "IT", "facts": {}}
            connection.execute(insert(tables.benchmarks).values(about))
            said = document_of(ceiled_score(models[0], name)).content
            rows = []
            for model in rng.permutation(n_models):
                numbers = rng.normal(size=8)
                numbers[1:6:2] = abs(numbers[1:6:2])  # errors
                numbers[6:] = numbers[0] - abs(numbers[6]), numbers[0] + abs(numbers[7])
                numbers = numbers.tolist()
                raw = {"$raw": rng.bytes(16).hex()}
                started = np.datetime_as_string(np.datetime64("2026-11-01T00:00:00") + int(rng.integers(2_000_000)))
                seconds = round(float(rng.uniform(0, 100)), 3)
                origin = said["provenance"] | {"model": models[model], "model_digest": digests[model]}
                origin |= {"layers": {"IT": [f"layer{rng.integers(1, 5)}.{rng.integers(20)}.conv2"]}}
                origin |= {"start": f"{started}+00:00", "seconds": seconds}
                said |= {"value": numbers[0], "error": numbers[1], "raw": raw, "provenance": origin}
                said["uncertainty"]["standard_error"] = float(rng.uniform())
                said["unceiled"] |= {"value": numbers[2], "error": numbers[3], "raw": raw}
                said["unceiled"]["uncertainty"]["standard_error"] = float(rng.uniform())
                names = ("score", "error", "raw", "raw_error", "ceiling", "ceiling_error", "low", "high")
                rows.append(
                    {
                        "key": digest_of_json(said),
                        "model_id": int(model) + 1,
                        "benchmark_id": benchmark + 1,
                        "run_id": run,
                        "task": rng.bytes(8).hex(),
                        "cell": rng.bytes(16).hex(),
                        "state": "scored",
                        **dict(zip(names, numbers, strict=True)),
                        "interval": "t over stimuli",
                        "n_units": 168,
                        "started": origin["start"],
                        "seconds": seconds,
                        "memory": float(rng.integers(10**9, 10**10)),
                        "document": copy.deepcopy(said),
                    }
                )
            connection.execute(insert(tables.scores), rows)
    store.end_run(run)
