"""A study of fMRI, from its files to scores per voxel in a store: ``python -m benchmarks_perf.study``.

The features of a layer are an array of a zarr group, the trials of a subject a netCDF file. The layer is a model of
stored activations, the subject a `NeuralBenchmark` with a penalty for every voxel, chosen on folds within folds, and
the noise ceiling of every voxel. One process plans the study, and another, without any compiled program, runs it.

Shown are the seconds of the run; the most memory of its process, everything included; both as the plan predicted them;
and the arithmetic that the Gram matrix and the solution take, by the rate of matrix products. ``--peer`` has himalaya
fit the same, on the first of the same outer folds; its seconds count as often as there are folds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks_perf import data, page, rates, report

_REGION, _LAYER, _TIMES = "V4", "layer", [(0, 4000)]
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

    @property
    def title(self) -> str:
        """The sizes in words."""
        shown = f"{self.repetitions} x {self.stimuli:,} images"
        return f"1 x {self.voxels:,} voxels, {shown}, 1 x {self.features:,} features"

    @property
    def alphas(self) -> list[float]:
        """The penalties, from 1e2 to 1e7."""
        return np.logspace(2, 7, self.penalties).tolist()


def write(folder: Path, study: Study) -> None:
    """Writes ``features.zarr`` and ``subject.nc``: images, features and voxels share latents."""
    import zarr

    from bsjax.data import NeuroidAssembly, write_netcdf

    rng = np.random.default_rng(0)
    k, rows = min(_LATENTS, study.stimuli), min(_ROWS, study.stimuli)
    latents = (rng.standard_normal((study.stimuli, k)) / np.sqrt(np.arange(1, k + 1))).astype("float32")
    names = [f"image{number}" for number in range(study.stimuli)]
    group, shape = zarr.create_group(folder / "features.zarr", attributes={"stimulus_ids": names}), study.features
    array = group.create_array(_LAYER, shape=(study.stimuli, shape), dtype="float32", chunks=(rows, shape))
    loadings = rng.standard_normal((k, study.features), "float32")
    for start in range(0, study.stimuli, rows):
        part = latents[start : start + rows]
        noise = rng.standard_normal((len(part), study.features), "float32")
        array[start : start + rows] = np.maximum(part @ loadings + noise / 2, 0)
    signal = latents @ rng.standard_normal((k, study.voxels), "float32")
    level = np.linspace(0.5, 8, study.voxels, dtype="float32")
    trials = [signal + level * rng.standard_normal(signal.shape, "float32") for _ in range(study.repetitions)]
    repetition = np.repeat(np.arange(study.repetitions), study.stimuli)
    shown = {"stimulus_id": names * study.repetitions, "repetition": repetition}
    voxels = {"neuroid_id": [f"voxel{number}" for number in range(study.voxels)], "region": [_REGION] * study.voxels}
    assembly = data.labelled(np.concatenate(trials), presentation=shown, neuroid=voxels)
    write_netcdf(
        NeuroidAssembly(assembly.values, assembly.coords, assembly.dims), folder / "subject.nc", compress=False
    )


def trials_of(folder: Path) -> Any:
    """The trials of the subject, with the images that they are responses to."""
    from bsjax import StimulusSet
    from bsjax.data import attach_stimulus_set, read_assembly

    trials = read_assembly(folder / "subject.nc", "NeuroidAssembly")
    return attach_stimulus_set(trials, StimulusSet({"stimulus_id": np.unique(trials["stimulus_id"].values)}))


def model_and_benchmark(folder: Path, study: Study) -> tuple[Any, Any]:
    """The layer as a model, and the subject as a benchmark."""
    from bsjax import ModelCommitment, load_ceiling
    from bsjax.adapters import from_stored
    from bsjax.benchmarks import Ceiling, NeuralBenchmark

    trials, of_voxels = partial(trials_of, folder), "neuroid_wise_explained_variance"
    ceiling = Ceiling(load_ceiling("noise_ceiling_snr", dtype="float32"), trials)
    how = {"ceiling_func": ceiling, "normalisation": of_voxels, "region": _REGION, "time_bins": _TIMES}
    benchmark = NeuralBenchmark("Study-subject", trials, metric_of(study), **how)
    stored = from_stored(folder / "features.zarr")
    return ModelCommitment("study", stored, region_layer_map={_REGION: _LAYER}), benchmark


def metric_of(study: Study) -> Any:
    """Ridge regression in folds, with a penalty for each voxel that is chosen on folds of the training images."""
    from bsjax import load_metric

    folds = {"splits": study.folds, "kfold": True, "stratification_coord": None}
    how = {"alphas": study.alphas, "alpha_per_target": True, "cv": study.folds, "dtype": "float32"}
    return load_metric("ridgecv", crossvalidation_kwargs=folds, **how)


def planned(folder: Path, study: Study) -> dict[str, Any]:
    """What the plan predicts before the study is run: seconds, and the most bytes of its process."""
    import bsjax

    model, benchmark = model_and_benchmark(folder, study)
    plan = bsjax.plan([model], [benchmark], store=folder / "plan.db")
    print(plan, file=sys.stderr)
    return {"seconds": plan.seconds, "peak_bytes": plan.memory}


def scored(folder: Path, study: Study) -> dict[str, Any]:
    """Runs the study: its seconds, the most bytes of its process, and the score."""
    import bsjax
    from bsjax.core.memory import peak_held

    model, benchmark = model_and_benchmark(folder, study)
    start = time.perf_counter()
    grid = bsjax.score_grid([model], [benchmark], store=folder / "results.db", again=True)
    seconds, peak = time.perf_counter() - start, peak_held()
    if failed := [done.error_line for done in grid.done if done.error is not None]:
        raise RuntimeError(failed[0])
    score: Any = grid.score(model.identifier, benchmark.identifier)
    np.save(folder / "raw.npy", score.unceiled.raw.values)
    return {"seconds": seconds, "peak_bytes": peak, "score": float(score), "per_voxel": dict(score.unceiled.raw.sizes)}


def by_peer(folder: Path, study: Study) -> dict[str, Any]:
    """The seconds of himalaya, and how far its correlations are from ours."""
    import zarr

    from benchmarks_perf.workers.client import Worker
    from bsjax.data import average_repetition

    group: Any = zarr.open_group(folder / "features.zarr", mode="r")
    target = average_repetition(trials_of(folder))
    order = [int(name.removeprefix("image")) for name in target["stimulus_id"].values]
    fold = np.empty(study.stimuli, int)
    for number, (_, test) in enumerate(metric_of(study).folds_of(target)):
        fold[test] = number
    sides = {"source": group[_LAYER][:][order], "target": target.values}
    inputs = {name: data.labelled(side, presentation={"fold": fold}, neuroid={}) for name, side in sides.items()}
    data.write(folder / "inputs.npz", inputs)
    del target, sides, inputs
    with Worker("himalaya", progress=lambda line: print(line, file=sys.stderr)) as worker:
        worker.build(folder / "inputs.npz", "alpha_in_folds", {"splits": 1, "alphas": study.alphas, "cv": study.folds})
        called = worker.call()
        raw, versions = worker.answer()["raw"], worker.versions()
    apart = np.abs(raw - np.load(folder / "raw.npy")[0])
    found = {"median": float(np.median(apart)), "largest": float(apart.max())}
    return {"seconds": study.folds * called.seconds, "apart": found, "versions": versions}


def operations(study: Study) -> tuple[float, float]:
    """Floating-point operations of the Gram matrix, and of the solution.

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


