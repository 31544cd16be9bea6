"""The Algonauts Challenge 2019, training set of 92 images: Cichy, Roig, ... & Oliva (2019).

The data are fMRI dissimilarities of 15 subjects in early visual cortex (EVC), compared with a model's V1, and in IT. As
in the challenge, each subject contributes the squared Spearman correlation, here with its sign. The score is divided by
the noise ceiling, which is the score of the mean matrix of all subjects.

``bsjax data import Algonauts2019`` fetches the matrices. The images are not included: pass their folder as ``images``.
It must hold exactly the 92 images, with names that sort in the order of the challenge (``image_01.jpg``, ...).
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from bsjax.benchmarks.ceilings import Ceiling
from bsjax.benchmarks.kinds.subject_matrices import SubjectMatricesBenchmark, images_in
from bsjax.benchmarks.rows.row import BenchmarkRow
from bsjax.data import DataAssembly, load_dataset
from bsjax.labelled.similarity.subject_rdms import SubjectAgreement, SubjectSimilarity

IMAGES = (
    "the challenge's training set, and, as image_01.jpg to image_92.jpg, in the history of "
    "https://github.com/cvai-roig-lab/Net2Brain (input_data/stimuli_data/92images)"
)


def rdm(
    row: BenchmarkRow, data: str | Path | None = None, images: str | Path | None = None
) -> SubjectMatricesBenchmark:
    """The comparison in one of the two areas.

    Args:
        row: the row of the benchmark.
        data: folder of the matrices; by default the imported one.
        images: folder of the 92 images, needed for scoring.

    Example:
        >>> from bsjax import load_benchmark
        >>> load_benchmark("Algonauts2019.EVC-rdm").region
        'V1'
    """
    load = partial(_load, row.settings["area"], data)
    return SubjectMatricesBenchmark(
        row.identifier,
        subjects=load,
        stimuli_of=partial(images_in, images, 92, row.identifier, IMAGES),
        metric=SubjectSimilarity("spearman", squared=True),
        stimuli="the 92 images of the Algonauts Challenge 2019 (needs images=DIR)",
        compared=(f"{row.about}: signed squared Spearman correlation of dissimilarity matrices, mean over 15 subjects"),
        ceiling="the score divided by the ceiling; ceiling: the score of the mean matrix of all subjects",
        ceiling_func=Ceiling(SubjectAgreement("upper", "spearman", squared=True), load),
        **row.arguments("region", "time_bins", "normalisation"),
    )


def _load(area: str, data: str | Path | None) -> DataAssembly:
    return load_dataset("Algonauts2019.92", region=area, **({} if data is None else {"folder": data}))
