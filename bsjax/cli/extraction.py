"""Options of the commands that extract activations."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from bsjax.data import StimulusSet

BatchSize = Annotated[
    int | None, typer.Option("--batch-size", metavar="N", min=1, help="Images in a batch. [default: the model's]")
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="Budget such as 2GB: batches and results are made to fit. [default: what is free]",
    ),
]
Reducer = Annotated[
    str | None,
    typer.Option(
        "--reducer",
        metavar="NAME[:N]",
        help="Make layers smaller: pca, sparse_random_projection, spatial_pooling, subsampling; :N says how small.",
    ),
]
ReducerImages = Annotated[
    Path | None, typer.Option("--reducer-images", metavar="DIR", help="Folder of images that pca is fitted on.")
]
Cached = Annotated[
    bool, typer.Option("--cache/--no-cache", help="Keep activations, and use those that are kept (`bsjax cache`).")
]


def extraction_options(
    batch_size: int | None, memory: str | None, reducer: str | None, reducer_images: Path | None, cache: bool
) -> dict[str, Any]:
    """What was given, as options of an extraction. Without a cache, it is switched off for the whole process.

    Raises:
        KeyError: no such reducer.
        ValueError: a size that is none, or images for a reducer that takes none.
        FileNotFoundError: the folder of images is not there, or empty.
    """
    options: dict[str, Any] = {}
    if not cache:  # also for the models that make a benchmark
        os.environ["RESULTCACHING_DISABLE"] = "1"
    if batch_size is not None:
        options["batch_size"] = batch_size
    if memory is not None:
        from bsjax.core.memory import parse_bytes

        options["memory"] = parse_bytes(memory)
    if reducer_images is not None and reducer is None:
        raise ValueError("--reducer-images needs a --reducer that is fitted on them: pca")
    if reducer is not None:
        from bsjax.activations import make_reducer

        settings = {} if reducer_images is None else {"stimuli": _images_in(reducer_images)}
        options["reducer"] = make_reducer(reducer, **settings)
    return options


def _images_in(folder: Path) -> StimulusSet:
    from PIL import Image

    from bsjax.core.left_behind import files_in
    from bsjax.data import StimulusSet

    if not folder.is_dir():
        raise FileNotFoundError(f"no folder of images at {folder}")
    known = Image.registered_extensions()
    paths = {path.name: path for path in files_in(folder) if path.suffix.lower() in known}
    if not paths:
        raise FileNotFoundError(f"no images in {folder}; expected files such as .png or .jpg")
    return StimulusSet({"stimulus_id": list(paths)}, identifier=folder.name, stimulus_paths=paths)
