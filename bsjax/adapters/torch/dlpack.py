"""Conversion of torch tensors to JAX arrays without a copy, through DLPack."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax

if TYPE_CHECKING:
    import torch


def to_jax(tensor: torch.Tensor) -> jax.Array:
    """Convert a tensor to a JAX array on the same device, through DLPack.

    The memory is shared, so the tensor must not be changed afterwards. On the CPU, sharing requires memory aligned to
    64 bytes, as torch allocates it; other values, such as those of a slice, are copied.

    Args:
        tensor: of any shape.

    Raises:
        ValueError: the tensor has 64-bit values, but JAX is set to 32 bits and would round them.

    Example:
        >>> import torch
        >>> to_jax(torch.ones(2, 3)).shape
        (2, 3)
    """
    array = jax.dlpack.from_dlpack(tensor.detach().contiguous())
    if array.dtype.itemsize != tensor.element_size():
        raise ValueError(
            f"JAX would round this tensor of {str(tensor.dtype).removeprefix('torch.')} to {array.dtype}: convert it, "
            'e.g. tensor.float(), or call jax.config.update("jax_enable_x64", True)'
        )
    return array
