"""Activations over time, of recurrent networks and of networks that see clips."""

import jax.numpy as jnp
import numpy as np
import pytest
from PIL import Image

from bsjax import ModelCommitment, StimulusSet
from bsjax.activations.inputs.clips import Clip
from bsjax.activations.inputs.video import clip_preprocessing
from bsjax.activations.reducers import SpatialPooling
from bsjax.activations.temporal import TemporalActivations
from bsjax.adapters import from_jax, from_stored, unit_preprocessing
from tests.support.lab import film


def steps_of(images):
    mean = images.mean((1, 2))
    return {
        "early": jnp.stack([mean, 2 * mean], axis=1),
        "late": jnp.stack([3 * mean, 4 * mean, 5 * mean], axis=2),
        "answer": 6 * mean,
    }


BINS = {"early": [(50, 100), (100, 150)], "late": [(100, 150), (150, 200), (200, 250)]}


@pytest.fixture
def recurrent():
    return TemporalActivations(from_jax(steps_of, "net", unit_preprocessing(8)), {"early": 0, "late": -1}, bins=BINS)


def clips_of(clips):
    """Gray level of each frame, also backwards, of two bins, and of the whole clip."""
    level = 25.5 * clips.mean((2, 3))
    bins = level.reshape(len(level), 2, 2, 3).mean(2).transpose(0, 2, 1)
    return {"frames": level, "backwards": level[:, ::-1], "bins": bins, "all": level.mean(1)}


def video_model(context="blocks", img_duration=1000.0):
    network = from_jax(clips_of, "net", clip_preprocessing(4, size=8), batch_size=4)
    clip = Clip(n_frames=4, fps=10, context=context, img_duration=img_duration)
    return TemporalActivations(network, {"frames": 0, "backwards": 0, "bins": 1}, clip=clip)


@pytest.fixture(scope="module")
def videos(tmp_path_factory):
    """Frame n of both videos has level n + 1 tens; 1 s and 0.6 s at 10 frames a second. And an image of level 5."""
    pytest.importorskip("av")
    folder = tmp_path_factory.mktemp("shown")
    paths = {
        "long": film(folder / "long.mp4", range(10, 110, 10)),
        "short": film(folder / "short.mp4", range(10, 70, 10)),
        "image": folder / "image.png",
    }
    Image.fromarray(np.full((8, 8, 3), 50, np.uint8)).save(paths["image"])
    return StimulusSet({"stimulus_id": list(paths), "kind": ["video", "video", "image"]}, stimulus_paths=paths)


def test_time_is_apart_from_the_units(recurrent, stimuli):
    shown = stimuli([3, 1, 3])
    mean = recurrent(shown, "answer").values / 6
    late = recurrent(shown, "late")
    assert late.dims == ("presentation", "neuroid", "time_bin") and late.shape == (3, 3, 3)
    np.testing.assert_allclose(late.values, mean[:, :, None] * [3, 4, 5], rtol=1e-5)
    assert late["time_bin_start"].values.tolist() == [100, 150, 200]
    assert late["neuroid_id"].values.tolist() == ["net.late.0", "net.late.1", "net.late.2"]
    assert late["object_name"].values.tolist() == ["object3", "object1", "object3"]
    np.testing.assert_allclose(recurrent(shown, "early").values, mean[:, :, None] * [1, 2], rtol=1e-5)
    assert recurrent.layers() == {"early": (3,), "late": (3,), "answer": (3,)}
    late.validate()


@pytest.mark.slow
def test_layers_of_different_times_are_recorded_together_in_common_bins(recurrent, stimuli):
    shown = stimuli([0, 1])
    with pytest.raises(ValueError, match="early: 2 from 50 to 150 ms; late: 3 from 100 to 250 ms"):
        recurrent(shown, ["early", "late"])
    model = ModelCommitment("net", recurrent, region_layer_map={"IT": ["late", "early", "answer"]})
    model.start_recording("IT", time_bins=[(100, 150), (125, 150)])
    recording = model.look_at(shown)
    mean = recurrent(shown, "answer").values / 6
    wanted = np.concatenate([3 * mean, 2 * mean, 6 * mean], axis=1)
    np.testing.assert_allclose(recording.values, np.repeat(wanted[..., None], 2, axis=-1), rtol=1e-5)
    assert recording["layer"].values.tolist() == ["late"] * 3 + ["early"] * 3 + ["answer"] * 3
    model.start_recording("IT", time_bins=[(150, 200)])
    with pytest.raises(ValueError, match="150 to 200 ms is not covered; .* 50 to 100, 100 to 150"):
        model.look_at(shown)


def test_microsaccades_go_through(recurrent, stimuli):
    model = ModelCommitment("net", recurrent, region_layer_map={"V1": "early"}, visual_degrees=0.1)
    model.start_recording("V1", time_bins=BINS["early"])
    moved = model.look_at(stimuli([0, 1]), number_of_trials=2, require_variance=True)
    assert moved["stimulus_id"].values.tolist() == ["0-image0"] * 2 + ["1-image1"] * 2
    assert (moved.values[0] != moved.values[1]).all() and "microsaccade_shift_x_pixels" in moved.coords


