"""Random weights in the place of those that published models fetch.

:func:`no_weights_are_fetched` replaces what fetches and reads weights, of torch and of the libraries around it, for the
rest of the process.
"""

from __future__ import annotations

import urllib.request
from collections import OrderedDict
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch


class Anything(OrderedDict):
    """What a file of weights may hold: whatever is asked for is there, and empty."""

    def __missing__(self, key: object) -> Anything:
        return Anything()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return Anything()


def no_weights_are_fetched(folder: Path) -> None:
    """Have every loader of weights give :class:`Anything`, and have networks leave it alone.

    Args:
        folder: where files are made that are fetched without a place of their own.
    """

    def made(path: object) -> Path:
        found = Path(str(path))
        found.parent.mkdir(parents=True, exist_ok=True)
        found.touch()
        return found

    def anything(*args: Any, **kwargs: Any) -> Anything:
        return Anything()

    def loaded(*args: Any, **kwargs: Any) -> Any:
        return torch.nn.modules.module._IncompatibleKeys([], [])

    def to_place(url: object = None, place: object = None, *args: Any, **kwargs: Any) -> str:
        return str(made(place or kwargs.get("output") or folder / "fetched"))

    def of_torchvision(repository: str, name: str, *args: Any, **kwargs: Any) -> Any:
        if not repository.startswith("pytorch/vision"):
            raise FileNotFoundError(f"{repository} cannot be fetched here")
        return getattr(import_module("torchvision.models"), name)()

    _replace("torch", "load", anything)
    torch.hub.load = of_torchvision
    torch.nn.Module.load_state_dict = loaded
    torch.hub.load_state_dict_from_url = anything
    torch.hub.download_url_to_file = to_place
    urllib.request.urlretrieve = lambda *args, **kwargs: (to_place(*args, **kwargs), None)
    _replace("torchvision.models._api", "WeightsEnum.get_state_dict", anything)
    _replace("timm.models._builder", "load_pretrained", lambda *args, **kwargs: None)
    _replace("huggingface_hub", "hf_hub_download", lambda *args, **kwargs: str(made(folder / "weights")))
    _replace("huggingface_hub", "snapshot_download", lambda *args, **kwargs: str(folder))
    _replace("safetensors.torch", "load_file", anything)
    _replace("gdown", "download", to_place)
    _replace("wget", "download", to_place)
    _replace(
        "bsjax.data.remote.bucket_files",
        "fetch_files",
        lambda remotes, progress=None, paths=None: [made(path) for path in paths],
    )


def _replace(module: str, name: str, by: Callable[..., Any]) -> None:
    if find_spec(module.partition(".")[0]) is None:
        return
    *holders, last = name.split(".")
    place: Any = import_module(module)
    for holder in holders:
        place = getattr(place, holder)
    setattr(place, last, by)
