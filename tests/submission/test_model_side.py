"""The model's side: what it answers is what the same model answers here, and nothing that it does reaches further."""

import io
import json
import os
import shutil
import socket
import sys

import numpy as np
import pytest
from PIL import Image, PngImagePlugin

import bsjax
from bsjax import StimulusSet
from bsjax.core.discovery import use_plugins
from bsjax.submission.sandbox import Limits, Sandbox
from bsjax.submission.sides.remote import HandedIn, ModelSide, ModelSideFailed
from bsjax.submission.sides.wire import Refused, receive
from tests.support import hostile

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")

SMALL = Limits(memory=1 << 30, seconds=60, processes=32, disk=64 << 20, log=1 << 16)


@pytest.fixture
def stimuli(tmp_path):
    """Eight images whose files, names and columns say what they show."""
    rng = np.random.default_rng(0)
    folder = tmp_path / "images of private dogs"
    folder.mkdir()
    paths = {}
    for number in range(8):
        path = folder / f"dog-{number}.png"
        told = PngImagePlugin.PngInfo()
        told.add_text("Title", "private dog")
        Image.fromarray(rng.integers(0, 255, (16, 16, 3), np.uint8)).save(path, pnginfo=told, dpi=(72, 72))
        paths[f"dog-{number}"] = path
    rows = {"stimulus_id": list(paths), "object_name": ["dog"] * 8}
    return StimulusSet(rows, identifier="Private2026", stimulus_paths=paths)


@pytest.fixture
def handed_in(tmp_path):
    """``handed_in(code, **limits)``: a plugin of one model, ``hostile``."""

    def made(code, limits=SMALL, most=64 << 20):
        folder = tmp_path / "handed in"
        folder.mkdir(exist_ok=True)
        (folder / "__init__.py").write_text(code)
        values = {"plugins": str(folder), "model": "hostile"}
        return HandedIn("build", values, "0" * 32, Sandbox((folder,), limits=limits), sys.executable, most)

    return made


def look(model, stimuli):
    model.start_recording("V1", [(0, 100)])
    return model.look_at(stimuli, number_of_trials=1)


@pytest.mark.slow
def test_activations_are_those_of_the_same_process(handed_in, stimuli, monkeypatch):
    monkeypatch.setenv("BSJAX_PLUGINS", "")
    one = handed_in(hostile.MODEL)
    with ModelSide(one) as side:
        remote = side.model()
        assert type(remote).__name__ == "ModelCommitment" and remote.visual_degrees() == 8
        found = look(remote, stimuli.iloc[[3, 1, 1, 5]])
        moved = remote.look_at(stimuli, number_of_trials=3, require_variance=True)
    use_plugins(one.values["plugins"])
    same = look(bsjax.load_model("hostile"), stimuli.iloc[[3, 1, 1, 5]])
    assert found.values.tobytes() == same.values.tobytes()
    assert found["object_name"].values.tolist() == ["dog"] * 4
    for name in ("stimulus_id", "neuroid_id", "layer", "region"):
        assert found[name].values.tolist() == same[name].values.tolist()
    # Microsaccades make the trials of a stimulus differ.
    assert moved["stimulus_id"].values[:4].tolist() == ["dog-0"] * 3 + ["dog-1"] and moved.sizes["presentation"] == 24
    assert len(set(moved["microsaccade_shift_x_pixels"].values[:3])) == 3


@pytest.mark.slow
@pytest.mark.parametrize("act", hostile.ACTS)
def test_what_it_does_instead_of_answering(act, handed_in, tmp_path):
    before = sorted(os.listdir(tmp_path))
    limits = Limits(memory=1 << 30, seconds=8, processes=32, disk=64 << 20, log=1 << 16)
    with pytest.raises(ModelSideFailed) as failed:
        ModelSide(handed_in(hostile.at_import(hostile.ACTS[act]), limits))
    said = str(failed.value)
    assert "\n" not in said and len(said) < 500
    passed = {"loops": "time", "forks": "processes", "takes": "memory", "fills": "disk"}.get(act.split()[0], "")
    if act == "makes a million files":
        assert failed.value.passed in ("disk", "time")
    else:
        assert failed.value.passed == passed, said
    assert sorted(os.listdir(tmp_path)) == sorted({*before, "handed in"})


def header(dtype="<f8", shape=(2, 2)):
    array = {"name": "values", "dtype": dtype, "shape": shape}
    content = json.dumps({"what": "assembly", "values": {}, "arrays": [array]}).encode()
    return len(content).to_bytes(8, "little") + content


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"\xff" * 4096, "a header of"),
        ((1 << 50).to_bytes(8, "little"), "a header of"),
        ((4).to_bytes(8, "little") + b"null", "no message"),
        (header(dtype="|O"), "numbers were expected"),
        (header(shape=(1_000_000, 1250)), "arrays of 10,000,000,000 bytes"),
        (header(shape=(-1, 1250)), "has the shape"),
    ],
)
def test_messages_that_are_none_are_refused_before_they_are_read(content, why):
    with pytest.raises(Refused, match=why):
        receive(io.BytesIO(content), 1 << 20)


@pytest.mark.slow
@pytest.mark.parametrize("answer", hostile.ANSWERS)
def test_what_it_answers_is_checked(answer, handed_in, stimuli):
    act, said = hostile.ANSWERS[answer]
    with ModelSide(handed_in(hostile.answering(act))) as side:
        with pytest.raises(ModelSideFailed, match=said) as failed:
            look(side.model(), stimuli)
    assert "\x1b" not in str(failed.value) and len(str(failed.value)) < 3000


@pytest.mark.slow
@pytest.mark.parametrize("what", hostile.PRETENDS)
def test_what_it_says_of_itself_is_checked(what, handed_in):
    act, said = hostile.PRETENDS[what]
    with ModelSide(handed_in(hostile.pretending(act))) as side, pytest.raises(ModelSideFailed, match=said):
        side.model()


@pytest.mark.slow
def test_it_sees_no_more_than_pixels(handed_in, stimuli, tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_SECRET", "SECRET")
    home = tmp_path / "home"
    other = tmp_path / "submissions" / "other"
    paths = [home / "recordings.nc", home / "results.db", other / "model.py", stimuli.get_stimulus("dog-1")]
    for path in paths[:3]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("SECRET")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        told = json.dumps([*map(str, paths), f"/proc/{os.getpid()}/environ", f"/proc/{os.getpid()}/mem", "/etc/shadow"])
        with ModelSide(handed_in(hostile.looking_around(told, port, os.getpid()))) as side:
            look(side.model(), stimuli)
        log = side.log
    lines = log.splitlines()
    assert [line for line in lines if line.startswith("FOUND")] == []
    shown = [line for line in lines if line.startswith(("SHOWN", "IMAGE"))]
    assert len(shown) == 9
    assert not any(word in log for word in ("dog", "Private", "Title", "dpi", "object_name", "SECRET")), log
    assert all("PNG {}" in line and line.endswith("0.0") for line in shown[1:])


@pytest.mark.slow
def test_private_stimuli_hide_what_it_says(handed_in, stimuli):
    with ModelSide(handed_in(hostile.answering("raise ValueError(list(stimuli.stimulus_paths))"))) as side:
        side.hides_errors = True
        with pytest.raises(ModelSideFailed, match="ValueError$"):
            look(side.model(), stimuli)
