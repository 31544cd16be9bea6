"""From torch to JAX."""

import jax
import numpy as np
import pytest

from bsjax.adapters.torch.dlpack import to_jax

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_memory_is_shared(dtype):
    tensor = torch.arange(128, dtype=dtype).reshape(8, 16)
    assert tensor.data_ptr() % 64 == 0
    array = to_jax(tensor)
    assert array.unsafe_buffer_pointer() == tensor.data_ptr()
    np.testing.assert_array_equal(np.asarray(array, np.float32), tensor.float().numpy())


@pytest.mark.parametrize(
    "slice_of", [lambda x: x[1:], lambda x: x[:, ::2], lambda x: x.T, lambda x: x.requires_grad_()]
)
def test_what_lies_elsewhere_in_memory_has_the_same_values(slice_of):
    tensor = slice_of(torch.arange(21.0).reshape(3, 7))
    np.testing.assert_array_equal(to_jax(tensor), tensor.detach().numpy())


@pytest.mark.parametrize("dtype", [torch.float64, torch.int64])
def test_nothing_is_rounded_silently(dtype):
    tensor = torch.ones(4, dtype=dtype)
    with pytest.raises(ValueError, match=f"would round this tensor of {str(dtype)[6:]} to .*32: convert it"):
        to_jax(tensor)
    with jax.enable_x64(True):
        assert to_jax(tensor).dtype.itemsize == 8
