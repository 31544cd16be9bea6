"""A study of fMRI, from its files to scores per voxel in a store: ``python -m benchmarks_perf.study``.

The features of each layer are an array of a zarr group, the trials of each subject a netCDF file. Each layer is a model
of stored activations, each subject a `NeuralBenchmark` with a penalty for every voxel, chosen on folds within folds,
and the noise ceiling of every voxel. One process plans the study, and another, without any compiled program, runs it.

Shown are the seconds of the run; the most memory of its process, everything included; both as the plan predicted them;
and the arithmetic that the Gram matrix of each layer and the solution of each layer for each subject take, by the rate
of matrix products. ``--peer`` has himalaya fit the first layer to the first subject, on the first of the same outer
folds; its seconds count as often as there are folds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks_perf import data, rates, report

_REGION, _TIMES = "V4", [(0, 4000)]
_LATENTS, _ROWS = 500, 250


@dataclass(frozen=True)
class Study:
    """The sizes of a study; by default those of one subject of the Natural Scenes Dataset, and one layer."""

    stimuli: int = 5000
    voxels: int = 4000
    features: int = 20_000
    repetitions: int = 3
    penalties: int = 10
    folds: int = 5
    subjects: int = 1
    layers: int = 1

    @property
    def title(self) -> str:
        """The sizes in words."""
        return (
            f"{self.subjects} x {self.voxels:,} voxels, {self.repetitions} x {self.stimuli:,} images, "
            f"{self.layers} x {self.features:,} features"
        )

    @property
    def alphas(self) -> list[float]:
        """The penalties, from 1e2 to 1e7."""
        return np.logspace(2, 7, self.penalties).tolist()


def write(folder: Path, study: Study) -> None:
    """Writes ``features.zarr`` and ``subject0.nc``, ...: images, features and voxels share latents."""
    import zarr

    from bsjax import NeuroidAssembly
    from bsjax.data import write_netcdf

    rng = np.random.default_rng(0)
    k = min(_LATENTS, study.stimuli)
    latents = (rng.standard_normal((study.stimuli, k)) / np.sqrt(np.arange(1, k + 1))).astype("float32")
    names = [f"image{number}" for number in range(study.stimuli)]
    group = zarr.create_group(folder / "features.zarr", attributes={"stimulus_ids": names})
    for layer in range(study.layers):
        shape, rows = (study.stimuli, study.features), min(_ROWS, study.stimuli)
        array = group.create_array(f"layer{layer}", shape=shape, dtype="float32", chunks=(rows, study.features))
        loadings = rng.standard_normal((k, study.features), "float32")
        for start in range(0, study.stimuli, rows):
            part = latents[start : start + rows]
            noise = rng.standard_normal((len(part), study.features), "float32")
            array[start : start + rows] = np.maximum(part @ loadings + noise / 2, 0)
    for subject in range(study.subjects):
        signal = latents @ rng.standard_normal((k, study.voxels), "float32")
        level = np.linspace(0.5, 8, study.voxels, dtype="float32")
        trials = [signal + level * rng.standard_normal(signal.shape, "float32") for _ in range(study.repetitions)]
        coords = {
            "stimulus_id": ("presentation", names * study.repetitions),
            "repetition": ("presentation", np.repeat(np.arange(study.repetitions), study.stimuli)),
            "neuroid_id": ("neuroid", [f"subject{subject}.voxel{number}" for number in range(study.voxels)]),
            "region": ("neuroid", [_REGION] * study.voxels),
        }
        assembly = NeuroidAssembly(np.concatenate(trials), coords, ["presentation", "neuroid"])
        write_netcdf(assembly, folder / f"subject{subject}.nc", compress=False)


def trials_of(path: Path) -> Any:
    """The trials of a subject, with the images that they are responses to."""
    from bsjax import StimulusSet
    from bsjax.data import attach_stimulus_set, read_assembly

    trials = read_assembly(path, "NeuroidAssembly")
    return attach_stimulus_set(trials, StimulusSet({"stimulus_id": np.unique(trials["stimulus_id"].values)}))


def models_of(folder: Path, study: Study) -> list[Any]:
    """A model for each layer."""
    from bsjax import ModelCommitment
    from bsjax.adapters import from_stored

    stored = from_stored(folder / "features.zarr")
    return [
        ModelCommitment(f"layer{layer}", stored, region_layer_map={_REGION: f"layer{layer}"})
        for layer in range(study.layers)
    ]


def benchmarks_of(folder: Path, study: Study) -> list[Any]:
    """A benchmark for each subject."""
    from bsjax import load_ceiling
    from bsjax.benchmarks import Ceiling, NeuralBenchmark

    made = []
    for subject in range(study.subjects):
        trials = partial(trials_of, folder / f"subject{subject}.nc")
        made.append(
            NeuralBenchmark(
                f"Study-subject{subject}",
                trials,
                metric_of(study),
                ceiling_func=Ceiling(load_ceiling("noise_ceiling_snr", dtype="float32"), trials),
                normalisation="neuroid_wise_explained_variance",
                region=_REGION,
                time_bins=_TIMES,
            )
        )
    return made


def metric_of(study: Study) -> Any:
    """Ridge regression in folds, with a penalty for each voxel that is chosen on folds of the training images."""
    from bsjax import load_metric

    folds = {"splits": study.folds, "kfold": True, "stratification_coord": None}
    how = {"alphas": study.alphas, "alpha_per_target": True, "cv": study.folds, "dtype": "float32"}
    return load_metric("ridgecv", crossvalidation_kwargs=folds, **how)


def planned(folder: Path, study: Study) -> dict[str, Any]:
    """What the plan predicts before the study is run: seconds, and the most bytes of its process."""
    import bsjax

    plan = bsjax.plan(models_of(folder, study), benchmarks_of(folder, study), store=folder / "plan.db")
    print(plan, file=sys.stderr)
    alone = bsjax.estimate(metric_of(study), study.stimuli, study.features, study.voxels)  # compiled by the plan
    return {"seconds": plan.seconds, "peak_bytes": plan.memory, "estimate": asdict(alone)}


def scored(folder: Path, study: Study) -> dict[str, Any]:
    """Runs the study: its seconds, the most bytes of its process, and the scores, whose voxels it draws."""
    import bsjax
    from bsjax.core.memory import peak_held
    from bsjax.plots import plot_neuroid_ceilings

    models, benchmarks, store = models_of(folder, study), benchmarks_of(folder, study), folder / "results.db"
    start = time.perf_counter()
    grid = bsjax.score_grid(models, benchmarks, store=store, again=True)
    seconds, peak = time.perf_counter() - start, peak_held()
    if failed := [done.error_line for done in grid.done if done.error is not None]:
        raise RuntimeError(failed[0])
    first: Any = grid.score(models[0].identifier, benchmarks[0].identifier)
    plot_neuroid_ceilings(first, path=folder / "voxels.png")
    np.save(folder / "raw.npy", first.unceiled.raw.values)
    cells = [{"seconds": done.seconds, "score": float(grid.score(done.model, done.benchmark))} for done in grid.done]
    return {"seconds": seconds, "peak_bytes": peak, "cells": cells, "per_voxel": dict(first.unceiled.raw.sizes)}


def by_peer(folder: Path, study: Study) -> dict[str, Any]:
    """The seconds of himalaya for the first layer and subject, and how far its correlations are from ours."""
    import zarr

    from benchmarks_perf.workers.client import Worker
    from bsjax.data import average_repetition

    group: Any = zarr.open_group(folder / "features.zarr", mode="r")
    features = group["layer0"][:]
    target = average_repetition(trials_of(folder / "subject0.nc"))
    order = [int(name.removeprefix("image")) for name in target["stimulus_id"].values]
    fold = np.empty(study.stimuli, int)
    for number, (_, test) in enumerate(metric_of(study).folds_of(target)):
        fold[test] = number
    sides = {"source": features[order], "target": target.values}
    inputs = {name: data.labelled(side, presentation={"fold": fold}, neuroid={}) for name, side in sides.items()}
    data.write(folder / "inputs.npz", inputs)
    del features, target, sides, inputs
    with Worker("himalaya", progress=lambda line: print(line, file=sys.stderr)) as worker:
        worker.build(folder / "inputs.npz", "alpha_in_folds", {"splits": 1, "alphas": study.alphas, "cv": study.folds})
        called = worker.call()
        raw, versions = worker.answer()["raw"], worker.versions()
    apart = np.abs(raw - np.load(folder / "raw.npy")[:1])
    found = {"median": float(np.median(apart)), "largest": float(apart.max())}
    return {
        "seconds": study.folds * called.seconds,
        "peak_bytes": called.peak_bytes,
        "apart": found,
        "versions": versions,
    }


def operations(study: Study) -> tuple[float, float]:
    """Floating-point operations of a layer's Gram matrix, and of its solution for a subject.

    The solution is that of `bsjax.metrics.regression.penalties.nested_folds`: for each penalty one inverse, and within
    each outer fold the inverse and the right side of each inner one.

    Examples:
        >>> gram, solution = operations(Study())
        >>> round(gram / 1e12, 2), round(solution / 1e12, 1)
        (0.67, 8.0)
    """
    n, q, folds = study.stimuli, study.voxels, study.folds
    h = -(-n // folds)
    m = -(-(n - h) // folds)
    of_inner = 4 / 3 * m**3 + 2 * m * m * (h + q) + 2 * m * h * q
    of_outer = 4 / 3 * h**3 + 2 * h * h * (n + q)
    each = 4 / 3 * n**3 + 2 * n * n * q + folds * (of_outer + folds * of_inner)
    return 4 / 3 * n * n * study.features, study.penalties * each


_TASKS: dict[str, Callable[[Path, Study], dict[str, Any]]] = {"plan": planned, "run": scored, "peer": by_peer}


def measure(study: Study, folder: Path, tasks: Sequence[str]) -> dict[str, Any]:
    """The results of tasks, each in a process of its own, on files that are written if the folder has none."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "features.zarr").exists():
        write(folder, study)
    made: dict[str, Any] = {"row": "study", "title": study.title, "study": asdict(study)}
    for task in tasks:
        made[task] = _apart(task, study, folder)
    if "run" in tasks:
        gram, solution = operations(study)
        flops, found_rates = study.layers * (gram + study.subjects * solution), rates.apart()
        floor = flops / max(found_rates["gemm_flops_s"]["float32"].values())
        made |= {"rates": found_rates, "flops": flops, "floor_s": floor}
    return made | {"environment": report.environment()}


