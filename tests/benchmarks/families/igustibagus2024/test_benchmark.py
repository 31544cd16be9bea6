"""Read-outs of objects in thirteen domains."""

import numpy as np
import pytest

from bsjax import NeuroidAssembly, load_benchmark
from bsjax.benchmarks.families.igustibagus2024.benchmark import drop_shared_backgrounds, of_thirteen_domains
from tests.support import served_data as served
from tests.support.recorder import Recorder

OBJECTS = ["apple", "bear"]
# stimulus_source, object_style, images
PARTS = [
    ("Silhouette", "original", 40),
    *(("Silhouette", style, 40) for style in ("convex_hull", "outline", "skeleton", "silhouette")),
    *(("Art", style, 30) for style in ("cartoon", "line_drawing", "mosaic", "painting", "sketch")),
    *(("COCOColor", "nan", 30), ("COCOGray", "grayscale", 32), ("TDW", "original", 30)),
    *(("Art", "textures", 4), ("Geirhos", "sketch", 4)),  # in none of the domains
]


@pytest.fixture
def stimuli():
    rows = [
        (*part[:2], OBJECTS[i % 2], i + 1 if part[0] == "Silhouette" else 0) for part in PARTS for i in range(part[2])
    ]
    names = ("stimulus_source", "object_style", "object_label", "background_id")
    return served.stimuli_of(len(rows), **dict(zip(names, zip(*rows, strict=True), strict=True)))


def test_the_score_is_that_of_the_metric_on_the_thirteen_domains(serve, stimuli):
    serve("Igustibagus2024", stimuli=stimuli)
    rng = np.random.default_rng(0)
    codes = np.unique(stimuli["object_label"], return_inverse=True)[1]
    values = rng.normal(size=(2, 30))[codes] * 0.4 + rng.normal(size=(len(stimuli), 30))
    model = Recorder(stimuli, values, backwards=True)
    benchmark = load_benchmark("Igustibagus2024.IT_readout-accuracy", splits=3)
    score = benchmark(model)
    [(shown, trials)] = model.looked
    assert len(shown) == len(stimuli) - 8 and trials == 1 and model.recorded == [("IT", [(70, 170)])]

    rows = of_thirteen_domains(stimuli)
    coords = {name: ("presentation", rows[name].to_numpy()) for name in rows.columns}
    alone = benchmark.metric(NeuroidAssembly(values[rows.index], coords=coords, dims=["presentation", "neuroid"]))
    np.testing.assert_allclose(score.raw, alone.raw, atol=1e-12)
    assert score.raw.sizes == {"split": 3, "domain": 13}
    counts = rows["domain"].value_counts()
    assert (counts["hvm"], counts["tdw"], counts["cocogray"]) == (40, 30, 32)
    assert float(score) == pytest.approx(float(alone)) and score.error == pytest.approx(alone.error)
    assert score.sizes == {} and benchmark.ceiling == 1 and 0.5 < float(score) < 1


def test_what_the_stimuli_lack_is_named(stimuli):
    with pytest.raises(ValueError, match="has no column background_id .*present: stimulus_id"):
        of_thirteen_domains(stimuli.drop(columns="background_id"))
    bare = NeuroidAssembly(np.ones((2, 1)), {"stimulus_id": ("presentation", [0, 1])}, ["presentation", "neuroid"])
    with pytest.raises(ValueError, match="no coordinate 'background_id'"):
        drop_shared_backgrounds(np.array([0]), np.array([1]), bare)
