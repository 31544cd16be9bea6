"""Networks of torchvision and timm."""

import numpy as np
import pytest
from PIL import Image

from bsjax.adapters import from_timm, from_torchvision

torch = pytest.importorskip("torch")


def tensors(shown, transform):
    return torch.stack([transform(Image.open(shown.get_stimulus(stimulus_id))) for stimulus_id in shown["stimulus_id"]])


def test_a_network_of_torchvision_sees_what_its_weights_were_trained_for(torchvision, stimuli):
    model = from_torchvision("resnet18", weights=None, seed=3)
    assert model.identifier == "resnet18" and model.layers()["layer4"] == (512, 7, 7)
    with torch.random.fork_rng():
        torch.manual_seed(3)
        network = torchvision.models.resnet18(weights=None).eval()
    shown = stimuli([0, 1])
    with torch.no_grad():
        wanted = network(tensors(shown, torchvision.models.ResNet18_Weights.DEFAULT.transforms()))
    np.testing.assert_allclose(model(shown, "output").values, wanted, rtol=1e-4, atol=1e-5)


def test_weights_that_are_not_there_are_said_in_one_line(torchvision, timm, no_network, capfd):
    with pytest.raises(FileNotFoundError) as error:
        from_torchvision("squeezenet1_1")
    file = "squeezenet1_1-b8a52dc0.pth"
    assert str(error.value).startswith(
        f"no weights of torchvision's squeezenet1_1 in {no_network}/torch/hub/checkpoints/{file} "
        f"and at https://download.pytorch.org/models/{file} ("
    )
    assert "\n" not in str(error.value)
    with pytest.raises(FileNotFoundError) as error:
        from_timm("resnet10t")
    assert str(error.value).startswith(
        f"no weights of timm's resnet10t in {no_network}/hub and at https://huggingface.co/timm/resnet10t.c3_in1k ("
    )
    assert "\n" not in str(error.value)


def test_a_transform_that_does_not_resize_is_refused(torchvision, stimuli, tmp_path):
    from bsjax.adapters.hubs.pretrained import transform_images

    images = [np.zeros((4, 5, 3), np.uint8), np.zeros((5, 5, 3), np.uint8)]
    with pytest.raises(ValueError, match=r"different shapes, \(3, 4, 5\), \(3, 5, 5\): resize first"):
        transform_images(images, torchvision.transforms.functional.to_tensor)
