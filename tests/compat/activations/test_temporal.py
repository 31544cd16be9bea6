"""Wrappers of networks that see videos."""

from collections import OrderedDict

import numpy as np
import pytest
from PIL import Image

from bsjax import ModelCommitment, StimulusSet
from bsjax.activations import SpatialPooling
from bsjax.compat.activations.temporal import extractor
from bsjax.compat.activations.temporal.pytorch import PytorchWrapper
from bsjax.compat.activations.temporal.wrappers import ActivationWrapper, get_specified_layers
from bsjax.compat.activations.video import Video

pytest.importorskip("av")
torch = pytest.importorskip("torch")

FPS = 10
FORMATS = {"conv": "CTHW", "pool": "CTHW", "head": "C"}


class Net(torch.nn.Module):
    """Two convolutions over space and time, the second in steps of two frames, and a linear answer to the whole."""

    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv3d(3, 2, 3, padding=1)
        self.relu = torch.nn.ReLU(inplace=True)
        self.pool = torch.nn.Conv3d(2, 4, (2, 4, 4), stride=(2, 4, 4))
        self.head = torch.nn.Linear(4, 5)

    def forward(self, clips):
        return self.head(self.pool(self.relu(self.conv(clips))).mean((2, 3, 4)))


def small(video):
    frames = torch.as_tensor(video.set_size((8, 8)).to_numpy()) / 255
    return frames.permute(3, 0, 1, 2)


@pytest.fixture(scope="module")
def stimuli(tmp_path_factory):
    """Frame n of both videos has level n + 1 tens; 1 s and 0.6 s at 10 frames a second. And an image."""
    from tests.activations.inputs.test_video import write_video

    folder = tmp_path_factory.mktemp("shown")
    paths = {
        "long": write_video(folder / "long.mp4", range(10, 110, 10)),
        "short": write_video(folder / "short.mp4", range(10, 70, 10)),
        "image": folder / "image.png",
    }
    Image.fromarray(np.full((8, 8, 3), 50, np.uint8)).save(paths["image"])
    return StimulusSet({"stimulus_id": list(paths), "kind": ["video", "video", "image"]}, stimulus_paths=paths)


@pytest.fixture
def module():
    torch.manual_seed(0)
    return Net().eval()


def wrapped(module, cls=PytorchWrapper, **settings):
    return cls("net", module, small, **{"fps": FPS, "layer_activation_format": FORMATS, "batch_size": 2, **settings})


