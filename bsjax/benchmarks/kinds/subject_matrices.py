"""Comparison of a model's stimulus-by-stimulus matrix with one matrix per subject."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import xarray as xr

from bsjax.benchmarks.ceilings import Ceiling
from bsjax.benchmarks.kinds.recording import RecordingBenchmark
from bsjax.benchmarks.lazy_loading import loader
from bsjax.benchmarks.rows.row import BenchmarkRow
from bsjax.core.left_behind import files_in
from bsjax.data import StimulusSet, load_dataset
from bsjax.labelled import Score
from bsjax.labelled.metric import scored
from bsjax.labelled.similarity.rdms.rdm_data import rdm_of
from bsjax.labelled.similarity.rdms.subject_rdms import SubjectAgreement, SubjectSimilarity

if TYPE_CHECKING:
    from bsjax.data import NeuroidAssembly

_IMAGES = {".bmp", ".jpeg", ".jpg", ".png"}


class SubjectMatricesBenchmark(RecordingBenchmark):
    """Mean similarity of a model's dissimilarities (or similarities) of stimuli to those of each subject.

    Args:
        row: the row of the benchmark.
        subjects: function that loads the matrices (subject, stimulus_left, stimulus_right), with ``stimulus_id_left``
            and ``_right``; called once, when a score or ceiling first needs it.
        metric: ``metric(model matrix, subjects) -> Score``.
        ceiling: ``ceiling(subjects) -> Score``.
        matrix: function from a recording to the matrix; by default 1 - Pearson correlation.
        stimuli: function that loads the stimuli, with the ids of ``subjects``; by default those of the row's data set.

    Example:
        >>> from bsjax import load_benchmark
        >>> print(load_benchmark("Algonauts2019.IT-rdm").describe().splitlines()[0])
        Algonauts2019.IT-rdm, version 1, averaged under IT
    """

    def __init__(
        self,
        row: BenchmarkRow,
        subjects: Callable[[], xr.DataArray],
        metric: SubjectSimilarity,
        ceiling: Callable[[xr.DataArray], Score],
        matrix: Callable[[NeuroidAssembly], xr.DataArray] = rdm_of,
        stimuli: Callable[[], StimulusSet] | None = None,
    ) -> None:
        subjects = loader(subjects)
        super().__init__(row, metric, Ceiling(ceiling, subjects), stimuli=stimuli, target=subjects)
        self._matrix = matrix

    def compare(self, observed: NeuroidAssembly) -> Score:
        """The mean similarity to the subjects; ``raw`` has one similarity per subject."""
        return scored(self.metric, self._matrix(observed), self.target)


def rdms_of_images(
    row: BenchmarkRow, data: str | Path | None = None, images: str | Path | None = None
) -> SubjectMatricesBenchmark:
    """A comparison with imported dissimilarity matrices, whose images come from the user.

    The row's settings are ``dataset``, the arguments of ``load_dataset``; ``average``, a dimension to average over, if
    any; ``metric_kwargs`` and ``ceiling_kwargs``; and ``n_images`` and ``images``, their number and where they are.

    Args:
        row: the row of the benchmark.
        data: folder of the matrices; by default the imported one.
        images: folder of the images, needed for scoring.

    Example:
        >>> from bsjax import load_benchmark
        >>> load_benchmark("Algonauts2019.EVC-rdm").region, load_benchmark("Kriegeskorte2008.IT-rdm").region
        ('V1', 'IT')
    """
    own = row.settings

    def load() -> xr.DataArray:
        rdms = load_dataset(row.data[0], **own["dataset"], **({} if data is None else {"folder": data}))
        return rdms.mean(own["average"]) if "average" in own else rdms

    return SubjectMatricesBenchmark(
        row,
        load,
        SubjectSimilarity("spearman", **own["metric_kwargs"]),
        SubjectAgreement("upper", "spearman", **own["ceiling_kwargs"]),
        stimuli=partial(images_in, images, own["n_images"], row.identifier, own["images"]),
    )


def images_in(folder: str | Path | None, n: int, identifier: str, where: str) -> StimulusSet:
    """The images of a folder, with the ids "01", "02", ... in the order of their names (2 before 10).

    Args:
        folder: folder with exactly ``n`` images; other files are ignored.
        n: the expected number of images.
        identifier: the benchmark's identifier, for messages.
        where: where to get the images.

    Raises:
        FileNotFoundError: no folder is given, or it does not exist.
        ValueError: the number of images differs.

    Example:
        >>> images_in(None, 92, "Algonauts2019.IT-rdm", "the challenge's training set")
        Traceback (most recent call last):
        ...
        FileNotFoundError: Algonauts2019.IT-rdm needs the 92 images that were shown, which do not come with its data: \
give their folder as images=DIR. They are in the challenge's training set
    """
    if folder is None:
        raise FileNotFoundError(
            f"{identifier} needs the {n} images that were shown, which do not come with its data: give their folder as "
            f"images=DIR. They are in {where}"
        )
    folder = Path(folder).expanduser()
    if not folder.is_dir():
        raise FileNotFoundError(f"{identifier}: no folder {folder}; give that of the {n} images, which are in {where}")
    images = (path for path in files_in(folder) if path.suffix.lower() in _IMAGES)
    paths = sorted(images, key=_by_number)
    if len(paths) != n:
        raise ValueError(f"{identifier} needs {n} images, {folder} holds {len(paths)}; they are in {where}")
    ids = [f"{number + 1:02d}" for number in range(n)]
    return StimulusSet(
        {"stimulus_id": ids, "filename": [path.name for path in paths]},
        identifier=identifier.partition("-")[0],
        stimulus_paths=dict(zip(ids, paths, strict=True)),
    )


def _by_number(path: Path) -> list[tuple[str, int]]:
    """Sort key for file names that orders the numbers in them by value."""
    return [(text, int(number or 0)) for text, number in re.findall(r"(\D*)(\d*)", path.stem)]
