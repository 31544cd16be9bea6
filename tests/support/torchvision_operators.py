"""torchvision on a torch that lacks its operators."""

import importlib.util
from functools import cache
from typing import Any


@cache  # the library is kept: its operators go with it
def define_operators() -> Any:
    """Define the two operators that torchvision looks for when it is imported, if the installed one has none.

    timm and transformers import torchvision where it is installed. Its operators are made for one build of torch; the
    networks and transforms need none of them.
    """
    if importlib.util.find_spec("torch") is None or importlib.util.find_spec("torchvision") is None:
        return None
    try:
        import torchvision  # noqa: F401

        return None
    except RuntimeError:
        import torch

        library = torch.library.Library("torchvision", "FRAGMENT")
        for operator in ("nms", "qnms"):
            library.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        return library
