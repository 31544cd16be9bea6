"""A grid on workers of Dask: on this machine, and by a scheduler that runs elsewhere; workers and schedulers go."""

import http.server
import os
import random
import signal
import socket
import threading
import time
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import bsjax
from bsjax.core.watching import Stop
from bsjax.results import ResultStore
from bsjax.results.leases import workers_at
from bsjax.results.overview import runs
from bsjax.scoring import cluster, score_grid
from bsjax.scoring.cells import task_of
from bsjax.scoring.job import jobs_of
from bsjax.scoring.planning import Cell
from tests.support.spread_regression import metric, sides, spread_score
from tests.support.tiny_grid import Started, write_plugins

pytest.importorskip("distributed")
GB = 10**9


@pytest.fixture
def plugins(tmp_path):
    root = tmp_path / "plugins"
    write_plugins(root, 3, 3)
    return root


def tell(root, cell, what):
    (root / "told" / cell).write_text(what)


def values(place):
    with ResultStore(place, read_only=True) as store:
        frame = store.frame(latest=False, failures=False)
    assert not frame.duplicated(["model", "benchmark"]).any()
    return {(row.model, row.benchmark): row.score for row in frame.itertuples()}


def scored(root, place, *how, **variables):
    code, said = Started(root, "-m", "tests.support.tiny_grid", str(place), *how, **variables).ended(600)
    assert code == 0, said
    return said


@pytest.mark.slow
def test_ctrl_c_lets_workers_finish_what_they_are_at_and_the_rest_is_computed_once(plugins, tmp_path):
    place = tmp_path / "results.db"
    ResultStore(place).close()
    for model in range(3):
        for benchmark in range(3):
            tell(plugins, f"net{model} Tiny.b{benchmark}", "sleep 1")
    command = ("-m", "bsjax", "score", "-m", "net*", "-b", "Tiny.*", "--results", str(place), "--workers", "2")
    started = Started(plugins, *command)
    wait_for(lambda: len(values(place)) >= 2 or not started.is_running)
    started.signal(signal.SIGINT)
    code, said = started.ended()
    assert code == 130 and "stopped; run the same command again to compute the rest" in said, said
    assert "Traceback" not in said
    with ResultStore(place, read_only=True) as store:
        [run] = runs(store).to_dict("records")
    n_done = len(values(place))
    assert run["in_flight"] == 0 == run["failed"] and 2 <= run["done"] == n_done < 9
    said = scored(plugins, place, "2")
    assert said.count("state='scored'") == said.count("begun: ") == 9 - n_done and len(values(place)) == 9


@pytest.mark.slow
def test_a_cell_that_ends_its_worker_fails_alone(plugins, tmp_path):
    does = {"net0 Tiny.b1": "exit", "net1 Tiny.b1": "crash", "net2 Tiny.b1": "sleep 3600"}
    for cell, what in (does | {"net1 Tiny.b2": "3 GB"}).items():
        tell(plugins, cell, what)
    place = tmp_path / "results.db"
    command = ("-m", "bsjax", "score", "-m", "net*", "-b", "Tiny.*", "--results", str(place), "--workers", "2")
    started = Started(plugins, *command, "--timeout", "30", DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="1")
    code, said = started.ended()
    assert code == 1 and len(values(place)) == 6, said
    with ResultStore(place, read_only=True) as store:
        failures = store.frame(latest=False).query("state == 'failed'")
        [run] = runs(store).to_dict("records")
    reasons = {f"{row.model} {row.benchmark}": row.reason for row in failures.itertuples()}
    assert set(reasons) == {"net0 Tiny.b1", "net1 Tiny.b1", "net2 Tiny.b1"}
    assert "longer than 30 s" in reasons.pop("net2 Tiny.b1") and run["in_flight"] == 0 and run["failed"] == 3
    assert all("ended without a word, again and again" in reason for reason in reasons.values())
    # All are told, and nothing else is said of what Dask does.
    assert all(name.replace(" ", " on ") in said for name in does) and "distributed" not in said, said


# A grid of 4 models and 4 benchmarks, one of each built in, some with data from a server.

_MODELS, _BENCHMARKS = "net* pixels", "Tiny.* Simulated.V1-cka"


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """The plugins of a large grid, the address of its data, and its scores as one process computes them."""
    folder = tmp_path_factory.mktemp("large")
    (folder / "factor.txt").write_text("0.5")
    told = write_plugins(folder, 3, 3)
    for model in range(3):
        for benchmark in range(3):
            (told / f"net{model} Tiny.b{benchmark}").write_text("sleep 0.5")  # or all were done before one is killed
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    handler.log_message = lambda *args: None
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        data = {"TINY_DATA": f"http://127.0.0.1:{server.server_port}", "BSJAX_HOME": str(folder / "home")}
        scored(folder, folder / "one.db", "", _MODELS, _BENCHMARKS, **data)
        expected = values(folder / "one.db")
        assert len(expected) == 16
        yield SimpleNamespace(plugins=folder, data=data, expected=expected)
        server.shutdown()


