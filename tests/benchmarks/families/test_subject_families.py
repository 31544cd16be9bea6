"""Each family of recordings of several subjects, from a file of the real shape on a server to its score.

What the score should be is computed by hand from the same arrays.
"""

import sys

import numpy as np
import pytest

from bsjax import load_benchmark
from bsjax.metrics import ALPHAS
from tests.benchmarks.conftest import parts
from tests.benchmarks.rows.test_survey import PENALTIES
from tests.support import benchmarks_by_hand as by_hand
from tests.support import served_data as served
from tests.support.experiment import Experiment, experiment_of, model_of

pytestmark = pytest.mark.slow


N_TRAIN, N_TEST = 40, 16
KEPT = {"s1": [0, 1, 2, 3], "s2": [6, 7, 8, 9]}  # of ten neuroids: 4 is unreliable, 5 is elsewhere
REGIONS = {"V1": "V2", "V2": "V1", "V4": "V1", "IT": "V4"}


@pytest.fixture
def train_and_test(serve):
    """Serves training stimuli shown once and test stimuli shown four times, of ten neuroids in two subjects."""

    def make(name: str, region: str, coord: str, threshold: float) -> tuple[Experiment, Experiment]:
        train = experiment_of(10, N_TRAIN, n_repetitions=1, prefix="train")
        test = experiment_of(10, N_TEST, prefix="test")
        neuroids = {
            "region": [region] * 5 + [REGIONS[region]] + [region] * 4,
            "subject": ["s1"] * 6 + ["s2"] * 4,
            coord: threshold + np.where(np.arange(10) == 4, 0.0, 0.1),  # at the threshold is not above it
        }
        for part, here in (("train", train), ("test", test)):
            assembly = served.assembly_of(here.trials, here.stimuli, [(0, 1)], **neuroids)
            serve(f"{name}_{part}", assembly, here.stimuli)
        return train, test

    return make


def by_subject(regression, train: Experiment, test: Experiment, subjects=KEPT) -> tuple[np.ndarray, ...]:
    """Median r over the neuroids of each subject, and each subject's ceiling."""
    raw, ceilings = [], []
    for kept in subjects.values():
        sides = train.features, test.features, train.means[:, kept], test.means[:, kept]
        raw.append(np.median(by_hand.train_test(regression, *sides)))
        ceilings.append(by_hand.internal_consistency(test.trials[:, :, kept]))
    return np.array(raw), np.array(ceilings)


@pytest.mark.parametrize(
    ("identifier", "data", "coord", "threshold", "regression"),
    [
        ("Papale2025.IT-ridge", "Papale2025", "reliability", 0.3, by_hand.ridge),
        ("Papale2025.IT-ridgecv", "Papale2025", "reliability", 0.3, by_hand.ridgecv(ALPHAS)),
        ("Hebart2023_fmri.V2-ridge", "Hebart2023_fmri", "nc_testset", 30, by_hand.ridge),
    ],
)
def test_each_subject_by_itself(train_and_test, same_as_published, identifier, data, coord, threshold, regression):
    region = identifier.partition(".")[2].partition("-")[0]
    train, test = train_and_test(data, region, coord, threshold)
    model = model_of(region, train, test)
    score = load_benchmark(identifier)(model)
    raw, ceilings = by_subject(regression, train, test)
    assert (raw > 0.3).all() and (ceilings > 0.3).all()
    assert float(score.unceiled) == pytest.approx(raw.mean(), abs=1e-6)
    assert float(score) == pytest.approx(by_hand.explained(raw, ceilings).mean(), abs=1e-6)
    assert score.n_units == 8
    if data == "Papale2025":
        same_as_published(score, model)
    assert (score.provenance["n_stimuli"], score.provenance["n_train_stimuli"]) == (N_TEST, N_TRAIN)


