"""Packaged data on this disk, loaded by identifier: their folder becomes a plugin that registers them."""

import json
from pathlib import Path

from bsjax.core.files import write_atomically
from bsjax.core.left_behind import files_in
from bsjax.data.catalogue.registry import load_stimulus_set
from bsjax.data.files.netcdf import read_assembly
from bsjax.data.files.stimulus_files import read_stimulus_set
from bsjax.data.publishing.drafts import MANIFEST, read_manifest
from bsjax.data.publishing.upload import packaged_files
from bsjax.data.types.assemblies import DataAssembly
from bsjax.data.types.merging import attach_stimulus_set
from bsjax.data.types.stimuli import StimulusSet

_HEADING = '"""Packaged data; `bsjax data package` writes this file."""\n\n'
_IMPORTS = """from pathlib import Path

from bsjax import data_registry, stimulus_set_registry
from bsjax.data import load_packaged

"""
_TESTS_HEADING = '"""Tests of packaged data; `bsjax data package` writes this file."""\n\n'
_TESTS = {
    "stimulus_set": """
@pytest.mark.parametrize("identifier", {})
def test_stimulus_sets(identifier):
    stimuli = load_stimulus_set(identifier)
    assert len(stimuli) and stimuli["stimulus_id"].is_unique
    assert all(path.is_file() for path in stimuli.stimulus_paths.values())
""",
    "assembly": """
@pytest.mark.parametrize("identifier", {})
def test_assemblies(identifier):
    assembly = load_dataset(identifier)
    assert assembly.size
    stimuli = assembly.attrs.get("stimulus_set")
    assert stimuli is None or set(assembly["stimulus_id"].values) <= set(stimuli["stimulus_id"])
""",
}
_REGISTRIES = {"stimulus_set": "stimulus_set_registry", "assembly": "data_registry"}


def load_packaged(package: str | Path, kind: str = "assembly") -> DataAssembly | StimulusSet:
    """Load a packaged assembly, with its stimulus set by identifier, or a packaged stimulus set, from this disk.

    Args:
        package: the ``.package.json`` that ``bsjax data package`` wrote, or a folder with only one.
        kind: ``"assembly"`` or ``"stimulus_set"``.

    Raises:
        FileNotFoundError: the package or one of its files is missing.
        ValueError: the package holds no such data, or a file was changed after packaging.
        KeyError: the stimulus set of the assembly is not registered.

    Example:
        >>> import tempfile
        >>> from bsjax.benchmarks.families.simulated.procedural import procedural_stimuli
        >>> from bsjax.data.publishing.drafts import package_drafts
        >>> stimuli = procedural_stimuli("Doe2026", 1, 16, 8.0, seed=0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = package_drafts(stimuli, None, "Doe2026", folder=folder)
        ...     len(load_packaged(folder, "stimulus_set"))
        6
    """
    packages = read_manifest(package)
    if kind not in packages:
        raise ValueError(f"{package} holds no {kind}, only: {', '.join(packages)}")
    noted = packages[kind]
    packaged_files(noted)
    if kind == "stimulus_set":
        stimuli = read_stimulus_set(noted["csv_path"], noted["zip_path"])
        stimuli.identifier = noted["identifier"]
        return stimuli
    assembly = read_assembly(noted["path"], noted["cls"])
    if noted["stimulus_set_identifier"] is not None:
        assembly = attach_stimulus_set(assembly, load_stimulus_set(noted["stimulus_set_identifier"]))
    assembly.attrs["identifier"] = noted["identifier"]
    return assembly


def register_packages(folder: str | Path) -> tuple[Path, str]:
    """Turn a folder of packages into a plugin that registers and tests all of them; a user's own plugin is kept.

    Returns:
        The path of its ``__init__.py``; and the code to be added to it by hand, or "" if it was written.

    Raises:
        OSError, ValueError: a file cannot be written, or a package cannot be read.
    """
    folder = Path(folder)
    lines: dict[str, str] = {}
    named: dict[str, dict[str, None]] = {kind: {} for kind in _TESTS}
    for file in files_in(folder, f"*{MANIFEST}"):
        for kind, noted in read_manifest(file).items():
            name, where, about = map(json.dumps, (noted["identifier"], file.name, noted.get("about", "")))
            named[kind][noted["identifier"]] = None
            load = f'lambda: load_packaged(Path(__file__).with_name({where}), "{kind}")'
            lines[kind + name] = f"{_REGISTRIES[kind]}.register({name}, {load}, {about})\n"
    init, code = folder / "__init__.py", "".join([_IMPORTS, *lines.values()])
    if init.exists() and not init.read_text().startswith(_HEADING):
        return init, code
    tests = folder / "test.py"
    if not tests.exists() or tests.read_text().startswith(_TESTS_HEADING):
        functions = [text.format(json.dumps([*named[kind]])) for kind, text in _TESTS.items() if named[kind]]
        loaders = "from bsjax import load_dataset, load_stimulus_set\n\n"
        made = "\n".join([f"{_TESTS_HEADING}import pytest\n\n{loaders}", *functions])
        write_atomically(tests, made.encode())
    return write_atomically(init, (_HEADING + code).encode()), ""
