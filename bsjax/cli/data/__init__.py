"""``bsjax data``: check, package, publish, fetch and inspect data."""

from __future__ import annotations

import enum
import shlex
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bsjax.cli.checks import Allow, print_checks
from bsjax.cli.outputs import check_outputs
from bsjax.cli.terminal import complain, configure_jax
from bsjax.cli.transfers import transfers
from bsjax.core.discovery import one_line

if TYPE_CHECKING:
    from bsjax.data import DataAssembly, StimulusSet

app = typer.Typer(help="Check, package, publish, fetch and inspect data.", no_args_is_help=True, rich_markup_mode=None)

Files = Annotated[
    list[Path],
    typer.Argument(metavar="PATH", help="A table of stimuli (.csv), an assembly (.nc), or a folder of them."),
]
Folder = Annotated[
    Path | None,
    typer.Option("--files", metavar="DIR", help="Folder of the stimuli. [default: that of the table, or its .zip]"),
]
ClassName = Annotated[
    str | None,
    typer.Option("--class", metavar="NAME", help="Class of the assembly. [default: inferred from its dimensions]"),
]


class Library(enum.StrEnum):
    """Libraries whose registries a registration can be written for."""

    bsjax = "bsjax"
    brainscore = "brainscore_vision"


@app.command()
def validate(
    paths: Files,
    identifier: Annotated[
        str | None, typer.Option("--identifier", metavar="ID", help="Intended identifier of the data.")
    ] = None,
    class_name: ClassName = None,
    files: Folder = None,
    allow: Allow = None,
) -> None:
    """Check data against the checklist for submissions.

    Failed checks say what to do.
    """
    from bsjax.data.publishing.checklist import check_assembly, check_stimulus_set, known_checks
    from bsjax.data.publishing.drafts import find_files, read_draft_assembly

    allowed = known_checks(allow or ())
    tables, assemblies = find_files(paths)
    sets: dict[str, StimulusSet] = {}
    failed = total = 0
    for path in tables:
        with tempfile.TemporaryDirectory() as scratch:
            stimuli = _read_stimuli(path, files, Path(scratch))
            failed_here, total_here = print_checks(path, check_stimulus_set(stimuli, identifier), allowed)
        sets[path.name] = stimuli
        failed, total = failed + failed_here, total + total_here
    for path in assemblies:
        assembly = read_draft_assembly(path, class_name)
        checks = check_assembly(assembly, identifier, type(assembly).__name__, _its_stimuli(assembly, sets))
        failed_here, total_here = print_checks(path, checks, allowed)
        failed, total = failed + failed_here, total + total_here
    if failed:
        complain(f"{failed} of {total} checks fail")
        raise typer.Exit(1)


@app.command()
def package(
    paths: Files,
    identifier: Annotated[str, typer.Option("--identifier", metavar="ID", help="Identifier of the data.")],
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="DIR", help="Output folder. [default: ~/Downloads/brainscore_packages]"),
    ] = None,
    stimulus_set: Annotated[
        str | None,
        typer.Option(
            "--stimulus-set", metavar="ID", help="Identifier of the stimulus set. [default: that of the data]"
        ),
    ] = None,
    class_name: ClassName = None,
    files: Folder = None,
    allow: Allow = None,
) -> None:
    """Check data and write the files to publish.

    The files are in Brain-Score's format: the table and a zip file of the stimuli, and the assembly.
    """
    from bsjax.core.left_behind import files_in
    from bsjax.data.publishing.drafts import MANIFEST, find_files, package_drafts, read_draft_assembly
    from bsjax.data.publishing.local import register_packages

    tables, assemblies = find_files(paths)
    for kind, found in (("table of stimuli", tables), ("assembly", assemblies)):
        if len(found) > 1:
            raise ValueError(f"package takes one {kind}, got {len(found)}: {', '.join(map(str, found))}")
    with tempfile.TemporaryDirectory() as scratch:
        stimuli = _read_stimuli(tables[0], files, Path(scratch)) if tables else None
        assembly = read_draft_assembly(assemblies[0], class_name) if assemblies else None
        manifest, packages = package_drafts(stimuli, assembly, identifier, stimulus_set, to, allow or ())
    for packaged in packages.values():
        for kind in ("csv_", "zip_", ""):
            if f"{kind}path" in packaged:
                typer.echo(f"{packaged[f'{kind}path']}\n  sha1 {packaged[f'{kind}sha1']}")
    init, by_hand = register_packages(manifest.parent)
    use = f"load it: bsjax --plugins {shlex.quote(str(init.parent))} data show {identifier}"
    typer.echo(f"to load it by its identifier, put this into {init}:\n\n{by_hand}" if by_hand else use)
    alone = len(files_in(manifest.parent, f"*{MANIFEST}")) == 1
    what = shlex.quote(str(manifest.parent if alone else manifest))
    typer.echo(f"packaged {identifier}; publish it with: bsjax data upload {what} --bucket BUCKET")