def test_dissimilarities_of_training_and_test_stimuli_together(train_and_test):
    train, test = train_and_test("Allen2022_fmri_4subj", "V4", "nc_testset", 30)
    score = load_benchmark("Allen2022_fmri_4subj.V4-rdm")(model_of("V4", train, test))
    features, means = (
        np.concatenate([getattr(part, name) for part in (train, test)]) for name in ("features", "means")
    )
    raw, ceiling = by_hand.rdm_score(features, [means[:, kept] for kept in KEPT.values()])
    assert parts(score) == pytest.approx((raw, ceiling, raw / ceiling), abs=1e-6)
    assert score.provenance["n_stimuli"] == N_TRAIN + N_TEST


def test_electrodes_over_time_are_neuroids(serve):
    starts = np.round(np.arange(-0.2, 0.8, 0.01), 2)  # seconds
    bins = [(start, np.round(start + 0.01, 2)) for start in starts]
    inside = (starts >= 0) & (starts <= 0.59)
    assert inside.sum() == 60
    parts = {
        "train": experiment_of(4 * 60, N_TRAIN, n_repetitions=2, prefix="train"),
        "test": experiment_of(4 * 60, N_TEST, prefix="test"),
    }
    for name, here in parts.items():
        values = np.full((*here.trials.shape[:2], 4, 100), 7.0)
        values[..., inside] = here.trials.reshape(*here.trials.shape[:2], 4, 60)
        assembly = served.assembly_of(values, here.stimuli, bins, subject=["s1", "s1", "s2", "s2"])
        serve(f"Gifford2022_{name}", assembly, here.stimuli)
    benchmark = load_benchmark("Gifford2022.IT-ridgecv")
    score = benchmark(model_of("IT", *parts.values()))
    regression = by_hand.ridgecv(PENALTIES["23 values"])
    raw, ceilings = by_subject(regression, *parts.values(), {"s1": np.arange(120), "s2": np.arange(120, 240)})
    assert float(score.unceiled) == pytest.approx(raw.mean(), abs=1e-6)
    assert float(score) == pytest.approx(by_hand.explained(raw, ceilings).mean(), abs=1e-6)
    assert benchmark.test["time_bin_start"].item() == 0 and benchmark.test["time_bin_end"].item() == 600  # ms


SUBJECTS = ["sub-01", "sub-03", "sub-05", "sub-06", "sub-07"]
NC = np.array([50.0, 64.0, 30.0, 90.0, 40.0, np.nan, 81.0])  # 30 is not above the threshold
VOXELS = [0, 1, 3, 4]  # above it, and in V1
N_IMAGES, PART = 48, np.array(["train"] * 32 + ["test"] * 12 + [""] * 4)


@pytest.fixture
def scanned(serve):
    """Five people who saw the same images; their files say which train and which test, or do not."""

    def make(prefix: str = "Zerbe2026_fmri", coord: bool = True) -> dict[str, Experiment]:
        people = {}
        shared = experiment_of(7, N_IMAGES)
        for seed, subject in enumerate(SUBJECTS):
            rng = np.random.default_rng([3, seed])
            signal = shared.features[:, :6] @ rng.normal(size=(6, 7)) + rng.normal(size=(N_IMAGES, 7))
            trials = signal + 1.5 * rng.normal(size=(4, N_IMAGES, 7))
            people[subject] = Experiment(shared.stimuli, shared.features, trials)
            assembly = served.assembly_of(trials, shared.stimuli, [(0, 1)], region=["V1"] * 6 + ["V2"], nc_12rep=NC)
            assembly = assembly.isel(time_bin=0, drop=True)
            if coord:
                assembly = assembly.assign_coords(split_tau=("presentation", np.tile(PART, 4)))
            serve(f"{prefix}_full_{subject}", assembly, shared.stimuli)
        return people

    return make


def means_of(people: dict[str, Experiment], rows: np.ndarray) -> list[np.ndarray]:
    return [person.means[rows][:, VOXELS] for person in people.values()]


