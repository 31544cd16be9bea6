"""What holds for every network: order, batches, duplicates, labels, errors."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from bsjax import NeuroidAssembly, StimulusSet
from bsjax.activations import ActivationCache
from bsjax.adapters import from_jax, unit_preprocessing
from bsjax.data import load_image

EIGHT = unit_preprocessing(8)


def two_layers(images):
    return {"colour": images.mean((1, 2)), "squares": images**2}


def expected(stimulus_set, layer):
    batch = np.stack([load_image(stimulus_set.get_stimulus(i)) for i in stimulus_set["stimulus_id"]])
    return two_layers(batch.astype(np.float32) / np.float32(255))[layer].reshape(len(batch), -1)


def test_a_row_for_each_stimulus_and_the_layers_side_by_side(stimuli):
    shown = stimuli([3, 1, 4])
    activations = from_jax(two_layers, "net", EIGHT)(shown, ["squares", "colour"])
    assert isinstance(activations, NeuroidAssembly)
    assert activations.dims == ("presentation", "neuroid")
    assert activations.dtype == np.float32
    wanted = np.concatenate([expected(shown, "squares"), expected(shown, "colour")], axis=1)
    np.testing.assert_allclose(activations.values, wanted, rtol=1e-5)
    assert activations["layer"].values.tolist() == ["squares"] * 192 + ["colour"] * 3
    assert activations["stimulus_id"].values.tolist() == ["0-image3", "1-image1", "2-image4"]
    assert activations["object_name"].values.tolist() == ["object3", "object1", "object4"]
    assert activations.attrs["stimulus_set_identifier"] == "random"
    activations.validate()


@pytest.mark.slow
@given(numbers=st.lists(st.integers(0, 11), min_size=1, max_size=15), batch_size=st.integers(1, 16))
def test_batches_duplicates_and_order_do_not_change_an_images_row(stimuli, numbers, batch_size):
    alone = {n: expected(stimuli([n]), "squares")[0] for n in set(numbers)}
    activations = from_jax(two_layers, "net", EIGHT, batch_size=batch_size)(stimuli(numbers), ["squares"])
    np.testing.assert_array_equal(activations.values, np.stack([alone[n] for n in numbers]))


def test_a_part_of_a_batch_compiles_no_program_of_its_own(stimuli, caplog):
    model = from_jax(two_layers, "net", EIGHT, batch_size=4, cache=None, keep_on_device=False)
    with jax.log_compiles():
        model(stimuli(range(6)), ["squares", "colour"])
    assert ["wanted" in record.message for record in caplog.records if record.message.startswith("Compiling")] == [True]


def test_an_image_that_rows_share_is_decoded_once(stimuli):
    seen = []

    def counting(images):
        seen.append(len(images))
        return EIGHT(images)

    activations = from_jax(two_layers, "net", counting, cache=None)(stimuli([5, 2, 5, 5, 2]), ["colour"])
    assert seen == [2]
    np.testing.assert_array_equal(activations.values[[0, 0, 1]], activations.values[[2, 3, 4]])


def test_all_batches_have_one_shape(stimuli, capsys):
    def traced(images):
        print(images.shape)  # a list that it fills would be a change of what it reads
        return images.mean((1, 2))

    model = from_jax(traced, "net", EIGHT, batch_size=4, cache=None)
    model(stimuli(list(range(10))), ["output"])
    model(stimuli(list(range(7))), ["output"])
    assert capsys.readouterr().out == "(4, 8, 8, 3)\n"
    # A set smaller than a batch is not filled up to all of it.
    from_jax(traced, "net", EIGHT, batch_size=64, cache=None)(stimuli([0, 1, 2]), ["output"])
    assert capsys.readouterr().out == "(4, 8, 8, 3)\n"


def test_an_unknown_layer_lists_the_ones_that_exist(stimuli):
    model = from_jax(two_layers, "net", EIGHT)
    with pytest.raises(ValueError) as error:
        model(stimuli([0]), ["colour", "sqares"])
    assert str(error.value) == (
        "model 'net' has no layer 'sqares'; nearest: squares; "
        "its layers, with the shape for one image: colour (3,), squares (8, 8, 3)"
    )


def test_a_value_that_is_not_finite_names_layer_and_stimulus(stimuli):
    target = load_image(stimuli([6]).get_stimulus("0-image6"))[0, 0].astype(np.float32) / 255

    def fails_on_image_6(images):
        is_six = jnp.all(jnp.isclose(images[:, 0, 0], target[None]), axis=-1)
        return {"fine": images.mean((1, 2)), "broken": jnp.where(is_six[:, None], -np.inf, images.mean((1, 2)))}

    model = from_jax(fails_on_image_6, "net", EIGHT, batch_size=4)
    shown = stimuli([0, 1, 2, 3, 4, 5, 6, 7, 6])
    assert model(shown, ["fine"]).shape == (9, 3)
    with pytest.raises(ValueError, match="layer 'broken' of model 'net' .* 1 of 4 stimuli, first for '6-image6'"):
        model(shown, ["fine", "broken"])


def test_a_shape_that_changes_between_batches_names_the_layer(stimuli, tmp_path):
    shown = stimuli([0, 1])
    Image.new("RGB", (5, 5)).save(tmp_path / "small.png")
    shown.stimulus_paths["1-image1"] = tmp_path / "small.png"
    model = from_jax(lambda x: {"map": x, "mean": x.mean((1, 2))}, "net", np.stack, batch_size=1)
    assert model(shown, ["mean"]).shape == (2, 3)
    with pytest.raises(ValueError, match=r"layer 'map' .* \(8, 8, 3\) for the first, \(5, 5, 3\) .* '1-image1'"):
        model(shown, ["mean", "map"])


def test_a_first_axis_that_is_not_the_image_is_refused(stimuli):
    with pytest.raises(ValueError, match=r"layer 'output' .* shape \(8, 8, 3\) for 2 images"):
        from_jax(lambda x: x[0], "net", EIGHT)(stimuli([0, 1]), ["output"])
    with pytest.raises(ValueError, match=r"preprocessing of model 'net' made shape \(1, 8, 8, 3\) of 2 images"):
        from_jax(lambda x: x, "net", lambda images: EIGHT(images[:1]))(stimuli([0, 1]), ["output"])


def test_layers_and_stimuli_must_be_there(stimuli):
    model = from_jax(two_layers, "net", EIGHT)
    for strange in (0, ["colour", 0], None, b"colour"):
        with pytest.raises(ValueError, match=r"name of a layer is a string, got .* of type \w+; (did you|see layers)"):
            model(stimuli([0]), strange)
    with pytest.raises(ValueError, match="each layer may be named once, got colour"):
        model(stimuli([0]), ["colour", "squares", "colour"])
    with pytest.raises(ValueError, match="expected|StimulusSet, got list"):
        model(["image.png"], ["colour"])
    with pytest.raises(ValueError, match="no column stimulus_id .columns present: image_id"):
        model(StimulusSet({"image_id": ["a"]}), ["colour"])


def test_files_that_cannot_be_read_are_named(stimuli, tmp_path):
    model = from_jax(two_layers, "net", EIGHT)
    shown = stimuli([0, 1])
    shown.stimulus_paths["1-image1"] = tmp_path / "absent.png"
    with pytest.raises(FileNotFoundError, match="absent.png"):
        model(shown, ["colour"])
    (tmp_path / "absent.png").write_bytes(b"no image")
    with pytest.raises(ValueError, match="absent.png"):
        model(shown, ["colour"])
    del shown.stimulus_paths["1-image1"]
    with pytest.raises(KeyError, match="1-image1"):
        model(shown, ["colour"])


def test_all_batches_before_an_error_are_kept(stimuli, tmp_path):
    """The last of them is stored while the next is made, which fails."""
    shown, cache, done = stimuli(list(range(12))), ActivationCache(tmp_path / "cache"), []
    shown.stimulus_paths["9-image9"] = tmp_path / "broken.png"
    (tmp_path / "broken.png").write_bytes(b"no image")
    model = from_jax(two_layers, "net", EIGHT, batch_size=4, cache=cache, progress=lambda now: done.append(now.done))
    with pytest.raises(ValueError, match="broken.png"):
        model(shown, ["squares"])
    assert done == [4, 8] and [entry.rows_done for entry in cache.entries()] == [8]


def test_a_column_named_like_a_neuroid_coordinate_is_refused(stimuli):
    shown = stimuli([0])
    shown["layer"] = "background"
    with pytest.raises(ValueError, match="columns named like coordinates of model units: layer"):
        from_jax(two_layers, "net", EIGHT)(shown, ["colour"])
