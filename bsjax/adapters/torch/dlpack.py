"""Arrays of torch in JAX without a copy, by DLPack."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax

if TYPE_CHECKING:
    import torch


def to_jax(tensor: torch.Tensor) -> jax.Array:
    """A JAX array of a tensor's values, on the tensor's device, by DLPack.

    The memory is shared, so the tensor must not be changed any more. On the CPU that needs memory that begins at a
    multiple of 64 bytes, as torch allocates it; the values of any other, such as a slice, are copied.

    Args:
        tensor: of any shape.

    Raises:
        ValueError: 64-bit values, while JAX is set to 32 bits and would round them.

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
