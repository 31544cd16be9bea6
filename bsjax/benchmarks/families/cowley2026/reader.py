"""Reader of the macaque V4 recordings of Cowley, Stan, Pillow & Smith (2026).

The public repository (https://github.com/cowleygroup/V4_compact_models) has the images and the spike counts of all
neurons for each session. Single repeats, which a ceiling needs, are available for sessions 201016 and 210325
(``data_V4_responses/responses_raw``); this module reads those.

The repository's licence is GPL-3.0. bsjax does not include the data: ``bsjax data import Cowley2026`` fetches session
210325 (and 201016, if the repository has its images).
"""

from pathlib import Path
from typing import Any

import numpy as np

from bsjax.benchmarks.rows.publications import publication
from bsjax.core.file_reading import reading_as
from bsjax.core.files import cache_dir, explaining
from bsjax.core.left_behind import files_in
from bsjax.data.files.archives import extract_images, is_image
from bsjax.data.files.images import image_size
from bsjax.data.types.assemblies import NeuroidAssembly
from bsjax.data.types.stimuli import StimulusSet

SOURCE = "https://github.com/cowleygroup/V4_compact_models"

# Last session (YYMMDD) of each animal, in chronological order, from the repository's table of sessions.
_LAST_SESSION_OF = {"WE": "190929", "PE": "210326", "RA": "211103"}


def load_session(folder: str | Path, session: str = "210325") -> NeuroidAssembly:
    """Single-trial spike counts of one session, with the images that were shown.

    Args:
        folder: a clone of the repository, its ``data_V4_responses``, or a folder with
            ``images_<session>.zip`` (or the images themselves in ``images_<session>/``) and
            ``responses_raw_<session>.npy``. Images in a zip file are extracted into the cache once.
        session: the session, e.g. "210325" (monkey PE, 50 neurons, 640 images, 6 to 10 repeats).

    Returns:
        Spike counts (presentation, neuroid, time_bin), float64, one row for each recorded repeat; images differ in
        their number of repeats. Coordinates: ``stimulus_id`` and ``repetition`` (from 0, in stored order) on
        presentation; ``neuroid_id`` ("210325.0", ...), ``region`` ("V4"), ``animal`` and ``session`` on neuroid;
        ``time_bin_start`` 0 and ``time_bin_end`` 100 on time_bin, in ms. The repository gives the length of the bin but
        not its latency after image onset, so only their difference is meaningful.

        The stimulus set leaves out images without any repeat. Attributes: ``stimulus_set`` (see ``load_stimuli``),
        ``stimulus_set_identifier``, ``identifier``, ``bibtex``, ``source``.

    Raises:
        FileNotFoundError: files are missing; the message says which ones, and where to get them.
        ValueError: a file is unreadable, or the numbers of images and responses differ.

    Source:
        Cowley et al. (2026), Compact deep neural network models of the visual cortex, Nature,
        https://doi.org/10.1038/s41586-026-10150-1.

    Example:
        >>> load_session("no/such/folder")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        FileNotFoundError: responses of session 210325 not found in no/such/folder: looked for ...
    """
    session = str(session)
    roots = _roots(folder)
    counts = _read_responses(_find_responses(folder, roots, session))
    stimuli = load_stimuli(folder, session)
    n_neurons, n_images, n_repeats = counts.shape
    if n_images != len(stimuli):
        raise ValueError(
            f"session {session} in {folder}: {len(stimuli)} images but responses to {n_images} images; "
            "both files have to be of the same session and complete"
        )
    # One row per image and repeat, with the repeats of an image together.
    trials = counts.transpose(1, 2, 0).reshape(n_images * n_repeats, n_neurons)
    recorded = ~np.isnan(trials).all(axis=1)
    image, repetition = np.divmod(np.flatnonzero(recorded), n_repeats)
    neuroids = range(n_neurons)
    stimulus_ids = stimuli["stimulus_id"].to_numpy(dtype=object)[image]
    if not recorded.any():
        raise ValueError(f"session {session} in {folder}: the responses hold no recorded repeat, only NaN")
    return NeuroidAssembly(
        trials[recorded][:, :, np.newaxis],
        coords={
            "stimulus_id": ("presentation", stimulus_ids),
            "repetition": ("presentation", repetition),
            "neuroid_id": ("neuroid", [f"{session}.{neuroid}" for neuroid in neuroids]),
            "region": ("neuroid", ["V4" for _ in neuroids]),
            "animal": ("neuroid", [_animal(session) for _ in neuroids]),
            "session": ("neuroid", [session for _ in neuroids]),
            "time_bin_start": ("time_bin", [0]),
            "time_bin_end": ("time_bin", [100]),
        },
        dims=["presentation", "neuroid", "time_bin"],
        attrs={
            "identifier": f"Cowley2026.V4.{session}",
            "stimulus_set": stimuli.iloc[np.unique(image)],
            "stimulus_set_identifier": stimuli.identifier,
            "bibtex": publication("cowley2026compact"),
            "source": SOURCE,
        },
    )


