"""Jobs of a cluster run the steps of submissions: a command as Slurm has it, and the workers of Dask."""

import platform
import stat
import subprocess
import sys
import time

import pytest

from bsjax.results import ResultStore
from bsjax.submission import elsewhere, queue
from bsjax.submission.worker import work


@pytest.fixture
def store(tmp_path):
    with ResultStore(tmp_path / "results.db") as opened:
        yield opened


@pytest.fixture
def add(store, tmp_path):
    """``add(name)``: a submission whose only step says that nothing is required."""

    def made(name):
        folder = tmp_path / name / "files"
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text("")
        return queue.add(store, name=name, folder=folder, content="0" * 64, kinds=["model"], steps=["install"])

    return made


def ended(store, made):
    return [queue.submission(store, each.id).state for each in made]


@pytest.mark.slow
def test_by_a_command_as_slurm_has_it(store, add, tmp_path):
    """It answers at once, and runs what it was given later."""
    sbatch = tmp_path / "sbatch"
    sbatch.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\nsh -c "${{2#--wrap=}}" >/dev/null 2>&1 &\n')
    sbatch.chmod(sbatch.stat().st_mode | stat.S_IXUSR)
    made = [add("one")]
    start = elsewhere.by_command(store, f"{sbatch} --mem={{memory}}G --wrap={{command}}")
    assert elsewhere.send(store, start, until_idle=True) == 1
    for _ in range(600):
        if ended(store, made) == ["done"]:
            break
        time.sleep(0.1)
    assert ended(store, made) == ["done"]
    asked = (tmp_path / "asked").read_text()
    assert asked.count("--mem=4G") == 1 and str(store.place) not in asked


def test_a_command_that_starts_nothing(store, add):
    add("one")
    start = elsewhere.by_command(store, f"{sys.executable} -c 'raise SystemExit(\"no partition\")' {{command}}")
    with pytest.raises(RuntimeError, match="starts no job: no partition"):
        elsewhere.send(store, start, until_idle=True)
    with pytest.raises(ValueError, match="must have {command} in it"):
        elsewhere.by_command(store, "sbatch")


@pytest.mark.slow
def test_on_the_workers_of_dask(store, add):
    distributed = pytest.importorskip("distributed")
    made = [add("one"), add("two")]
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster:
        with elsewhere.by_dask(store, cluster.scheduler_address) as start:
            elsewhere.send(store, start, until_idle=True)
        assert ended(store, made) == ["done", "done"]


@pytest.mark.slow
def test_a_worker_that_has_lost_its_step_leaves_the_folder_of_the_next_alone(store, add):
    made, there = add("one"), []
    folder = made.folder.with_name("work")
    (folder / "1.0").mkdir(parents=True)
    (folder / "1.0" / "worker").write_text(gone())

    def said(line):
        if not there:
            there.append([path.name for path in folder.iterdir()])
            queue.cancel(store, made.id)
            queue.retry(store, made.id)
            work(store, until_idle=True)
            there.append([path.name for path in folder.iterdir()])

    work(store, until_idle=True, said=said)
    assert there == [["1.1"], ["1.1"]] and ended(store, [made]) == ["done"] and not [*folder.iterdir()]


def gone():
    """The name of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return f"{platform.node()} {process.pid}"
