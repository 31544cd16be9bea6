"""The dtype of tensors that name none, which torch has one of for the whole process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bsjax.core.extras import import_extra

if TYPE_CHECKING:
    import torch


@contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    """Inside, tensors that name no dtype have this one.

    Args:
        dtype: a floating-point one.
    """
    torch = import_extra("torch", "torch")
    before = torch.get_default_dtype()
    if before != dtype:
        torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        if before != dtype:
            torch.set_default_dtype(before)
