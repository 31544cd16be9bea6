import numpy as np

from bsjax import StimulusSet, load_model


def test_the_order_of_rows_alone_is_seen():
    model = load_model("stimulus-order")
    model.start_recording("V1", [(0, 50), (50, 100)])
    shown = StimulusSet({"stimulus_id": [f"s{i}" for i in range(40)]})
    recording = model.look_at(shown)
    recording.validate()
    assert dict(recording.sizes) == {"presentation": 40, "neuroid": 32, "time_bin": 2}
    # Waves of a cosine transform: orthogonal, of mean zero.
    waves = recording.values[:, :, 0]
    np.testing.assert_allclose(waves.T @ waves, 20 * np.eye(32), atol=1e-4)
    np.testing.assert_allclose(waves.sum(axis=0), 0, atol=1e-4)
    reversed_rows = model.look_at(shown.iloc[::-1])
    np.testing.assert_array_equal(reversed_rows.values[:, :, 0], waves)
    assert reversed_rows["stimulus_id"].values[0] == "s39"
    assert not model.looks_at_images