@pytest.mark.slow
def test_a_grid_survives_two_workers_and_its_scheduler(large, tmp_path):
    place, rng = tmp_path / "results.db", random.Random(1)
    ResultStore(place).close()
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    scheduler = ("-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
    workers = ("-m", "distributed.cli.dask_worker", address, "--nworkers", "2", "--nthreads", "1")
    workers += ("--memory-limit", "0", "--no-dashboard")
    with kept_up(large, scheduler) as restart, kept_up(large, workers):
        grid = Started(
            large.plugins, "-m", "tests.support.tiny_grid", str(place), address, _MODELS, _BENCHMARKS, **large.data
        )
        killed: set[int] = set()
        for at_least in (2, 6):
            wait_for(lambda n=at_least: len(values(place)) >= n or not grid.is_running)
            time.sleep(rng.uniform(0, 0.5))
            killed |= kill_one(place, rng, killed)
        wait_for(lambda: len(values(place)) >= 10 or not grid.is_running)
        restart()
        code, said = grid.ended(600)
    assert code == 0, said
    assert len(killed) == 2 and said.count("Outcome(") == 16 == said.count("error=None"), said[-3000:]
    assert values(place) == pytest.approx(large.expected, rel=1e-9, nan_ok=True)


def kill_one(place, rng, killed):
    """Kill a worker that is at a cell; gives its process."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with ResultStore(place, read_only=True) as store:
            [run] = runs(store)["run"]
            there = {int(worker.split()[1]) for worker in workers_at(store, run).values()} - killed
        alive = sorted(pid for pid in there if os.path.exists(f"/proc/{pid}"))
        if alive:
            pid = rng.choice(alive)
            os.kill(pid, signal.SIGKILL)
            return {pid}
        time.sleep(0.01)
    raise AssertionError("no worker is at a cell")


@contextmanager
def kept_up(large, command):
    """Processes that are started again when they end, as by a queue of jobs; gives what ends them."""
    over = threading.Event()
    now = [Started(large.plugins, *command, **large.data)]

    def keep():
        while not over.wait(0.2):
            if not now[0].is_running:
                now[0].kill()
                now[0] = Started(large.plugins, *command, **large.data)

    keeper = threading.Thread(target=keep)
    keeper.start()
    try:
        yield lambda: now[0].kill()
    finally:
        over.set()
        keeper.join()
        now[0].kill()


def wait_for(condition, seconds=300):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


# How cells are handed out.


def cells(models, benchmarks, **known):
    return [Cell(job, task_of(job), **known) for job in jobs_of(models, benchmarks)]


def test_no_more_processes_at_a_time_than_memory_is_foreseen_for(monkeypatch):
    monkeypatch.setattr(cluster, "available_memory", lambda: 16 * GB)
    [small] = cells("pixels", "Simulated.V1-cka", memory=GB)
    [unknown] = cells("pixels", "Simulated.V1-rdm")
    [large] = cells("hmax", "Simulated.V1-cka", memory=7 * GB)
    [huge] = cells("hmax", "Simulated.V1-rdm", memory=40 * GB)
    assert cluster._waves([huge, small, large, unknown], 4) == [(4, [small, unknown]), (2, [large]), (1, [huge])]
    with pytest.raises(ValueError, match="workers must be at least 1, got 0"):
        cluster._waves([small], 0)


def test_cells_of_one_network_are_together_and_all_workers_have_some():
    model = bsjax.load_model("gabor-v1")
    layers = [model.with_region_layers({"V1": layer}, f"gabor-{layer}") for layer in ("simple", "complex")]
    of_two = cells([*layers, "pixels"], ["Simulated.V1-cka", "Simulated.V1-rdm"])
    assert [len(group) for group in cluster._groups(of_two, 1)] == [1] * 6
    many = of_two * 20
    groups = cluster._groups(many, 2)
    assert sum(groups, []) == many and max(map(len, groups)) <= 120 // 8
    assert [len(group) for group in groups[:2]] == [4, 2]


def test_a_task_asks_for_what_workers_say_that_they_have():
    [cell] = cells("pixels", "Simulated.V1-cka", memory=8 * GB)
    assert cluster._resources([{}, {"resources": {}}], [cell]) == {}
    workers = [{"resources": {"GPU": 1, "memory": 4 * GB}}, {"resources": {"GPU": 2, "memory": 16 * GB}}]
    assert cluster._resources(workers, [cell]) == {"GPU": 1, "memory": 8 * GB}
    # What needs more than there is runs where there is most: bsjax keeps within it.
    assert cluster._resources(workers[:1], [cell]) == {"GPU": 1, "memory": 4 * GB}
    [unknown] = cells("pixels", "Simulated.V1-cka")
    assert cluster._resources(workers, [unknown]) == {"GPU": 1}


def test_each_worker_has_a_card_of_its_own(monkeypatch, tmp_path):
    monkeypatch.setattr(cluster, "_CARDS", tmp_path)
    monkeypatch.delenv("JAX_PLATFORMS", raising=False)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert cluster._cards() == []
    for card in ("0000:01:00.0", "0000:02:00.0"):
        (tmp_path / card).mkdir()
    assert cluster._cards() == ["0", "1"]
    with pytest.raises(ValueError, match="got 3 workers and 2 GPUs: give workers=2"):
        list(cluster.run_on_cluster(None, cells("pixels", "Simulated.V1-cka"), 3, Stop()))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert cluster._cards() == ["1"]
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    assert cluster._cards() == []


@pytest.mark.slow
def test_a_scheduler_that_is_not_there_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "_FIRST", 1)
    with pytest.raises(ConnectionError, match="the Dask scheduler at tcp://127.0.0.1:9 cannot be reached"):
        score_grid("pixels", "Simulated.V1-cka", store=tmp_path / "results.db", workers="tcp://127.0.0.1:9")


@pytest.mark.slow
def test_an_object_that_cannot_be_sent_is_named(tmp_path):
    model = bsjax.load_model("pixels")
    model.lock = threading.Lock()
    with pytest.raises(ValueError, match="pixels cannot be sent to a worker .*: make it a plugin"):
        score_grid(model, "Simulated.V1-cka", store=tmp_path / "results.db", workers=1)


# The targets of one regression by several workers.

SIZES = 120, 300, 960


@pytest.fixture(scope="module")
def three_workers():
    distributed = pytest.importorskip("distributed")
    with cluster._own_cluster(3) as address, distributed.Client(address, set_as_default=False) as client:
        yield client


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the (small|larg)est penalty")
def test_a_lost_worker_costs_its_block_and_nothing_tells_that_targets_were_cut(three_workers):
    three_workers.get_task_stream()  # from now on
    cell = three_workers.submit(spread_score, 3, 1, *SIZES)
    killed = kill_one_with_a_block(three_workers)
    score, _ = cell.result(timeout=120)
    whole = metric()(*sides(*SIZES))
    np.testing.assert_allclose(score.raw, whole.raw, atol=1e-10)
    assert score.raw.drop_vars(score.raw.coords).dims == whole.raw.drop_vars(whole.raw.coords).dims
    assert float(score) == pytest.approx(float(whole), abs=1e-10) and score.error == pytest.approx(whole.error)
    assert score.provenance == whole.provenance and (score.raw["alpha"] == whole.raw["alpha"]).all()
    # Each block was fitted once: that of the lost worker was not finished there.
    done = [each for each in three_workers.get_task_stream() if "_fit_block" in each["key"]]
    assert len({each["key"] for each in done}) == len(done) == 3 and killed not in {each["worker"] for each in done}


def kill_one_with_a_block(client):
    """Kill a worker that fits a block of another worker's cell; gives its address."""
    processes: dict[str, int] = client.run(os.getpid)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        at = client.processing()
        cells = {worker for worker, tasks in at.items() if any("spread_score" in str(task) for task in tasks)}
        blocks = {worker for worker, tasks in at.items() if any("_fit_block" in str(task) for task in tasks)}
        for worker in blocks - cells:
            os.kill(processes[worker], signal.SIGKILL)
            return worker
        time.sleep(0.02)
    raise AssertionError("no other worker has a block")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the (small|larg)est penalty")
def test_features_of_equal_content_are_prepared_once_by_all_cells(three_workers):
    three_workers.get_task_stream()
    cells = [three_workers.submit(spread_score, 2, 2, *SIZES, pure=False) for _ in range(2)]
    names = {name for cell in cells for name in cell.result(timeout=120)[1]}
    assert len(names) == 1
    done = [each for each in three_workers.get_task_stream() if each["key"] in names]
    assert len(done) <= 2  # again only if no cell held it any more