def test_stored_activations_may_have_time():
    values = np.arange(12.0).reshape(2, 3, 2)
    stored = from_stored({"rates": values}, "stored", stimulus_ids=["a", "b"])
    model = TemporalActivations(stored, {"rates": 1}, bins={"rates": [(0, 10), (10, 20)]})
    answer = model(StimulusSet({"stimulus_id": ["b", "a"]}), "rates")
    np.testing.assert_array_equal(answer.values, values[[1, 0]])
    with pytest.raises(ValueError, match="StoredActivations has no options"):
        model.with_options(cache=None)


def test_videos_are_shown_in_blocks(videos):
    seen = video_model()(videos, "frames")
    assert seen.dims == ("presentation", "neuroid", "time_bin") and seen.shape == (3, 3, 10)
    levels = np.round(seen.values[:, 0])
    np.testing.assert_array_equal(levels[0], range(1, 11))
    np.testing.assert_array_equal(levels[1], [1, 2, 3, 4, 5, 6, *[np.nan] * 4])
    np.testing.assert_array_equal(levels[2], [5] * 10)
    assert seen["time_bin_start"].values.tolist() == list(range(0, 1000, 100))
    assert seen["kind"].values.tolist() == ["video", "video", "image"]


def test_bins_are_spread_over_the_clip(videos):
    model = video_model(img_duration=500)
    assert model.time_bins("bins") == ((0, 200), (200, 400)) and model.time_bins("all") == ((0, 400),)
    bins = np.round(2 * model(videos, "bins").values[:, 0]) / 2
    np.testing.assert_array_equal(bins[0], [1.5, 3.5, 5.5, 7.5, 9.5])
    np.testing.assert_array_equal(bins[1], [1.5, 3.5, 5.5, np.nan, np.nan])
    np.testing.assert_array_equal(bins[2], [5, 5, 5, np.nan, np.nan])  # of 500 ms
    # The last block is filled up with its last frame, and counts until its end.
    blocks = np.round(4 * model(videos, "all").values[:, 0]) / 4
    np.testing.assert_array_equal(blocks, [[2.5, 6.5, 9.75], [2.5, 5.75, np.nan], [5, 5, np.nan]])


@pytest.mark.slow
def test_causal_bins_see_only_their_past(videos):
    model = video_model("causal")
    np.testing.assert_array_equal(np.round(model(videos, "frames").values[0, 0]), range(1, 11))
    # Of a clip that is answered backwards, the last entry is its first frame: three before, or the first of all.
    backwards = np.round(model(videos, "backwards").values[0, 0])
    np.testing.assert_array_equal(backwards, [1, 1, 1, 1, 2, 3, 4, 5, 6, 7])
    np.testing.assert_array_equal(np.round(video_model()(videos, "backwards").values[0, 0, :4]), [4, 3, 2, 1])
    whole = np.round(4 * model(videos, "all").values[0, 0]) / 4
    np.testing.assert_array_equal(whole, [2.5, 6.5, 9.75])
    bins = np.round(2 * model(videos, "bins").values[1, 0]) / 2
    np.testing.assert_array_equal(bins, [1.5, 3.5, 5.5, np.nan, np.nan])


def test_a_commitment_records_from_videos(videos):
    model = ModelCommitment("net", video_model(), region_layer_map={"IT": "frames"}, behavioral_readout_layer="frames")
    model.start_recording("IT", time_bins=[(0, 200), (350, 450)])
    recording = np.round(2 * model.look_at(videos).values[:, 0]) / 2
    np.testing.assert_array_equal(recording, [[1.5, 4.5], [1.5, 4.5], [5, 5]])
    model.start_recording("IT", time_bins=[(900, 1100)])
    with pytest.raises(ValueError, match="900 to 1100 ms is not covered"):
        model.look_at(videos)
    with pytest.raises(ValueError, match="sees clips, which microsaccades do not shift"):
        model.look_at(videos, number_of_trials=2, require_variance=True)
    model.start_task("odd_one_out")
    assert model.look_at(videos).values.item() == "short"  # the mean until its end


def test_bad_times(stimuli):
    network = from_jax(steps_of, "net", unit_preprocessing(8))
    for arguments, message in [
        ({"axes": 0}, "give either bins=.* or clip="),
        ({"axes": {"erly": 0}, "bins": BINS}, "no layer 'erly'; nearest: early"),
        ({"axes": {"early": 2}, "bins": BINS}, r"'early' of shape \(2, 3\) has no axis 2"),
        ({"axes": {"early": 0}, "bins": BINS}, "bins are those of early, late, and time axes those of early"),
        ({"axes": {"early": 1}, "bins": {"early": BINS["early"]}}, "'early' has 3 entries in time"),
    ]:
        with pytest.raises(ValueError, match=message):
            TemporalActivations(network, **arguments)
    pooled = TemporalActivations(
        network.with_options(reducer=SpatialPooling(1)), {"early": 0}, bins={"early": BINS["early"]}
    )
    assert pooled.with_options(reducer=None)(stimuli([0]), "early").shape == (1, 3, 2)
    with pytest.raises(ValueError, match="context must be 'blocks' or 'causal', got 'greedy'"):
        Clip(4, 10, context="greedy")
    with pytest.raises(ValueError, match="must be positive"):
        Clip(0, 10)
