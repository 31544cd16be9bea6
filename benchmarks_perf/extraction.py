"""What an extraction costs beside a plain loop in torch: ``python -m benchmarks_perf.extraction``.

Images of 224 x 224 pixels, half of them PNG and half JPEG, are shown to a network of ResNet-18's shape with random
weights. bsjax stores the layers in an empty cache. The plain loop has forward hooks and a ``DataLoader`` of two
processes, and appends the outputs of every batch to one ``.npy`` file for each layer. Both use batches of 64, and
their layers must agree. They take turns, each in a process of its own, with imports done and the network built.

Shown are medians: seconds; seconds of processors; the most memory of the process and its children, shared pages
divided among them; and the ratio of the two in each pair. thingsvision is not measured: version 2.7 requires
torchvision 0.15, NumPy 1 and TensorFlow.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import torch
from PIL import Image
from sklearn.random_projection import SparseRandomProjection as SklearnProjection
from torch import nn
from torch.utils.data import DataLoader, Dataset

Run = Callable[[], dict[str, Any]]
LAYERS = {"large": ("layer1", "layer2", "layer3", "layer4"), "small": ("layer4",)}
VARIANTS = {f"{layers} {how}".strip(): (layers, how) for layers in LAYERS for how in ("", "pooled", "projected")}
_BATCH, _COMPONENTS = 64, 4000
_MEAN, _STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
_SECONDS_BETWEEN_SAMPLES = 0.05


class Block(nn.Module):
    """Two convolutions beside a shortcut."""

    def __init__(self, n_in: int, n_out: int) -> None:
        super().__init__()
        stride = 1 if n_in == n_out else 2
        self.conv1 = nn.Conv2d(n_in, n_out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(n_out)
        self.conv2 = nn.Conv2d(n_out, n_out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(n_out)
        self.relu = nn.ReLU(inplace=True)
        shortcut = nn.Sequential(nn.Conv2d(n_in, n_out, 1, stride, bias=False), nn.BatchNorm2d(n_out))
        self.shortcut = nn.Identity() if stride == 1 else shortcut

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        return self.relu(y + self.shortcut(x))


class ResNet18(nn.Module):
    """A network of ResNet-18's shape."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
        )
        sizes = (64, 64, 128, 256, 512)
        self.layer1, self.layer2, self.layer3, self.layer4 = (
            nn.Sequential(Block(n_in, n_out), Block(n_out, n_out))
            for n_in, n_out in zip(sizes, sizes[1:], strict=False)
        )
        self.fc = nn.Linear(512, 1000)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.layer4(self.layer3(self.layer2(self.layer1(self.stem(x)))))
        return self.fc(x.mean((2, 3)))


