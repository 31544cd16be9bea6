"""Runs in brainscore-vision's own environment: reads a JSON request a line and answers each with a line.

It imports nothing of bsjax, whose requirements that environment does not hold.
"""

import json
import os
import platform
import sys
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np


def assembly(values, presentation, neuroid):
    """A NeuroidAssembly; the peer needs two coordinates on each dimension, as a lone one loses its name."""
    from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly

    coords = {name: ("presentation", labels) for name, labels in presentation.items()}
    coords.update({name: ("neuroid", labels) for name, labels in neuroid.items()})
    return NeuroidAssembly(values, coords=coords, dims=["presentation", "neuroid"])


class Worker:
    def __init__(self):
        self.source = self.target = self.scorer = self.folder = None

    def versions(self):
        packages = (
            "brainscore-vision",
            "brainscore-core",
            "numpy",
            "scipy",
            "scikit-learn",
            "xarray",
            "pandas",
        )
        return {"python": platform.python_version(), **{package: version(package) for package in packages}}

    def load(self, path):
        self.folder = Path(path).parent
        with np.load(path) as stored:
            arrays = dict(stored)
        stimuli = {name: arrays[name] for name in ("stimulus_id", "object_name")}
        self.source, self.target = (
            assembly(arrays[side], stimuli, {"neuroid_id": names, "neuroid_num": np.arange(len(names))})
            for side, names in (("source", arrays["source_id"]), ("target", arrays["target_id"]))
        )

    def metric(self, identifier):
        from brainscore_vision import load_metric

        self.scorer = load_metric(identifier)

    def call(self):
        start = time.perf_counter()
        score = self.scorer(self.source, self.target)
        seconds = time.perf_counter() - start
        raw = score.attrs["raw"].transpose("split", "neuroid")
        path = self.folder / "answer.npz"
        np.savez(path, score=float(score), error=float(score.attrs["error"]), raw=raw.values)
        return {"seconds": seconds, "path": str(path)}


def main():
    # What the peer prints must not mix with the answers: they keep the pipe, everything else goes to the log.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    worker = Worker()
    for line in sys.stdin:
        request = json.loads(line)
        answer = getattr(worker, request.pop("do"))(**request)
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
