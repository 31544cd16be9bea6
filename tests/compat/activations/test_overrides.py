"""Identities of plugins' wrappers: what is theirs counts, beside what bsjax's classes do."""

from functools import partial

import pytest

from bsjax.compat.activations.extractor import ActivationsExtractorHelper
from bsjax.compat.activations.images import load_preprocess_images
from bsjax.compat.activations.temporal.pytorch import PytorchWrapper as WrapperOfVideos
from bsjax.core.identity.values import identity_of

torch = pytest.importorskip("torch")


def test_a_function_that_bsjax_made_is_known_by_what_it_was_made_with():
    parts = [identity_of(partial(load_preprocess_images, image_size=size)) for size in (32, 64, 32)]
    assert parts[0] == parts[2] != parts[1]


def images_of(bias):
    from bsjax.compat.activations.pytorch import PytorchWrapper

    return PytorchWrapper(network(torch.nn.Conv2d, bias), partial(load_preprocess_images, image_size=8), "net")


def videos_of(bias, cls=WrapperOfVideos):
    return cls("net", network(torch.nn.Conv3d, bias), tensor, fps=10, layer_activation_format={"0": "CTHW"})


def network(kind, bias):
    torch.manual_seed(0)
    module = torch.nn.Sequential(kind(3, 2, 3))
    module[0].bias.data += bias
    return module


def tensor(video):
    return torch.as_tensor(video.set_size((8, 8)).to_numpy() / 255).permute(3, 0, 1, 2).float()


def test_a_method_of_a_wrapper_is_known_by_its_weights():
    models = [ActivationsExtractorHelper(images_of(bias).get_activations, None, "net") for bias in (0, 1)]
    assert models[0].recipe_digest() != models[1].recipe_digest()


@pytest.mark.slow
def test_a_subclass_is_known_by_its_own_code():
    class Halved(WrapperOfVideos):
        def forward(self, inputs):
            return super().forward([each / 2 for each in inputs])

    class Doubled(WrapperOfVideos):
        def forward(self, inputs):
            return super().forward([each * 2 for each in inputs])

    digests = [videos_of(0, cls).recipe_digest() for cls in (WrapperOfVideos, Halved, Doubled)]
    assert None not in digests and len({*digests}) == 3
    assert videos_of(0, Halved).recipe_digest() == digests[1] != videos_of(1, Halved).recipe_digest()


@pytest.mark.slow
def test_a_subclass_is_known_by_what_it_holds():
    from bsjax.compat.activations.pytorch import PytorchWrapper

    class Scaled(PytorchWrapper):
        def __init__(self, scale):
            self.scale = scale
            super().__init__(network(torch.nn.Conv2d, 0), partial(load_preprocess_images, image_size=8), "net")

        def get_activations(self, images, layer_names):
            found = super().get_activations(images, layer_names)
            return {name: self.scale * each for name, each in found.items()}

    digests = [Scaled(scale)._extractor.recipe_digest() for scale in (1, 2, 2)]
    assert None not in digests and digests[0] != digests[1] == digests[2]
    plain, sized, patched = (images_of(0) for _ in range(3))
    sized.image_size = 8  # for others to read
    patched.get_layer = lambda name: patched._model[0]
    digests = [wrapper._extractor.recipe_digest() for wrapper in (plain, sized, patched)]
    assert digests[0] == digests[1] != digests[2]
