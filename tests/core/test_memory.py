"""Memory: what there is, what an extraction takes, and how it is made to fit."""

import sys

import numpy as np
import pytest
from PIL import Image

from bsjax import StimulusSet
from bsjax.activations import SparseRandomProjection, Subsampling
from bsjax.adapters import from_jax, unit_preprocessing
from bsjax.core.memory import _of_cgroup, available_memory, forget_peak, parse_bytes, peak_held
from tests.support.processes import printed_by


def wide(images):
    """64 times the image: 300,000 units at 40 pixels."""
    return {
        "wide": images[:, None] * images.mean((1, 2, 3))[:, None, None, None, None] * WEIGHTS,
        "one": images.mean(3),
    }


WEIGHTS = np.linspace(0, 1, 64, dtype=np.float32)[None, :, None, None, None]


def test_sizes_are_read_with_their_units():
    assert [parse_bytes(size) for size in ("2GB", "2 gib", "1.5k", "7", 12, 1e3)] == [2e9, 2**31, 1500, 7, 12, 1000]
    for bad in ("", "GB", "-1", "2 XB", 0, "0.1"):
        with pytest.raises(ValueError, match="expected a size in bytes such as '2GB'"):
            parse_bytes(bad)


def test_the_limit_of_a_control_group_counts(tmp_path):
    (tmp_path / "memory.max").write_text("1000\n")
    (tmp_path / "memory.current").write_text("700\n")
    (tmp_path / "memory.stat").write_text("anon 300\ninactive_file 150\n")
    assert _of_cgroup(tmp_path) == 450  # files that are only held can go
    (tmp_path / "memory.max").write_text("max\n")
    assert _of_cgroup(tmp_path) is None
    (tmp_path / "memory.max").unlink()  # of the older kind
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory/memory.limit_in_bytes").write_text("1000")
    (tmp_path / "memory/memory.usage_in_bytes").write_text("1300")
    (tmp_path / "memory/memory.stat").write_text("total_inactive_file 100")
    assert _of_cgroup(tmp_path) == 0
    assert _of_cgroup(tmp_path / "absent") is None


def write_images(folder, n, size):
    rng = np.random.default_rng(0)
    for number in range(n):
        Image.fromarray(rng.integers(0, 256, (size, size, 3), np.uint8)).save(folder / f"{number}.png")


@pytest.fixture
def shown(tmp_path):
    write_images(tmp_path, 40, 40)
    ids = [str(n) for n in range(40)]
    return StimulusSet({"stimulus_id": ids}, stimulus_paths={i: tmp_path / f"{i}.png" for i in ids})


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured by what Linux tells of a process")
def test_a_budget_makes_batches_small_and_puts_results_on_disk(shown):
    model = from_jax(wide, "net", unit_preprocessing(40), batch_size=32, cache=None)
    whole = model(shown, "wide")
    assert not isinstance(whole.values.base, np.memmap)
    tight = model.with_options(memory="40MB")
    estimate = tight.estimate(shown, "wide")
    assert estimate.batch_size < 32 and estimate.results == 0 and estimate.disk == whole.nbytes
    assert estimate.total <= 40e6
    squeezed = tight(shown, "wide")
    assert isinstance(squeezed.variable._data, np.memmap) or isinstance(squeezed.values.base, np.memmap)
    np.testing.assert_allclose(squeezed.values, whole.values, rtol=1e-6)
    with pytest.raises(ValueError, match="'wide' with shape"):
        model.with_options(memory="100kB")(shown, ["one", "wide"])


def test_a_reducer_is_counted(shown):
    model = from_jax(wide, "net", unit_preprocessing(40), cache=None)
    assert model.with_options(reducer=Subsampling(1000)).estimate(shown, "wide").results == 40 * 1000 * 4
    estimate = model.with_options(reducer=SparseRandomProjection(500)).estimate(shown, "wide")
    assert estimate.results == 40 * 500 * 4
    assert estimate.reducer == pytest.approx(8 * 500 * np.sqrt(64 * 40 * 40 * 3), rel=1e-3)


_MEASURED = """
import sys
import torch
from bsjax import StimulusSet
from bsjax.core.memory import peak_during
from bsjax.adapters import from_torch, imagenet_preprocessing
torch.manual_seed(0)
layers = [torch.nn.Conv2d(3, 32, 5), torch.nn.ReLU(), torch.nn.Conv2d(32, 48, 5), torch.nn.ReLU()]
model = from_torch(torch.nn.Sequential(*layers), "net", preprocess=imagenet_preprocessing(64), cache=None)
ids = [str(n) for n in range(256)]
shown = StimulusSet({"stimulus_id": ids}, stimulus_paths={i: f"{sys.argv[1]}/{i}.png" for i in ids})
if sys.argv[2] == "estimate":
    print(model.estimate(shown, ["1", "3"]).total)
else:
    print(peak_during(lambda: model(shown, ["1", "3"])))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured by what Linux tells of a process")
def test_the_estimate_is_right_to_a_third(tmp_path):
    pytest.importorskip("torch")
    write_images(tmp_path, 256, 64)

    def measured(what):
        # In processes of their own: memory that an estimate has freed is there to be used again, and would not count.
        return int(printed_by("-c", _MEASURED, tmp_path, what))

    # It depends on the moment how far ahead batches are decoded.
    assert measured("estimate") == pytest.approx(measured("peak"), rel=0.3)


@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured by what Linux tells of a process")
def test_a_share_bounds_what_a_process_can_still_take(monkeypatch):
    free, held = available_memory(), peak_held()
    monkeypatch.setenv("BSJAX_MEMORY", "1MB")  # which it holds already
    assert available_memory() == 0
    monkeypatch.setenv("BSJAX_MEMORY", str(held + free // 4))
    assert 0 < available_memory() <= held + free // 4 and available_memory() < free
    monkeypatch.setenv("BSJAX_MEMORY", str(100 * free))
    assert available_memory() <= 1.1 * free
    monkeypatch.setenv("BSJAX_MEMORY", "much")
    with pytest.raises(ValueError, match="expected a size in bytes such as '2GB'.*, got 'much'"):
        available_memory()


@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured by what Linux tells of a process")
def test_a_peak_is_forgotten():
    if not forget_peak():
        pytest.skip("this system keeps the peak of a process as it is")
    np.ones(20_000_000).sum()
    after = peak_held()
    forget_peak()
    assert peak_held() < after - 100_000_000
