"""An experiment as a lab has it: images in a folder, a table of them, and the responses to them."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from PIL import Image

from bsjax.data import BehavioralAssembly, NeuroidAssembly, StimulusSet

IDS = [f"im_{number}" for number in range(1, 7)]


def stimuli(folder: Path) -> StimulusSet:
    """Six images, in a folder of their own."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {}
    for number, stimulus_id in enumerate(IDS):
        colours = np.random.default_rng(number).integers(0, 256, (12, 16, 3), dtype=np.uint8)
        paths[stimulus_id] = folder / f"picture {number}.png"
        Image.fromarray(colours).save(paths[stimulus_id])
    table = {"stimulus_id": IDS, "category": ["face", "object"] * 3, "size": [1.5, 2, 2.5, 3, 3.5, 4]}
    return StimulusSet(table, identifier="Doe2024", stimulus_paths=paths)


def recordings(repetitions: int = 3, neuroids: int = 5, noise: float = 0.3) -> NeuroidAssembly:
    """Responses of neuroids in two regions to those images, each shown several times."""
    rng = np.random.default_rng(0)
    signal = rng.standard_normal((len(IDS), neuroids))
    values = np.concatenate([signal + noise * rng.standard_normal(signal.shape) for _ in range(repetitions)])
    return NeuroidAssembly(
        values,
        dims=["presentation", "neuroid"],
        coords={
            "stimulus_id": ("presentation", IDS * repetitions),
            "repetition": ("presentation", np.repeat(np.arange(repetitions), len(IDS))),
            "neuroid_id": ("neuroid", [f"n{number}" for number in range(neuroids)]),
            "region": ("neuroid", ["V4", "IT", "IT", "V4", "IT"][:neuroids]),
            "time_bin_start": 70,
            "time_bin_end": 170,
        },
        attrs={"source": "an experiment that nobody made"},
    )


def choices() -> BehavioralAssembly:
    """What two people said that they saw."""
    said = np.array(["face", "object"] * 6)
    coords = {"stimulus_id": ("presentation", IDS * 2), "subject": ("presentation", ["s1"] * 6 + ["s2"] * 6)}
    return BehavioralAssembly(said, dims=["presentation"], coords=coords)


def film(path: Path, levels: Iterable[int] = (0, 20, 40)) -> Path:
    """A film of grey pictures of these levels, ten a second."""
    import av

    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=10)
        stream.width = stream.height = 32
        stream.pix_fmt = "yuv420p"
        stream.gop_size = 5
        for level in levels:
            grey = np.full((32, 32, 3), level, np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(grey, format="rgb24")))
        container.mux(stream.encode())
    return path
