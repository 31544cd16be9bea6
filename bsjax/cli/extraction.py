"""Common options of commands that extract activations."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from bsjax.data import StimulusSet

BatchSize = Annotated[
    int | None, typer.Option("--batch-size", metavar="N", min=1, help="Batch size in images. [default: the model's]")
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="Memory budget for batches and results, such as 2GB. [default: the free memory]",
    ),
]
Data = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Folder of the recordings, for benchmarks that need one.")
]
Reducer = Annotated[
    str | None,
    typer.Option(
        "--reducer",
        metavar="NAME[:N]",
        help="Reduce the features of layers by pca, sparse_random_projection, spatial_pooling or subsampling; :N gives "
        "the size.",
    ),
]
ReducerImages = Annotated[
    Path | None, typer.Option("--reducer-images", metavar="DIR", help="Folder of images on which pca is fitted.")
]
Cached = Annotated[
    bool, typer.Option("--cache/--no-cache", help="Cache activations, and use cached ones (`bsjax cache`).")
]


def extraction_options(
    batch_size: int | None, memory: str | None, reducer: str | None, reducer_images: Path | None, cache: bool
) -> dict[str, Any]:
    """Convert the given options to those of an extraction. ``--no-cache`` disables the cache for the whole process.

    Raises:
        KeyError: there is no such reducer.
        ValueError: a size is invalid, or images are given for a reducer that does not use them.
        FileNotFoundError: the folder of images does not exist or is empty.
    """
    options: dict[str, Any] = {}
    if not cache:  # in the environment, since models that benchmarks load must obey it too
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