class Images(Dataset[torch.Tensor]):
    """Decoded and standardised images for the plain loop."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths

    def __len__(self) -> int:
        return len(self._paths)

    def __getitem__(self, number: int) -> torch.Tensor:
        pixels = torch.from_numpy(np.array(Image.open(self._paths[number]).convert("RGB")))
        mean, std = (torch.tensor(values)[:, None, None] for values in (_MEAN, _STD))
        return pixels.permute(2, 0, 1).contiguous().float().div_(255).sub_(mean).div_(std)


@dataclass(frozen=True)
class Cost:
    """What one run costs: seconds, seconds of processors, and the most bytes of memory."""

    seconds: float
    cpu_seconds: float
    peak_bytes: int


def _bsjax(network: nn.Module, paths: Sequence[Path], place: Path, layers: Sequence[str], how: str) -> Run:
    from bsjax import StimulusSet
    from bsjax.activations import ActivationCache, SparseRandomProjection, SpatialPooling
    from bsjax.adapters import from_torch
    from bsjax.core.identity.source import OF_ACTIVATIONS, own_source

    own_source(*OF_ACTIVATIONS)  # which an installed bsjax has in a file
    reducer = {"": None, "pooled": SpatialPooling(1), "projected": SparseRandomProjection(_COMPONENTS)}[how]

    def run() -> dict[str, Any]:
        names = [path.name for path in paths]
        stimuli = StimulusSet({"stimulus_id": names}, stimulus_paths=dict(zip(names, paths, strict=True)))
        cache = ActivationCache(place)
        model = from_torch(network, "resnet18", device="cpu", batch_size=_BATCH, cache=cache, reducer=reducer)
        return {layer: found.values for layer, found in model.by_layer(stimuli, layers).items()}

    return run


def _plain(network: nn.Module, paths: Sequence[Path], place: Path, layers: Sequence[str], how: str) -> Run:
    def run() -> dict[str, Any]:
        seen: dict[str, torch.Tensor] = {}
        for layer in layers:
            network.get_submodule(layer).register_forward_hook(
                lambda _module, _inputs, output, layer=layer: seen.update({layer: output})
            )
        network.eval()
        reductions: dict[str, Callable[[np.ndarray], np.ndarray]] = {}
        files = {layer: open(place / f"{layer}.npy", "wb") for layer in layers}
        with torch.no_grad():
            for batch in DataLoader(Images(paths), batch_size=_BATCH, num_workers=2):
                network(batch)
                for layer, output in seen.items():
                    values = output.flatten(1).numpy() if how != "pooled" else output.mean((2, 3)).numpy()
                    if how == "projected":
                        if layer not in reductions:
                            reductions[layer] = _projection(values.shape[1])
                        values = reductions[layer](values)
                    if not files[layer].tell():
                        header = {"descr": "<f4", "fortran_order": False, "shape": (len(paths), values.shape[1])}
                        np.lib.format.write_array_header_1_0(files[layer], header)
                    files[layer].write(np.ascontiguousarray(values).data.cast("B"))
        for file in files.values():
            file.close()
        return {layer: np.load(place / f"{layer}.npy", mmap_mode="r") for layer in layers}

    return run


def _projection(n_units: int) -> Callable[[np.ndarray], np.ndarray]:
    row = np.broadcast_to(np.float32(0), (1, n_units))
    n_components: Any = _COMPONENTS  # the argument is typed by its default, "auto"
    weights = SklearnProjection(n_components, random_state=0).fit(row).components_.astype(np.float32)
    return lambda values: (weights @ values.T).T


CONTESTANTS = {"bsjax": _bsjax, "plain loop": _plain}


def _contest(name: str, variant: str, folder: Path, place: Path, answer: Any) -> None:
    """Run one contestant, and send its seconds, those of processors, and some values of every layer."""
    os.environ["BSJAX_HOME"] = str(place / "home")
    torch.manual_seed(0)
    network, paths = ResNet18(), sorted(folder.iterdir())
    layers, how = VARIANTS[variant]
    (place / "layers").mkdir(parents=True)
    contest = CONTESTANTS[name](network, paths, place / "layers", LAYERS[layers], how)
    before, begun = sum(os.times()[:4]), time.perf_counter()
    found = contest()
    seconds = time.perf_counter() - begun
    cpu = sum(os.times()[:4]) - before
    answer.send((seconds, cpu, np.concatenate([np.asarray(found[layer][::17, :50]) for layer in LAYERS[layers]])))


def run(name: str, variant: str, folder: Path) -> tuple[Cost, np.ndarray]:
    """One contestant in a process of its own: its cost, and some values of every layer.

    Args:
        name: of a contestant.
        variant: one of ``VARIANTS``.
        folder: of the images.

    Raises:
        RuntimeError: the process failed.
    """
    spawned = multiprocessing.get_context("spawn")
    ours, theirs = spawned.Pipe()
    with tempfile.TemporaryDirectory(prefix="extraction-") as place:
        process = spawned.Process(target=_contest, args=(name, variant, folder, Path(place), theirs))
        process.start()
        theirs.close()
        peak = 0
        while process.is_alive():
            peak = max(peak, _held(process.pid))
            process.join(_SECONDS_BETWEEN_SAMPLES)
        try:
            seconds, cpu, values = ours.recv()
        except EOFError:
            raise RuntimeError(f"{name} failed with exit code {process.exitcode}") from None
    return Cost(seconds, cpu, peak), values


def _held(pid: int | None) -> int:
    """Bytes of a process and its children, shared pages divided among them."""
    try:
        process = psutil.Process(pid)
        return sum(each.memory_full_info().pss for each in [process, *process.children(recursive=True)])
    except psutil.Error:  # one of them has just ended
        return 0


def measure(variant: str, folder: Path, pairs: int) -> dict[str, list[Cost]]:
    """Costs of the contestants, which take turns.

    Raises:
        ValueError: they do not agree.
    """
    costs: dict[str, list[Cost]] = {name: [] for name in CONTESTANTS}
    for turn in range(pairs):
        values = {}
        for name in list(CONTESTANTS)[:: 1 if turn % 2 else -1]:
            cost, values[name] = run(name, variant, folder)
            costs[name].append(cost)
        one, other = values.values()
        if not np.allclose(one, other, rtol=1e-3, atol=1e-3 * np.abs(one).max()):
            raise ValueError(f"{variant}: {' and '.join(values)} differ by {np.abs(one - other).max()}")
    return costs


def write_images(folder: Path, n: int) -> None:
    """Write smooth random images with some noise, half of them PNG and half JPEG."""
    rng = np.random.default_rng(0)
    for number in range(n):
        coarse = Image.fromarray(rng.integers(0, 256, (14, 14, 3), np.uint8)).resize((224, 224))
        pixels = np.asarray(coarse, np.float32) + rng.normal(0, 4, (224, 224, 3))
        image = Image.fromarray(pixels.clip(0, 255).astype(np.uint8))
        image.save(folder / f"{number:04d}.{'png' if number % 2 else 'jpg'}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks_perf.extraction", description=__doc__)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--images", type=int, default=300)
    parser.add_argument("--variants", default=",".join(VARIANTS), help="separated by commas")
    asked = parser.parse_args()
    print(f"{'layers':16}{'by':12}{'seconds':>9}{'processors':>12}{'memory':>10}")
    with tempfile.TemporaryDirectory() as folder:
        write_images(Path(folder), asked.images)
        for variant in asked.variants.split(","):
            costs = measure(variant, Path(folder), asked.pairs)
            for name, each in costs.items():
                seconds, cpu = (
                    statistics.median(getattr(cost, of) for cost in each) for of in ("seconds", "cpu_seconds")
                )
                peak = statistics.median(cost.peak_bytes for cost in each)
                print(f"{variant:16}{name:12}{seconds:7.2f} s{cpu:10.2f} s{peak / 1e6:7.0f} MB", flush=True)
            ours, plain = costs.values()
            pairs = [*zip(ours, plain, strict=True)]
            seconds = statistics.median(one.seconds / other.seconds for one, other in pairs)
            cpu = statistics.median(one.cpu_seconds / other.cpu_seconds for one, other in pairs)
            peak = statistics.median(one.peak_bytes - other.peak_bytes for one, other in pairs)
            print(f"{variant:16}{'ratio':12}{seconds:7.2f}  {cpu:10.2f}  {peak / 1e6:+7.0f} MB", flush=True)


if __name__ == "__main__":
    main()
