"""ImageNet, ImageNet-C and ObjectNet from folders of the user's own, and from published stimuli."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from bsjax import load_benchmark
from bsjax.benchmarks.families.imagenet.image_folders import sampled, validation_images
from bsjax.models.tasks.imagenet import synsets
from tests.support import served_data as served
from tests.support.people import classifying

CLASSES = [synsets()[unit] for unit in (3, 400, 999)]
NOISES = ["gaussian_noise", "shot_noise", "impulse_noise"]


@pytest.fixture
def folder(tmp_path):
    """A folder to fill: ``folder("n01440764/a.JPEG", ...)`` writes small images."""
    root = tmp_path / "mine"

    def write(*names: str, colour: str = "grey") -> Path:
        for name in names:
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (6, 6), colour).save(path)
        return root

    return write


def partial_warning():
    return pytest.warns(UserWarning, match="of the 50000 of 1000 classes")


def test_imagenet_in_class_folders(folder):
    root = folder(*(f"{name}/{i}.JPEG" for name in CLASSES for i in range(2)), "devkit/picture.png")
    benchmark = load_benchmark("ImageNet-top1", data=root)
    with partial_warning():
        ids = benchmark.stimuli["stimulus_id"].tolist()
    assert ids == [f"{name}/{i}.JPEG" for name in CLASSES for i in range(2)]
    assert benchmark.stimuli.get_stimulus(ids[0]).is_file()
    score = benchmark(classifying(ids, [CLASSES[0]] * 4 + [CLASSES[2]] * 2))
    assert score.value == pytest.approx(4 / 6)
    assert score.provenance["selection"] == "6 images of 3 classes, of the 50000 of 1000 classes"
    assert score.provenance["n_stimuli"] == 6


def tables():
    names = [f"ILSVRC2012_val_{n:08}.JPEG" for n in (2, 1, 3)]
    pairs = list(zip(names, CLASSES, strict=True))
    yield "val.csv", "filename,label,synset\n" + "".join(f"{name},x,{synset}\n" for name, synset in pairs)
    yield "val.txt", "".join(f"{name} {synset}\n" for name, synset in pairs)
    yield "synsets.txt", "".join(f"{synset}\n" for _, synset in sorted(pairs))


@pytest.mark.parametrize(("name", "content"), list(tables()), ids=["csv", "pairs", "synsets"])
def test_imagenet_flat_with_a_table(folder, name, content):
    root = folder(*(f"ILSVRC2012_val_{n:08}.JPEG" for n in (1, 2, 3)))
    (root / name).write_text(content)
    with partial_warning():
        stimuli = validation_images(root)
    of_image = dict(zip(stimuli["stimulus_id"], stimuli["synset"], strict=True))
    assert of_image == {f"ILSVRC2012_val_{n:08}.JPEG": CLASSES[i] for n, i in ((1, 1), (2, 0), (3, 2))}


@pytest.mark.parametrize(
    ("files", "error", "message"),
    [
        ({}, FileNotFoundError, "no folders that are named by WordNet ids"),
        ({"a.txt": "a.png 65\n"}, ValueError, "none of the 1000 of ImageNet: 65.*numbers are not accepted"),
        ({"a.txt": f"{CLASSES[0]}\n{CLASSES[1]}\n"}, ValueError, "2 lines, for the 1 images"),
        ({"a.csv": f"filename,synset\nb.png,{CLASSES[0]}\n"}, FileNotFoundError, "1 of 1 images .* b.png"),
    ],
)
def test_tables_that_cannot_be_used(folder, files, error, message):
    root = folder("a.png")
    for name, content in files.items():
        (root / name).write_text(content)
    with pytest.raises(error, match=message):
        validation_images(root)


def corrupted(folder, per_class=4, noises=NOISES):
    names = [
        f"{noise}/{level}/{synset}/{i}.JPEG"
        for noise in noises
        for level in range(1, 6)
        for synset in CLASSES[:2]
        for i in range(per_class)
    ]
    return folder(*names)


def test_imagenet_c_draws_a_share_of_each_corruption_and_level(folder):
    root = corrupted(folder)
    benchmark = load_benchmark("ImageNet-C-noise-top1", data=root, sampling_factor=3)
    stimuli = benchmark.stimuli
    per_cell = stimuli.groupby(["noise_type", "noise_level"]).size()
    assert len(per_cell) == 15
    assert set(per_cell) == {3}  # a third of 8, rounded up
    again = load_benchmark("ImageNet-C-noise-top1", data=root, sampling_factor=3).stimuli
    other = load_benchmark("ImageNet-C-noise-top1", data=root, sampling_factor=3, seed=1).stimuli
    assert again["stimulus_id"].tolist() == stimuli["stimulus_id"].tolist() != other["stimulus_id"].tolist()
    # A model that is right from the third level on, whatever the corruption.
    truth = [one.split("/")[2] for one in stimuli["stimulus_id"]]
    answers = np.where(stimuli["noise_level"] >= 3, truth, CLASSES[2])
    score = benchmark(classifying(stimuli["stimulus_id"], answers))
    assert score.value == pytest.approx(3 / 5)
    selection = "a random 1 in 3 of each corruption and level, seed 0: 45 of 120 images"
    assert score.provenance["selection"] == selection
    by_level = pd.Series(score.raw.values).groupby(benchmark.stimuli["noise_level"].to_numpy()).mean()
    assert by_level.tolist() == [0, 0, 1, 1, 1]
    assert "a random 1 in 3 of each corruption and level (seed 0)" in " ".join(benchmark.describe().split())


def test_imagenet_c_that_is_not_whole(folder):
    root = corrupted(folder, 1, NOISES[:2])
    with pytest.raises(FileNotFoundError, match="has no folder impulse_noise/1"):
        len(load_benchmark("ImageNet-C-noise-top1", data=root).stimuli)
    table = pd.DataFrame({"noise_type": ["fog"], "noise_level": [1]})
    with pytest.raises(FileNotFoundError, match="no image of the corruption 'fog' at level 2"):
        sampled(table, ["fog"], [1, 2], 1, 0)
    with pytest.raises(ValueError, match="whole number from 1, got 0"):
        sampled(table, ["fog"], [1], 0, 0)


def test_published_imagenet_c(serve):
    cells = [(noise, level) for noise in NOISES for level in range(1, 6) for _ in range(12)]
    kinds, levels = zip(*cells, strict=True)
    stimuli = served.stimuli_of(180, synset=[CLASSES[0]] * 180, noise_type=kinds, noise_level=levels)
    serve("imagenet_c.noise", stimuli=stimuli)
    benchmark = load_benchmark("ImageNet-C-noise-top1")
    score = benchmark(classifying(stimuli["stimulus_id"], [CLASSES[0]] * 180))
    assert score.value == 1
    assert score.provenance["selection"].endswith("30 of 180 images")
    assert set(benchmark.stimuli["noise_level"]) == {1, 2, 3, 4, 5}


OBJECTS = {"mug": CLASSES[0], "chair": [CLASSES[1], CLASSES[2]], "bench": [CLASSES[2]]}


def test_objectnet_with_a_mapping_of_ones_own(folder):
    root = folder("mug/1.png", "mug/2.png", "chair/3.png", "bench/4.png", "unmapped/5.png")
    (root / "mapping.json").write_text(json.dumps(OBJECTS))
    benchmark = load_benchmark("ObjectNet-top1", data=root)
    stimuli = benchmark.stimuli
    assert stimuli["stimulus_id"].tolist() == ["bench/4.png", "mug/1.png", "mug/2.png"]
    score = benchmark(classifying(stimuli["stimulus_id"], [CLASSES[2], CLASSES[0], CLASSES[1]]))
    assert score.value == pytest.approx(2 / 3)
    assert "2 objects that are one class of ImageNet; 1 that are several" in score.provenance["selection"]


def test_objectnet_as_it_unpacks(folder):
    root = folder("images/mug/1.png", "images/chair/3.png", "images/broom_holder/4.png")
    words = {unit: f"thing {unit}" for unit in (3, 400, 999)}
    mappings = {
        "folder_to_objectnet_label.json": {"mug": "Mug", "chair": "Chair", "broom_holder": "Broom holder"},
        "objectnet_to_imagenet_1k.json": {"Mug": words[400], "Chair": f"{words[3]}; {words[999]}"},
        "pytorch_to_imagenet_2012_id.json": {"400": 0, "3": 1, "999": 2},
    }
    (root / "mappings").mkdir()
    for name, content in mappings.items():
        (root / "mappings" / name).write_text(json.dumps(content))
    with pytest.raises(FileNotFoundError, match="lacks ObjectNet's imagenet_to_label_2012_v2"):
        len(load_benchmark("ObjectNet-top1", data=root).stimuli)
    lines = "\n".join(words[unit] for unit in (400, 3, 999))
    (root / "mappings" / "imagenet_to_label_2012_v2").write_text(lines + "\n")
    benchmark = load_benchmark("ObjectNet-top1", data=root)
    assert benchmark.assembly.values.tolist() == [synsets()[400]]
    assert benchmark.stimuli["stimulus_id"].tolist() == ["mug/1.png"]


def test_images_that_still_have_their_frame(folder):
    root = folder("mug/1.png")
    image = np.full((12, 12, 3), (255, 0, 0), np.uint8)
    image[2:-2, 2:-2] = 90
    Image.fromarray(image).save(root / "mug" / "1.png")
    (root / "mapping.json").write_text(json.dumps({"mug": CLASSES[0]}))
    with pytest.raises(ValueError, match="red frame of 2 pixels.*mogrify -shave 2x2"):
        len(load_benchmark("ObjectNet-top1", data=root).stimuli)
