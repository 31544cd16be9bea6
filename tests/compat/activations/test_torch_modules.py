"""What wrappers of torch modules share."""

import numpy as np
import pytest

from bsjax.compat.activations import pytorch as images
from bsjax.compat.activations.temporal import pytorch as videos

torch = pytest.importorskip("torch")


@pytest.fixture
def module():
    return torch.nn.Sequential(torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU(inplace=True)))


@pytest.fixture(params=["images", "videos"])
def wrapper(request, module):
    if request.param == "images":
        return images.PytorchWrapper(module, None, "net")
    return videos.PytorchWrapper("net", module, None, fps=1, layer_activation_format={"0.0": "C"})


def test_layers_come_in_the_order_in_which_a_module_at_test_computes_them(wrapper, module):
    found = wrapper.get_activations([torch.tensor([1.0, 2.0, 3.0])], ["logits", "0.0"])
    assert [*found] == ["0.0", "logits"] and not module.training
    np.testing.assert_array_equal(found["logits"], np.maximum(found["0.0"], 0))
    assert repr(wrapper) == repr(module)


def test_nothing_stays_on_a_module_after_an_error(wrapper, module):
    with pytest.raises(ValueError, match="'net' has no layer '0.last': 'last' is not among 0, 1"):
        wrapper.get_activations([torch.zeros(3)], ["0.0", "0.last"])
    assert not module[0][0]._forward_hooks
