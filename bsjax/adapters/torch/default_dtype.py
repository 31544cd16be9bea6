"""Temporary change of torch's default dtype, which is global to the process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bsjax.core.extras import import_extra

if TYPE_CHECKING:
    import torch


@contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    """Set the dtype of new tensors within a block.

    Args:
        dtype: a floating-point dtype.
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
