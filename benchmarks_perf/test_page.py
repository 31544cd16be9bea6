"""The page says what the results say: rendered from small results made by hand."""

import json

import pytest

from benchmarks_perf import page

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

ENVIRONMENT = {
    "when": "2026-11-22T10:00:00+00:00",
    "machine": {"processor": "A Processor", "cores": 2, "jax_devices": ["cpu"]},
    "python": "3.11.7",
    "versions": {"bsjax": "0.1.0", "jax": "0.10.2"},
    "peer_versions": {"ikpls": {"ikpls": "6.1.0"}},
}


def line(kind, median, **more):
    return {"kind": kind, "dtype": "float64", "first_s": 10 * median, "median_s": median, "peak_bytes": 3e7, **more}


def row(name, ours, theirs, when=ENVIRONMENT["when"], **more):
    smallest = {"bsjax float64": line("bsjax", 0.002), "ikpls": line("peer", 0.001)}
    return {
        "row": name,
        "title": f"{name}: 2560 stimuli",
        "input_bytes": 10_000_000,
        "stimuli_matrix_bytes": 5_000_000,
        "fast": False,
        "contestants": {
            "bsjax float64": line("bsjax", ours, warm_first_s=0.0123, score_error=3e-11),
            "ikpls": line("peer", theirs, score_error=None),
        },
        "times_faster": {"ikpls": {"bsjax float64": theirs / ours}},
        "floor": {"ratio": {"bsjax float64": 2.5}},
        "rates": {"gemm_flops_s": {"float64": {"jax": 7e10, "numpy": 8e10}}, "memory_bytes_s": {"jax": 2.4e10}},
        "environment": {**ENVIRONMENT, "when": when},
        "smallest": {"contestants": smallest, "times_faster": {"ikpls": {"bsjax float64": 0.5}}},
        **more,
    }


@pytest.fixture
def rendered(tmp_path):
    def render(*results):
        pytest.importorskip("matplotlib")
        for number, result in enumerate(results):
            (tmp_path / f"{number}.json").write_text(json.dumps(result))
        page.render(tmp_path, tmp_path / "docs" / "performance.md")
        assert (tmp_path / "docs" / "performance.png").read_bytes().startswith(b"\x89PNG")
        return (tmp_path / "docs" / "performance.md").read_text()

    return render


def test_every_number_of_a_row_is_on_the_page(rendered):
    text = rendered(row("pls", 0.234, 1.5), row("ridge", 2.0, 1.0))
    title = "| **pls**: pls: 2560 stimuli | bsjax float64 "
    ours = title + "| 2.34 s | 12.3 ms | 234 ms | 2 ms |  | 2.5× | 30 MB of 35 | 3e-11 |\n"
    assert ours + "|  | ikpls | 15 s |  | 1.5 s | 1 ms | 6.4× |  | 30 MB |  |\n" in text
    assert "ridge, bsjax float64 beside ikpls (0.50×); " in text
    assert "pls at 50 stimuli, bsjax float64 beside ikpls (0.50×)" in text
    assert "80 GFLOP/s in float64; memory 24 GB/s" in text and "ikpls 6.1.0" in text and "A Processor" in text
    assert "(performance.png)" in text


def test_the_newest_full_result_of_a_row_counts(rendered):
    old, fast = row("pls", 9.0, 99.0, when="2026-11-20T10:00:00+00:00"), row("pls", 7.0, 77.0, fast=True)
    on_card = row("pls", 0.001, 1.0)
    on_card["environment"] = {**ENVIRONMENT, "machine": {**ENVIRONMENT["machine"], "jax_devices": ["NVIDIA H100"]}}
    text = rendered(row("pls", 0.234, 1.5, smallest=None), old, fast, on_card)
    table, accelerated = text.split("## On an accelerator")
    assert table.count("**pls**") == 1 and "234 ms" in table and "1 ms" not in table
    assert accelerated.count("**pls**") == 1 and "NVIDIA H100" in accelerated and "| 1 ms |" in accelerated
    assert "No peer is faster than bsjax here." in text


def test_the_newest_draws_and_study_have_tables(rendered):
    def drawn(seconds, when):
        row = {"title": "9 draws", "seconds": seconds, "peer": "ikpls", "peer_seconds": 1200.0}
        environment = {**ENVIRONMENT, "when": when}
        return {"row": "draws", "draws": [row, {"title": "8 more", "seconds": 2.0}], "environment": environment}

    old, new = drawn(9.0, "2026-11-20T10:00:00+00:00"), drawn(0.5, "2026-11-23T10:00:00+00:00")
    study = {
        **{"row": "study", "title": "4,000 voxels", "floor_s": 20.0, "environment": ENVIRONMENT},
        "plan": {"seconds": 40.0, "peak_bytes": 3_900_000_000},
        "run": {"seconds": 45.0, "peak_bytes": 3_700_000_000},
        "peer": {"seconds": 444.0, "apart": {"median": 4e-7}},
    }
    table, of_study = rendered(row("pls", 0.234, 1.5), new, old, study).split("## A study of fMRI")
    table = table.split("## Draws and permutations")[1]
    assert "| 9 draws | 500 ms | ikpls 1.2e+03 s |" in table and "| 8 more | 2 s |  |" in table
    assert "2026-11-23" in table and "9 s" not in table
    assert "4,000 voxels" in of_study and "| 45 s | 3.70 GB |" in of_study and "| 40 s | 3.90 GB |" in of_study
    assert "444 s" in of_study and "4e-07" in of_study


def test_without_results_it_says_what_to_run(tmp_path):
    with pytest.raises(FileNotFoundError, match="run make perf first"):
        page.render(tmp_path, tmp_path / "performance.md")
