"""What all tests share: strict JAX, hypothesis profiles, a private home folder, the optional recordings.

Settings are made when pytest starts, not in fixtures, so that they also hold for the doctests of the package
and for the processes that tests start.
"""

import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.support.xla_flags import FLAGS

# A test process has one core of its own: without this the linear algebra libraries of each would start a
# thread for every core. It must be said before any of them is loaded.
if "PYTEST_XDIST_WORKER" in os.environ:
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")

# The tests compile many small programs and run each a few times: most of their time would go into optimising them.
os.environ["XLA_FLAGS"] = " ".join([os.environ.get("XLA_FLAGS", ""), *FLAGS]).strip()
# Nor do they read where in Python each step of a program comes from, which costs a sixth of tracing and compiling it.
os.environ.setdefault("JAX_TRACEBACK_IN_LOCATIONS_LIMIT", "0")

import hypothesis
import jax
import jaxtyping
import pytest

from bsjax.core.memory import give_back_free_memory
from tests.support.disks import mounted_disk
from tests.support.paths import REPOSITORY

# The S3 server is in reach of every test that asks for it, with all that its fixtures stand on.
pytest_plugins = ["tests.support.s3_fixtures"]

_HOME = pytest.StashKey[str]()
_TESTS, _STAYS = pytest.StashKey[int](), pytest.StashKey[int]()
_TYPED = [REPOSITORY / "tests" / folder for folder in ("engine", "metrics", "oracle")]
_LOOK_EVERY, _MANY_MAPS, _MUCH_MEMORY = 40, 45_000, 2_000_000_000

# Compilation makes first examples slow, and a shared machine all of them: time is no sign of an error here.
_COMMON = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
hypothesis.settings.register_profile("dev", max_examples=15, **_COMMON)
hypothesis.settings.register_profile(
    "ci", parent=hypothesis.settings.get_profile("dev"), derandomize=True, print_blob=True
)


# The heap is large and tests leave little behind in it: looking for garbage as often as Python does costs a tenth.
gc.set_threshold(50_000, 20, 20)


def pytest_configure(config: pytest.Config) -> None:
    profile = "ci" if os.environ.get("CI") else "dev"
    hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", profile))

    # What a shell starts in the background ignores interrupts, and hands that on to the processes that tests interrupt.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)

    # An implicit mix of dtypes or broadcast of ranks is a mistake in a kernel, though JAX would let it pass.
    jax.config.update("jax_numpy_dtype_promotion", "strict")
    jax.config.update("jax_numpy_rank_promotion", "raise")

    # One home and one cache of compiled programs for the whole session: its processes take what another has compiled.
    if "PYTEST_XDIST_WORKER" not in os.environ:
        config.stash[_HOME] = os.environ["BSJAX_HOME"] = tempfile.mkdtemp(prefix="bsjax-tests-")
    # A store each: a process that computes a cell of a shared one has the others wait for it.
    worker = os.environ.get("PYTEST_XDIST_WORKER", "alone")
    os.environ["BSJAX_RESULTS"] = str(Path(os.environ["BSJAX_HOME"]) / f"results-{worker}.db")
    jax.config.update("jax_compilation_cache_dir", str(Path(os.environ["BSJAX_HOME"]) / "compiled"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)


def pytest_unconfigure(config: pytest.Config) -> None:
    if _HOME in config.stash:
        shutil.rmtree(config.stash[_HOME], ignore_errors=True)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Examples of kernels call them as they are: each step is a program to compile, half a second on the average."""
    for item in items:
        if isinstance(item, pytest.DoctestItem) and REPOSITORY / "bsjax" / "metrics" in item.path.parents:
            item.add_marker(pytest.mark.slow)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Checks shapes and dtypes of annotations where kernels are tested: elsewhere it takes time, and shows no more."""
    jaxtyping.config.update("jaxtyping_disable", not any(folder in item.path.parents for folder in _TYPED))


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Lets compiled programs go before the process has as many memory maps as Linux allows it (65,530), or too much
    memory. What stays all the same is no reason to do so again."""
    stash = item.session.stash
    tests = stash[_TESTS] = stash.get(_TESTS, 0) + 1
    maps, pages = Path("/proc/self/maps"), Path("/proc/self/statm")
    if tests % _LOOK_EVERY or not pages.exists():
        return
    held = int(pages.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    most = max(_MUCH_MEMORY, stash.get(_STAYS, 0) + _MUCH_MEMORY // 4)
    if held > most or maps.read_bytes().count(b"\n") > _MANY_MAPS:
        jax.clear_caches()
        gc.collect()
        give_back_free_memory()
        stash[_STAYS] = int(pages.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of recordings beside the repository: ``$BSJAX_SHARED_DATA`` or ``../shared/data``."""
    folder = Path(os.environ.get("BSJAX_SHARED_DATA", REPOSITORY.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no recordings at {folder}; set BSJAX_SHARED_DATA to the folder that holds them")
    return folder


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own with 400 kB."""
    with mounted_disk(tmp_path / "disk", "400k") as disk:
        yield disk