def _apart(task: str, study: Study, folder: Path) -> dict[str, Any]:
    """The result of a task in a process of its own, with an empty folder for what bsjax keeps, except its rates."""
    command = [sys.executable, "-m", __spec__.name, "--task", task, "--folder", str(folder), *arguments(study)]
    env = {**os.environ, "BSJAX_HOME": str(folder / f"home of {task}")}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=env)
    return json.loads(done.stdout.splitlines()[-1])


def kept_peer(study: Study) -> dict[str, Any]:
    """What the peer took in the newest kept run of this study that has it; empty if none has."""
    kept = [json.loads(path.read_text()) for path in report.RESULTS.glob("study-*.json")]
    same = [one for one in kept if one["study"] == asdict(study) and "peer" in one]
    return {"peer": max(same, key=lambda one: one["environment"]["when"])["peer"]} if same else {}


def arguments(study: Study) -> list[str]:
    """The command line of a study."""
    return [part for name, value in asdict(study).items() for part in (f"--{name}", str(value))]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks_perf.study", description=__doc__)
    for field in fields(Study):
        parser.add_argument(f"--{field.name}", type=int, default=field.default)
    parser.add_argument("--plan", action="store_true", help="predict only")
    parser.add_argument("--peer", action="store_true", help="have himalaya fit the same")
    parser.add_argument("--write", action="store_true", help="keep the result, with the last one of the peer")
    parser.add_argument("--folder", type=Path, help="of the files; by default a new one, which is removed")
    parser.add_argument("--task", choices=_TASKS, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    study = Study(**{field.name: getattr(asked, field.name) for field in fields(Study)})
    if asked.task:
        print(json.dumps(_TASKS[asked.task](asked.folder, study)))
        return
    tasks = ["plan"] if asked.plan else ["plan", "run", *(["peer"] if asked.peer else [])]
    with tempfile.TemporaryDirectory(prefix="study-") as folder:
        result = measure(study, asked.folder or Path(folder), tasks)
    print(json.dumps(result, indent=2))
    if asked.write:
        report.write("study", kept_peer(study) | result)


if __name__ == "__main__":
    main()