@app.command()
def upload(
    path: Annotated[Path, typer.Argument(metavar="PACKAGE", help="Output of `package`: its folder or .package.json.")],
    bucket: Annotated[str, typer.Option("--bucket", metavar="BUCKET[/FOLDER]", help="Target in S3.")],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace existing objects of the same names.")] = False,
    library: Annotated[Library, typer.Option("--for", help="Library to register with.")] = Library.bsjax,
) -> None:
    """Upload a package to S3, and print its registration."""
    from bsjax.data.publishing.drafts import read_manifest
    from bsjax.data.publishing.registration import registration_snippet
    from bsjax.data.publishing.upload import upload_assembly, upload_stimulus_set

    packages = read_manifest(path)
    uploaded: dict[str, Any] = {}
    with transfers("uploaded") as progress:
        for kind, send in (("stimulus_set", upload_stimulus_set), ("assembly", upload_assembly)):
            if kind in packages:
                uploaded[kind] = send(packages[kind], bucket, overwrite=overwrite, progress=progress)
    typer.echo(registration_snippet(**uploaded, library=library.value), nl=False)


@app.command()
def fetch(identifiers: Annotated[list[str], typer.Argument(metavar="ID", help="Data sets or stimulus sets.")]) -> None:
    """Download data into the cache and verify them."""
    from bsjax.data.publishing.overview import overview

    failed = False
    for identifier in identifiers:
        try:
            with _showing():
                loaded = _load(identifier, {})
        except (OSError, ValueError, KeyError) as error:  # continue with the others
            complain(one_line(error))
            failed = True
            continue
        typer.echo(f"{identifier}: {overview(loaded)[0]}")
    if failed:
        raise typer.Exit(1)


@app.command()
def show(
    what: Annotated[str, typer.Argument(metavar="ID_OR_FILE", help="A data set, stimulus set, .nc or .csv file.")],
    thumbnails: Annotated[
        Path | None,
        typer.Option("--thumbnails", metavar="FILE.png", help="Write thumbnails of the stimuli to this file."),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of the recordings, for data that need one.")
    ] = None,
    class_name: ClassName = None,
    files: Folder = None,
    ceiling: Annotated[bool, typer.Option(help="Estimate the internal consistency of repeated recordings.")] = True,
) -> None:
    """Summarise data, and optionally write a sheet of thumbnails.

    The summary includes dimensions, coordinates, presentations per stimulus, and the ceiling of repeated recordings.
    """
    check_outputs({"--thumbnails": thumbnails})
    configure_jax()
    from bsjax.cli.data.inspection import ceilings, write_thumbnails
    from bsjax.data.publishing.drafts import read_draft_assembly
    from bsjax.data.publishing.overview import overview

    with tempfile.TemporaryDirectory() as scratch:
        if Path(what).suffix.lower() == ".csv" and Path(what).is_file():
            loaded: Any = _read_stimuli(Path(what), files, Path(scratch))
        elif Path(what).is_file():
            loaded = read_draft_assembly(what, class_name)
        elif Path(what).suffix.lower() in (".csv", ".nc"):
            raise FileNotFoundError(f"there is no file {what}")
        else:
            with _showing():
                loaded = _load(what, {} if data is None else {"folder": data})
        typer.echo("\n".join(overview(loaded)))
        if ceiling and hasattr(loaded, "dims"):
            for line in ceilings(loaded):
                typer.echo(line)
        if thumbnails is not None:
            write_thumbnails(thumbnails, loaded, data)
            typer.echo(f"thumbnails: {thumbnails}")


@app.command("import")
def import_(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Openly published data, e.g. Geirhos2021.")],
    folder: Annotated[
        Path | None,
        typer.Option("--from", metavar="DIR", help="A clone of the public repository. [default: fetch what is needed]"),
    ] = None,
) -> None:
    """Import openly published data from their repository.

    The data are read from a clone, or downloaded. They can then be loaded without naming a folder.
    """
    from bsjax.data.importers.importing import import_data

    with transfers("imported", "files") as progress:
        imported = import_data(name, folder, progress=lambda file, here, of: progress(name, here, of))
    typer.echo(f"imported {name} into {imported}")


def _read_stimuli(table: Path, folder: Path | None, scratch: Path) -> StimulusSet:
    """Read a stimulus set from its table, and unpack its zip file if there is one."""
    from bsjax.data.files.archives import unzip
    from bsjax.data.publishing.drafts import read_draft_stimuli

    archive = table.with_suffix(".zip")
    if folder is None and archive.is_file():
        folder = unzip(archive, scratch / table.stem)
    return read_draft_stimuli(table, folder)


def _its_stimuli(assembly: DataAssembly, sets: dict[str, StimulusSet]) -> StimulusSet | None:
    """The stimulus set that an assembly names, else the only one given."""
    from bsjax.data.remote.storage import store_name

    named = store_name(str(assembly.attrs.get("stimulus_set_identifier", "")), "csv")
    only = next(iter(sets.values())) if len(sets) == 1 else None
    return sets.get(named, only)


@contextmanager
def _showing() -> Iterator[None]:
    from bsjax.data.remote.cache import showing

    with transfers("fetched") as progress, showing(progress):
        yield


def _load(identifier: str, options: dict[str, Any]) -> Any:
    """Load a data set, or a stimulus set if there is no data set of this name."""
    from bsjax.data import data_registry, load_dataset, load_stimulus_set, stimulus_set_registry

    if identifier in data_registry or identifier not in stimulus_set_registry:
        return load_dataset(identifier, **options)
    return load_stimulus_set(identifier, **options)