def by_hand(module, path, first, n):
    """The layers' answers to ``n`` frames from ``first`` on, time last."""
    still = path.suffix == ".png"
    video = Video.from_img_path(path, 1000, FPS) if still else Video.from_path(path)
    clip = small(video.set_window(1000 * first / FPS, 1000 * (first + n) / FPS))[None]
    with torch.no_grad():
        conv = module.conv(clip)
        pool = module.pool(torch.relu(conv))
        return {
            "conv": conv[0].permute(0, 2, 3, 1).reshape(-1, n).numpy(),
            "pool": pool[0].permute(0, 2, 3, 1).reshape(-1, n // 2).numpy(),
            "head": module.head(pool.mean((2, 3, 4)))[0, :, None].numpy(),
        }


def layer_of(found, layer, row):
    return found.isel(presentation=row, neuroid=found["layer"].values == layer).values


@pytest.mark.slow
def test_a_video_of_any_length_is_seen_whole(module, stimuli):
    found = wrapped(module)(stimuli, list(FORMATS))
    assert found.dims == ("presentation", "neuroid", "time_bin") and found.dtype == np.float32
    assert found["time_bin_start"].values.tolist() == list(range(0, 1000, 100))
    assert found["time_bin_end"].values.tolist() == list(range(100, 1100, 100))
    assert found["kind"].values.tolist() == ["video", "video", "image"]
    for row, n in enumerate((10, 6, 10)):
        wanted = by_hand(module, stimuli.get_stimulus(stimuli["stimulus_id"][row]), 0, n)
        np.testing.assert_allclose(layer_of(found, "conv", row)[:, :n], wanted["conv"], atol=1e-6)
        np.testing.assert_allclose(layer_of(found, "pool", row)[:, :n], wanted["pool"].repeat(2, axis=1), atol=1e-6)
        np.testing.assert_allclose(layer_of(found, "head", row)[:, :n], wanted["head"].repeat(n, axis=1), atol=1e-6)
    assert np.isnan(found.values[1, :, 6:]).all() and np.isfinite(found.values[[0, 2]]).all()
    found[::2].validate()


@pytest.mark.slow
def test_units_have_their_places(module, stimuli):
    model = wrapped(module)
    found = model(stimuli, ["conv", "head"])
    unit = found.isel(neuroid=2 * 64 - 6)  # of the second channel, last row but none, third column from the end
    assert (unit["channel"], unit["channel_y"], unit["channel_x"]) == (1, 7, 2)
    assert unit["neuroid_id"] == "net.conv.122" and found["neuroid_id"].values[-1] == "net.head.4"
    assert np.isnan(found["channel_x"].values[-1]) and found["channel"].values[-1] == 4
    assert model.layers() == {"conv": (2, 8, 8), "pool": (4, 2, 2), "head": (5,)}
    turned = wrapped(
        module,
        layer_activation_format={"conv": "THWC"},
        process_output=lambda layer, name, inputs, output: output.permute(0, 2, 3, 4, 1),
    )
    last = turned(stimuli, "conv").isel(neuroid=3)
    assert (last["channel"], last["channel_y"], last["channel_x"]) == (1, 0, 1)
    assert turned.layers() == {"conv": (8, 8, 2)}


def test_a_fixed_number_of_frames_is_seen_in_blocks(module, stimuli):
    found = wrapped(module, num_frames=4)(stimuli, ["pool", "head"])
    path = stimuli.get_stimulus("long")
    blocks = [by_hand(module, path, first, 4) for first in (0, 4, 8)]  # the last one is filled up
    pool = np.concatenate([block["pool"].repeat(2, axis=1) for block in blocks], axis=1)[:, :10]
    np.testing.assert_allclose(layer_of(found, "pool", 0), pool, atol=1e-6)
    head = np.concatenate([block["head"].repeat(4, axis=1) for block in blocks], axis=1)[:, :10]
    np.testing.assert_allclose(layer_of(found, "head", 0), head, atol=1e-6)
    short = by_hand(module, stimuli.get_stimulus("short"), 4, 4)["pool"].repeat(2, axis=1)
    np.testing.assert_allclose(layer_of(found, "pool", 1)[:, 4:6], short[:, :2], atol=1e-6)


@pytest.mark.slow
def test_a_range_of_frames(module, stimuli):
    """8 to infinity: the short video is filled up. 2 to 8: the long one is cut."""
    long, short = stimuli.get_stimulus("long"), stimuli.get_stimulus("short")
    for settings, row, path, first, n in (
        ({"num_frames": (8, np.inf)}, 0, long, 0, 10),
        ({"num_frames": (8, np.inf)}, 1, short, 0, 8),
        ({"duration": (200, 800)}, 0, long, 8, 8),
    ):
        found = layer_of(wrapped(module, **settings)(stimuli, "head"), "head", row)
        np.testing.assert_allclose(found[:, first : first + 1], by_hand(module, path, first, n)["head"], atol=1e-6)
    with pytest.raises(ValueError, match="num_frames=8 and duration=500 ms exclude each other at 10 frames"):
        wrapped(module, num_frames=8, duration=500)


def test_entries_that_are_not_frames_are_weighted():
    np.testing.assert_allclose(extractor._shares(2, 3), [[1, 0.5, 0], [0, 0.5, 1]])
    np.testing.assert_allclose(extractor._shares(4, 2), [[0.5, 0], [0.5, 0], [0, 0.5], [0, 0.5]])


class Twice(PytorchWrapper):
    """Looks at each video brighter, and keeps what a layer gives in all its calls."""

    def forward(self, inputs):
        clips = 2 * torch.stack(inputs)
        return [self._model(clips), self._model(clips + 1)]

    def _register_hook(self, layer, layer_name, target_dict):
        def record(_layer, _inputs, output):
            output = self._process_activation(_layer, layer_name, _inputs, output)
            target_dict.setdefault(layer_name, []).append(PytorchWrapper._tensor_to_numpy(output))

        return layer.register_forward_hook(record)

    def get_activations(self, inputs, layer_names):
        found = super().get_activations(inputs, layer_names)
        return OrderedDict((name, np.stack(outputs, axis=1)) for name, outputs in found.items())


def test_a_subclass_calls_and_records_in_its_own_way(module, stimuli):
    model = wrapped(module, Twice, layer_activation_format={"head": "TC"}, num_frames=2)
    found = model(stimuli, "head")
    clip = small(Video.from_path(stimuli.get_stimulus("long")).set_window(0, 200))[None]
    with torch.no_grad():
        wanted = torch.cat([module(2 * clip), module(2 * clip + 1)]).T
    np.testing.assert_allclose(found.values[0, :, :2], wanted, rtol=1e-5)


@pytest.mark.slow
def test_a_commitment_records_in_several_time_bins(module, stimuli):
    model = ModelCommitment("net", wrapped(module), region_layer_map={"IT": ["pool", "head"]})
    model.start_recording("IT", time_bins=[(0, 200), (200, 400), (100, 300)])
    seen = model.look_at(stimuli)
    wanted = by_hand(module, stimuli.get_stimulus("long"), 0, 10)["pool"]
    np.testing.assert_allclose(layer_of(seen, "pool", 0)[:, 0], wanted[:, 0], atol=1e-6)
    np.testing.assert_allclose(layer_of(seen, "pool", 0)[:, 2], wanted[:, :2].mean(1), atol=1e-6)
    assert seen["region"].values[0] == "IT" and seen.sizes["time_bin"] == 3
    model.start_recording("IT", time_bins=[(0, 600)])
    assert model.look_at(stimuli).dims == ("presentation", "neuroid")
    with pytest.raises(ValueError, match="look with require_variance=False"):
        model.look_at(stimuli, number_of_trials=2, require_variance=True)
    assert model.with_options(cache=None).look_at(stimuli, number_of_trials=3).shape == (3, 21)


@pytest.mark.slow
def test_what_is_kept_is_that_of_these_weights(module, stimuli):
    model = wrapped(module)
    before, recipe = model(stimuli, "head"), model.recipe_digest()
    assert recipe == wrapped(module).recipe_digest() and model.digest is not None
    with torch.no_grad():
        module.head.bias += 1
    np.testing.assert_allclose(model(stimuli, "head").values - before.values, 1 + 0 * before.values, atol=1e-5)
    assert recipe != model.recipe_digest()
    doubled = wrapped(module, process_output=lambda layer, name, inputs, output: 2 * output)
    np.testing.assert_allclose(doubled(stimuli, "head").values, 2 * model(stimuli, "head").values, rtol=1e-5)


def test_layers_that_have_a_format(module, stimuli):
    model = wrapped(module)
    assert get_specified_layers(ModelCommitment("net", model, region_layer_map={"IT": "conv"})) == list(FORMATS)
    assert get_specified_layers(model.with_options(cache=None)) == list(FORMATS)
    with pytest.raises(ValueError, match="expected a wrapper of a network that takes videos, got a Net"):
        get_specified_layers(module)


@pytest.mark.slow
def test_what_is_not_there_is_refused(module, stimuli):
    with pytest.raises(ValueError, match="'net' has no format of layer logits; there are: conv, pool, head"):
        wrapped(module)(stimuli)
    with pytest.raises(ValueError, match=r"layer 'head' gives shape \(5,\) for one video, .* says 'TC'"):
        wrapped(module, layer_activation_format={"head": "TC"})(stimuli, "head")
    assert wrapped(module, layer_activation_format={"logits": "C"}).layers() == {"logits": (5,)}
    with pytest.raises(ValueError, match="pool in process_output"):
        wrapped(module).with_options(reducer=SpatialPooling(1))
    with pytest.raises(NotImplementedError, match="ActivationWrapper has no get_activations"):
        ActivationWrapper("none", small, fps=1, layer_activation_format={"a": "T"})(stimuli, "a")
