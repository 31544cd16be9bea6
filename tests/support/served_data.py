"""Small data under the names of published ones: on an S3 server, at their real buckets and keys.

``serve`` puts an assembly, and its stimuli, where the catalogue says that the published ones lie, and registers the
same entries with the digests of these files. So ``load_dataset("MajajHong2015.public")`` goes its whole way: the
registry, HTTP, the digest, netCDF, the table and archive of the stimulus set, the merge of its columns, the
post-processing. In a test, take the fixture::

    def test_a_score(serve):
        stimuli = served.stimuli_of(40, object_name=["dog", "car"] * 20)
        serve("MajajHong2015.public", served.assembly_of(values, stimuli, region=["IT"] * 6), stimuli)
        assert load_dataset("MajajHong2015.public").stimulus_set.identifier == "hvm-public"
"""

import itertools
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from bsjax import NeuroidAssembly, StimulusSet
from bsjax.core.digests.files import sha1_hash
from bsjax.core.registry import Registry
from bsjax.data import data_registry, load_stimulus_set, stimulus_set_registry
from bsjax.data.catalogue.loading import load_assembly, load_stimuli
from bsjax.data.catalogue.published import Published, published
from bsjax.data.files.netcdf import write_netcdf
from bsjax.data.files.stimulus_files import stimulus_filenames, write_stimulus_csv, write_stimulus_zip

_numbers = itertools.count()


@contextmanager
def serving(s3: Any, monkeypatch: Any, folder: Path) -> Iterator[Callable[..., None]]:
    """Gives ``serve(name, assembly=None, stimuli=None)``; at the end the registries are as they were.

    It makes small data what ``load_dataset(name)`` and ``load_stimulus_set`` give:

    - name: of a published assembly; of a stimulus set where there is no assembly.
    - assembly: values and coordinates, without what its stimulus set will add. It goes through the post-processing of
      the published one, so it must look as the file does.
    - stimuli: the stimuli of the assembly, registered under the name of the assembly's published set. For stimuli
      behind an agreement a folder is written, and its environment variable set.

    Args:
        s3: client of the server (the fixture ``s3``), to which bsjax is led by the fixture ``relay``.
        monkeypatch: for the environment variable.
        folder: for the files, before they are on the server.
    """
    before: list[tuple[Registry, str, Any, str]] = []

    def register(registry: Registry, name: str, factory: Callable[..., Any]) -> None:
        before.append((registry, name, registry[name], registry.summary(name)))
        registry.register(name, factory)

    def serve(name: str, assembly: NeuroidAssembly | None = None, stimuli: StimulusSet | None = None) -> None:
        stimulus_set = name
        if assembly is not None:
            path = folder / f"{next(_numbers)}.nc"
            write_netcdf(assembly, path)
            entry = _put(s3, published("assembly")[name], [path])
            register(data_registry, name, partial(load_assembly, entry, load_stimulus_set))
            stimulus_set = entry.stimulus_set
        if stimuli is None:
            return
        entry = published("stimulus_set")[stimulus_set]
        if entry.archive:
            monkeypatch.setenv(entry.folder_variable, str(_as_folder(stimuli, folder)))
            return
        table, archive = folder / f"{next(_numbers)}.csv", folder / f"{next(_numbers)}.zip"
        write_stimulus_csv(stimuli, table)
        write_stimulus_zip(stimuli, archive)
        entry = _put(s3, entry, [table, archive])
        register(stimulus_set_registry, stimulus_set, partial(load_stimuli, entry))

    yield serve
    for registry, name, factory, summary in reversed(before):
        registry.register(name, factory, summary=summary)


def stimuli_of(n: int, prefix: str = "image", folder: Path | None = None, **columns: Iterable[Any]) -> StimulusSet:
    """Images of 4 x 4 pixels named ``image000`` ..., each grey of its own, and further columns of the table."""
    folder = Path(tempfile.mkdtemp()) if folder is None else folder
    ids = [f"{prefix}{number:03d}" for number in range(n)]
    paths = {stimulus_id: folder / f"{stimulus_id}.png" for stimulus_id in ids}
    for number, path in enumerate(paths.values()):
        Image.new("RGB", (4, 4), (number % 256, number // 256, 0)).save(path)
    return StimulusSet({"stimulus_id": ids, **columns}, stimulus_paths=paths)


def assembly_of(
    values: np.ndarray,
    stimuli: StimulusSet,
    time_bins: Iterable[tuple[float, float]] = ((70, 170),),
    repetition: str = "repetition",
    cls: type = NeuroidAssembly,
    **neuroids: Iterable[Any],
) -> NeuroidAssembly:
    """Single trials, repetition after repetition.

    Args:
        values: (repetitions, stimuli, neuroids), or with a last axis of time bins.
        stimuli: their ``stimulus_id``, in the order of the second axis.
        time_bins: start and end of each.
        repetition: name of the coordinate of the repetitions.
        cls: class of the result.
        neuroids: coordinates on neuroid, beside ``neuroid_id``.
    """
    n_repetitions, n_stimuli, n_neuroids = values.shape[:3]
    starts, ends = zip(*time_bins, strict=True)
    return cls(
        values.reshape(n_repetitions * n_stimuli, n_neuroids, len(starts)),
        coords={
            "stimulus_id": ("presentation", np.tile(stimuli["stimulus_id"].to_numpy(), n_repetitions)),
            repetition: ("presentation", np.repeat(np.arange(n_repetitions), n_stimuli)),
            "neuroid_id": ("neuroid", np.arange(n_neuroids)),
            **{name: ("neuroid", list(labels)) for name, labels in neuroids.items()},
            "time_bin_start": ("time_bin", list(starts)),
            "time_bin_end": ("time_bin", list(ends)),
        },
        dims=["presentation", "neuroid", "time_bin"],
    )


def _put(s3: Any, entry: Published, paths: list[Path]) -> Published:
    """The entry with the digests of these files, which are now at its keys."""
    changes: dict[str, Any] = {}
    prefixes = [""] if entry.kind == "assembly" else ["csv_", "zip_"]
    for prefix, file, path in zip(prefixes, entry.files, paths, strict=True):
        bucket = file.bucket
        s3.create_bucket(Bucket=bucket)  # one that is there stays as it is
        s3.put_object(Bucket=bucket, Key=file.key, Body=path.read_bytes())
        changes |= {f"{prefix}sha1": sha1_hash(path), f"{prefix}version_id": None}
    return replace(entry, **changes)


def _as_folder(stimuli: StimulusSet, folder: Path) -> Path:
    folder = folder / f"stimuli-{next(_numbers)}"
    folder.mkdir()
    names = stimulus_filenames(stimuli)
    for stimulus_id, name in zip(stimuli["stimulus_id"], names, strict=True):
        (folder / name).write_bytes(stimuli.get_stimulus(stimulus_id).read_bytes())
    lines = [f"{key},{name},/elsewhere/{name}" for key, name in zip(stimuli["stimulus_id"], names, strict=True)]
    (folder / "manifest.csv").write_text("\n".join(["stimulus_id,filename,path", *lines]) + "\n")
    return folder
