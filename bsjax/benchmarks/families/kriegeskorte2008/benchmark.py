"""Human IT and 92 images of objects: Kriegeskorte, Mur, Ruff, Kiani, Bodurka, Esteky, Tanaka & Bandettini (2008).

The data are fMRI dissimilarities of 4 subjects, averaged over their 2 sessions. The score is the Spearman correlation
with a model's matrix, divided by the noise ceiling, which is the highest average correlation that any matrix attains
over the subjects.

``bsjax data import Kriegeskorte2008`` fetches the matrices. The images are not included. They are those of
:mod:`bsjax.benchmarks.families.algonauts2019.benchmark`, in the same order: pass their folder as ``images``.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from bsjax.benchmarks.ceilings import Ceiling
from bsjax.benchmarks.families.algonauts2019.benchmark import IMAGES
from bsjax.benchmarks.kinds.subject_matrices import SubjectMatricesBenchmark, images_in
from bsjax.benchmarks.rows.row import BenchmarkRow
from bsjax.data import DataAssembly, load_dataset
from bsjax.labelled.similarity.subject_rdms import SubjectAgreement, SubjectSimilarity


def rdm(
    row: BenchmarkRow, data: str | Path | None = None, images: str | Path | None = None
) -> SubjectMatricesBenchmark:
    """The benchmark of human IT.

    Args:
        row: the row of the benchmark.
        data: folder of the matrices; by default the imported one.
        images: folder of the 92 images, needed for scoring.

    Example:
        >>> from bsjax import load_benchmark
        >>> load_benchmark("Kriegeskorte2008.IT-rdm").region
        'IT'
    """
    load = partial(_load, data)
    return SubjectMatricesBenchmark(
        row.identifier,
        subjects=load,
        stimuli_of=partial(images_in, images, 92, row.identifier, IMAGES),
        metric=SubjectSimilarity("spearman"),
        stimuli="the 92 images of Kriegeskorte2008 (needs images=DIR)",
        compared="human IT, fMRI: Spearman correlation of dissimilarity matrices, mean over 4 subjects",
        ceiling=(
            "the score divided by the ceiling; ceiling: the score of the mean of all subjects' ranked matrices, the "
            "highest that any matrix can reach"
        ),
        ceiling_func=Ceiling(SubjectAgreement("upper", "spearman", pooling="matched"), load),
        **row.arguments("region", "time_bins", "normalisation"),
    )


def _load(data: str | Path | None) -> DataAssembly:
    rdms = load_dataset("Kriegeskorte2008", kind="human_it", **({} if data is None else {"folder": data}))
    return rdms.mean("session")