def expected_of_a_split(people: dict[str, Experiment], train: np.ndarray, test: np.ndarray) -> tuple[float, float]:
    """Mean over people of the median r, and of (r/c)²."""
    regression = by_hand.ridgecv([10.0**exponent for exponent in range(-10, 11)])
    features = people["sub-01"].features
    pairs = zip(means_of(people, train), means_of(people, test), strict=True)
    each = [by_hand.train_test(regression, features[train], features[test], *pair) for pair in pairs]
    raw = np.median(each, axis=1)
    ceiling = np.median(np.sqrt(NC[VOXELS] / 100))
    return raw.mean(), (np.sign(raw) * (raw / ceiling) ** 2).mean()


def test_a_published_split_of_each_subject(scanned):
    people = scanned()
    score = load_benchmark("Zerbe2026_fmri.V1-tau-ridgecv")(people["sub-01"].model("V1"))
    raw, ceiled = expected_of_a_split(people, PART == "train", PART == "test")
    assert raw > 0.3
    assert parts(score) == pytest.approx((raw, np.median(np.sqrt(NC[VOXELS] / 100)), ceiled), abs=1e-6)
    assert score.raw["subject"].values.tolist() == SUBJECTS and score.n_units == 20


def test_a_split_from_the_package_of_its_publishers(scanned, monkeypatch, tmp_path):
    """A package of that name, with the function that the real one has: it is not published where pip looks."""
    package = tmp_path / "site" / "laion_fmri"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "splits.py").write_text(
        "def get_train_test_ids(name, pool):\n"
        "    assert name == 'ood' and pool.startswith('sub-'), (name, pool)\n"
        "    return [f'image{i:03d}' for i in range(8, 48)], [f'image{i:03d}' for i in range(8)]\n"
    )
    monkeypatch.syspath_prepend(package.parent)
    people = scanned("Zerbe2026_fmri_persubject", coord=False)
    try:
        score = load_benchmark("Zerbe2026_fmri_persubject.V1-ood-ridgecv")(people["sub-01"].model("V1"))
    finally:
        for name in [name for name in sys.modules if name.startswith("laion_fmri")]:
            del sys.modules[name]
    raw, ceiled = expected_of_a_split(people, np.arange(8, 48), np.arange(8))
    assert (float(score.unceiled), float(score)) == pytest.approx((raw, ceiled), abs=1e-6)


def test_without_the_split_it_is_said_how_to_have_it(scanned):
    people = scanned(coord=False)
    with pytest.raises(ImportError, match="laion_fmri, which is not installed: pip install .*'split_tau' on presentat"):
        load_benchmark("Zerbe2026_fmri.V1-tau-ridgecv")(people["sub-01"].model("V1"))


def test_dissimilarities_of_each_subject(scanned):
    people = scanned()
    score = load_benchmark("Zerbe2026_fmri.V1-rdm-pearson")(people["sub-01"].model("V1"))
    rows = PART != ""
    features = people["sub-01"].features[rows]
    raw = [by_hand.rdm_score(features, [means])[0] for means in means_of(people, rows)]
    ceiling = np.sqrt(NC[VOXELS] / 100).mean()
    assert parts(score) == pytest.approx((np.mean(raw), ceiling, np.mean(raw) / ceiling), abs=1e-6)


def test_subjects_are_the_ceiling_of_each_other(scanned):
    people = scanned()
    score = load_benchmark("Zerbe2026_fmri.V1-cka")(people["sub-01"].model("V1"))
    rows = PART != ""
    features = people["sub-01"].features[rows]
    raw = [by_hand.unbiased_cka(features, means) for means in means_of(people, rows)]
    np.testing.assert_allclose(score.unceiled.raw, raw, atol=1e-9)
    ceiling = by_hand.between(means_of(people, rows))
    assert parts(score) == pytest.approx((np.mean(raw), ceiling, np.mean(raw) / ceiling), abs=1e-9)
    assert score.ceiling.raw.sizes == {"pair": 10}
