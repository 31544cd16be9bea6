"""Error consistency and accuracy out of distribution: conditions left out, ways to have the data, published numbers."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sklearn.metrics import cohen_kappa_score

from bsjax import load_benchmark
from bsjax.benchmarks.families.geirhos2021.reader import EXPERIMENTS
from bsjax.benchmarks.families.geirhos2021.trials import people
from bsjax.benchmarks.rows.tables import builtin_rows
from bsjax.labelled.behaviour.agreement import model_vs_human
from bsjax.models import PrecomputedFeatures
from bsjax.models.stored_behaviour import load_stored_behaviour
from tests.benchmarks.conftest import parts
from tests.support import served_data as served
from tests.support.observers import observed
from tests.support.people import behaviour, naming, trials_of

OBJECTS = ["bear", "car", "cat", "dog"]
EASY = np.arange(24) % 4 < 2
CONDITIONS = [np.inf, 0.4, 0.45, 0.55, 0.7, 1.5]
ROWS = {i: row for i, row in builtin_rows().items() if i.startswith("Geirhos")}
EC = {row.settings["experiment"]: i for i, row in ROWS.items() if "error" in i}
TOP1 = {row.settings["experiment"]: i for i, row in ROWS.items() if "top1" in i}


@pytest.fixture
def high_pass(serve):
    """Six conditions, four of which do not count, with four images each and three people."""
    conditions, truth = np.repeat(CONDITIONS, 4), np.array(OBJECTS * 6)
    stimuli = served.stimuli_of(24, truth=truth, condition=conditions)
    stimuli["image_id"] = stimuli["stimulus_id"]
    answers = {f"subject-0{n}": np.where(EASY ^ (np.arange(24) % 9 == n), truth, "na") for n in range(1, 4)}
    assembly = trials_of(answers, stimuli, truth="truth", condition="condition", image_id="image_id")
    serve("Geirhos2021_high-pass", assembly, stimuli)
    return stimuli, answers


def kappas(right_a, right_b, conditions):
    return np.mean([cohen_kappa_score(right_a[conditions == c], right_b[conditions == c]) for c in (0.7, 1.5)])


@pytest.mark.slow
def test_scores_by_hand_without_the_conditions_that_do_not_count(high_pass, same_as_published):
    stimuli, answers = high_pass
    truth, conditions = stimuli["truth"].to_numpy(), stimuli["condition"].to_numpy()
    said = np.where(EASY ^ (np.arange(24) % 5 == 1), truth, np.roll(truth, 1))
    benchmark = load_benchmark("Geirhos2021highpass-error_consistency")
    model = naming(stimuli["stimulus_id"], said)
    score = benchmark(model)
    same_as_published(score, model)
    right = {who: answer == truth for who, answer in answers.items()}
    raw = np.mean([kappas(said == truth, each, conditions) for each in right.values()])
    ceiling = np.mean([kappas(a, b, conditions) for a, b in itertools.combinations(right.values(), 2)])
    assert parts(score) == pytest.approx((raw, ceiling, raw / ceiling))
    assert score.provenance["n_stimuli"] == 8 and benchmark.fitting_stimuli == OBJECTS
    assert set(benchmark.assembly["condition"].values) == {"0.7", "1.5"}
    accuracy = load_benchmark("Geirhos2021highpass-top1")(model)
    same_as_published(accuracy, model, "value")
    kept = np.isin(conditions, [0.7, 1.5])
    assert (
        accuracy.value == (said == truth)[kept].mean()
        and accuracy.ceiling == 1
        and accuracy.provenance["n_stimuli"] == 8
    )


@pytest.mark.slow
def test_stored_answers_need_no_screen_and_get_the_labels_of_the_stimuli(high_pass):
    stimuli, answers = high_pass
    said = behaviour(answers["subject-01"], stimulus_id=stimuli["stimulus_id"], condition=np.arange(24))
    said = said.expand_dims("choice", 1)
    benchmark = load_benchmark("Geirhos2021highpass-error_consistency")
    score = benchmark(PrecomputedFeatures(said, visual_degrees=8))
    assert score.unceiled.raw.sel(subject="subject-01").values.tolist() == [1.0, 1.0]


def test_a_condition_that_is_not_there_is_named(serve):
    stimuli = served.stimuli_of(4, truth=OBJECTS, condition=["bw"] * 4)
    serve("Geirhos2021_colour", trials_of({"a": OBJECTS}, stimuli, truth="truth", condition="condition"), stimuli)
    with pytest.raises(ValueError, match="Geirhos2021_colour: no trial has the condition cr, which is to be left out"):
        people(ROWS[EC["colour"]])


def clone(folder: Path) -> Path:
    """A clone with two people and a model in the experiment edge, without images."""
    raw = folder / "raw-data" / "edge"
    raw.mkdir(parents=True)
    header = "subj,session,trial,rt,object_response,category,condition,imagename\n"
    for who, said, condition in (("subject-01", "bear", "0"), ("subject-02", "na", "0"), ("mine", "cat", "NaN")):
        rows = [
            f"{who},1,1,NaN,{said if n else obj},{obj},{condition},{n}_edg_x_0_{obj}_00_{obj}1.png\n"
            for n, obj in enumerate(OBJECTS)
        ]
        (raw / f"edge_{who}_session_1.csv").write_text(header + "".join(rows))
    return folder


def test_trials_of_a_clone_and_stored_choices_without_images(tmp_path):
    data = clone(tmp_path)
    [model] = load_stored_behaviour(data)
    assert model.identifier == "mine"
    # All are right on the bear; the model, which says cat of the others, on the cat too.
    score = load_benchmark(EC["edge"], data=data)(model)
    right, each = np.array([1, 0, 1, 0]), np.array([1, 0, 0, 0])
    assert score.ceiling.value == 1 and score.value == pytest.approx(cohen_kappa_score(right, each))
    assert float(load_benchmark(TOP1["edge"], data=data)(model)) == 0.5


def test_a_network_needs_the_images(tmp_path):
    data = clone(tmp_path)
    benchmark = load_benchmark(EC["edge"], data=data)
    network = naming([f"{one}1.png" for one in OBJECTS], OBJECTS)
    network.looks_at_images = True
    with pytest.raises(FileNotFoundError, match="4 of 4 images of"):
        benchmark(network)
    folder = data / "datasets" / "edge" / "dnn" / "session-1"
    folder.mkdir(parents=True)
    for one in OBJECTS:
        Image.new("RGB", (6, 6)).save(folder / f"0001_edg_dnn_0_{one}_00_{one}1.png")
    assert float(load_benchmark(TOP1["edge"], data=data)(network)) == 1


def test_what_cannot_be_had_is_looked_for_among_the_imported(tmp_path, monkeypatch, relay):
    monkeypatch.setenv("BSJAX_HOME", str(tmp_path / "home"))
    with pytest.raises(OSError, match="Geirhos2021_edge.* People's trials are also public: `bsjax data import"):
        people(ROWS[EC["edge"]])
    monkeypatch.setattr("bsjax.benchmarks.families.geirhos2021.trials.imported_folder", lambda name: clone(tmp_path))
    assert people(ROWS[EC["edge"]]).sizes["presentation"] == 8


@pytest.mark.slow
def test_the_published_numbers_of_all_experiments(shared_data):
    expected, data = json.loads((shared_data / "expected.json").read_text()), shared_data / "geirhos2021"
    published = expected["geirhos2021"]
    [model] = load_stored_behaviour(data)
    choices, trials = {}, {}
    for experiment in EXPERIMENTS:
        benchmark = load_benchmark(EC[experiment], data=data)
        raw, ceiling, _ = parts(benchmark(model))
        ours = [raw, ceiling, float(load_benchmark(TOP1[experiment], data=data)(model))]
        names = ("resnet50_raw_error_consistency", "human_ceiling", "resnet50_top1")
        np.testing.assert_allclose(ours, [published[name][experiment] for name in names], atol=1e-5)
        choices[experiment], trials[experiment] = observed(benchmark, model), benchmark.assembly
    table = model_vs_human(choices, trials)
    np.testing.assert_allclose(table.loc["mean"], expected["model_vs_human_tables"]["resnet50"], atol=5e-4)