def measure(study: Study, folder: Path, with_peer: bool) -> dict[str, Any]:
    """The results of tasks, each in a process of its own, on files that are written if the folder has none."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "features.zarr").exists():
        write(folder, study)
    made: dict[str, Any] = {"row": "study", "title": study.title, "study": asdict(study)}
    for task in ("plan", "run", "peer") if with_peer else ("plan", "run"):
        made[task] = _apart(task, study, folder)
    flops, found_rates = sum(operations(study)), rates.apart()
    floor = flops / max(found_rates["gemm_flops_s"]["float32"].values())
    return made | {"rates": found_rates, "flops": flops, "floor_s": floor, "environment": report.environment()}


def _apart(task: str, study: Study, folder: Path) -> dict[str, Any]:
    """The result of a task in a process of its own, with an empty folder for what bsjax keeps, except its rates."""
    sizes = [part for name, value in asdict(study).items() for part in (f"--{name}", str(value))]
    command = [sys.executable, "-m", __spec__.name, "--task", task, "--folder", str(folder), *sizes]
    env = {**os.environ, "BSJAX_HOME": str(folder / f"home of {task}")}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=env)
    return json.loads(done.stdout.splitlines()[-1])


def kept_peer(study: Study) -> dict[str, Any]:
    """What the peer took in the newest kept run of this study that has it; empty if none has."""
    same = [one for one in page.kept(report.RESULTS) if "peer" in one and one["study"].items() >= asdict(study).items()]
    return {"peer": same[-1]["peer"]} if same else {}


def main() -> None:
    tasks: dict[str, Callable[[Path, Study], dict[str, Any]]] = {"plan": planned, "run": scored, "peer": by_peer}
    parser = argparse.ArgumentParser(prog="python -m benchmarks_perf.study", description=__doc__)
    for field in fields(Study):
        parser.add_argument(f"--{field.name}", type=int, default=field.default)
    parser.add_argument("--peer", action="store_true", help="have himalaya fit the same")
    parser.add_argument("--write", action="store_true", help="keep the result, with the last one of the peer")
    parser.add_argument("--folder", type=Path, help="of the files; by default a new one, which is removed")
    parser.add_argument("--task", choices=tasks, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    study = Study(**{field.name: getattr(asked, field.name) for field in fields(Study)})
    if asked.task:
        print(json.dumps(tasks[asked.task](asked.folder, study)))
        return
    with tempfile.TemporaryDirectory(prefix="study-") as folder:
        result = measure(study, asked.folder or Path(folder), asked.peer)
    print(json.dumps(result, indent=2))
    if asked.write:
        report.write("study", kept_peer(study) | result)


if __name__ == "__main__":
    main()