def load_stimuli(folder: str | Path, session: str = "210325") -> StimulusSet:
    """The images of one session, in the order of the responses, which is the order of their names.

    Args:
        folder: as for ``load_session``.
        session: as for ``load_session``.

    Returns:
        Columns ``stimulus_id`` ("210325.image0001", ...; unique across sessions, unlike the file names), ``filename``,
        and ``width`` and ``height`` in pixels; identifier "Cowley2026.<session>".

    Raises:
        FileNotFoundError: the images are missing; the message says where they were looked for, and where to get them.
        ValueError: the zip file or an image cannot be read; the message names it.

    Example:
        >>> load_stimuli("no/such/folder")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        FileNotFoundError: images of session 210325 not found in no/such/folder: looked for ...
    """
    rows: list[dict[str, Any]] = []
    paths: dict[str, Path] = {}
    for path in _image_paths(folder, _roots(folder), session):
        stimulus_id = f"{session}.{path.stem}"
        width, height = image_size(path)
        rows.append({"stimulus_id": stimulus_id, "filename": path.name, "width": width, "height": height})
        paths[stimulus_id] = path
    return StimulusSet(rows, identifier=f"Cowley2026.{session}", stimulus_paths=paths)


def _roots(folder: str | Path) -> list[Path]:
    folder = Path(folder).expanduser()
    return [folder / "data_V4_responses", folder]


def _find_responses(folder: str | Path, roots: list[Path], session: str) -> Path:
    names = (f"responses_raw/responses_{session}.npy", f"responses_raw_{session}.npy")
    candidates = [root / name for root in roots for name in names]
    found = next((path for path in candidates if path.is_file()), None)
    if found is None:
        raise _not_found("responses", folder, session, candidates)
    return found


def _image_paths(folder: str | Path, roots: list[Path], session: str) -> list[Path]:
    names = (f"images/images_{session}", f"images_{session}")
    zips = [root / f"{name}.zip" for root in roots for name in names]
    archive = next((path for path in zips if path.is_file()), None)
    if archive is not None:
        extracted = cache_dir() / "cowley2026"
        with explaining(f"extract {archive.name}", extracted):
            return extract_images(archive, into=extracted)
    folders = [root / name for root in roots for name in names]
    for unzipped in folders:
        images = [path for path in files_in(unzipped, "**/*") if is_image(path.name)]
        if images:
            return sorted(images, key=lambda path: path.name)
    raise _not_found("images", folder, session, [*zips, *(path / "image0001.jpg" for path in folders)])


def _not_found(what: str, folder: str | Path, session: str, candidates: list[Path]) -> FileNotFoundError:
    return FileNotFoundError(
        f"{what} of session {session} not found in {folder}: looked for {', '.join(map(str, candidates))}; "
        f"get them with `bsjax data import Cowley2026`, or with `git clone {SOURCE}` and pass the folder of the clone "
        "(single repeats are there for the sessions 201016 and 210325)"
    )


def _read_responses(path: Path) -> np.ndarray:
    with reading_as("an array of responses", path):
        counts = np.load(path, allow_pickle=False)
    if not isinstance(counts, np.ndarray) or counts.ndim != 3 or counts.dtype.kind not in "iuf":
        got = f"{counts.dtype} {counts.shape}" if isinstance(counts, np.ndarray) else type(counts).__name__
        raise ValueError(f"{path}: expected spike counts of shape (neurons, images, repeats), got {got}")
    return counts.astype(np.float64)


def _animal(session: str) -> str:
    return next((animal for animal, last in _LAST_SESSION_OF.items() if session <= last), "")
