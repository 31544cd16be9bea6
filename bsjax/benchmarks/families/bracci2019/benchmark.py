"""Human ventral temporal cortex and look-alikes: Bracci, Ritchie, Kalfas & Op de Beeck (2019).

The data are fMRI patterns of 12 subjects for 27 images: nine animals, nine objects that look like these animals, and
nine ordinary objects. The benchmark compares dissimilarities in anterior ventral temporal cortex.
"""

import numpy as np

from bsjax.benchmarks.ceilings import Ceiling
from bsjax.benchmarks.kinds.recording import RecordingBenchmark
from bsjax.benchmarks.rows.row import BenchmarkRow
from bsjax.data import DataAssembly, NeuroidAssembly, load_dataset
from bsjax.labelled import load_metric
from bsjax.labelled.align import coordinate
from bsjax.labelled.similarity.rdms.rdm_data import rdm_of
from bsjax.labelled.similarity.rdms.subject_rdms import SubjectAgreement, square

# Region codes of the data: 0 is V1, 1 posterior and 2 anterior ventral temporal cortex.
_ANTERIOR_VTC = 2


def anterior_vtc(row: BenchmarkRow) -> RecordingBenchmark:
    """Dissimilarities of images in a model's IT, compared with human anterior ventral temporal cortex.

    The target is averaged over subjects, with one neuroid for each voxel index.

    Example:
        >>> from bsjax import load_benchmark
        >>> load_benchmark("Bracci2019.anteriorVTC-rdm").region
        'IT'
    """
    return RecordingBenchmark(
        row,
        load_metric(row.metric),
        Ceiling(SubjectAgreement("lower"), _subject_rdms),
        target=lambda: averaged_over_subjects(centred_responses()),
    )


def centred_responses() -> NeuroidAssembly:
    """Responses in anterior ventral temporal cortex, with each voxel's mean over images subtracted.

    Voxels with a missing value for any image are left out.

    Raises:
        FileNotFoundError, PermissionError, ConnectionError: the data are not available.
        ValueError: the data have no ``roi``, or no voxel of this region.
    """
    assembly = load_dataset("Bracci2019").transpose("presentation", "neuroid")
    inside = coordinate(assembly, "roi", "neuroid", "Bracci2019") == _ANTERIOR_VTC
    assembly = assembly.isel(neuroid=inside & np.isfinite(assembly.values).all(axis=0))
    if not assembly.sizes["neuroid"]:
        raise ValueError(f"Bracci2019 has no voxels whose roi is {_ANTERIOR_VTC}, anterior ventral temporal cortex")
    return NeuroidAssembly(assembly - assembly.mean("presentation"))


def averaged_over_subjects(responses: NeuroidAssembly) -> NeuroidAssembly:
    """Average voxels of equal index over the subjects that have them.

    Args:
        responses: (presentation, neuroid) with ``voxels``, the index of each voxel in its subject.

    Returns:
        (presentation, neuroid), with ``voxels`` in ascending order.

    Example:
        >>> responses = NeuroidAssembly([[1.0, 3.0, 5.0]], dims=["presentation", "neuroid"], coords={
        ...     "stimulus_id": ("presentation", ["a"]), "voxels": ("neuroid", [7, 7, 8])})
        >>> averaged_over_subjects(responses).values.tolist()
        [[2.0, 5.0]]
    """
    voxels, column = np.unique(coordinate(responses, "voxels", "neuroid", "responses"), return_inverse=True)
    total = np.zeros((responses.sizes["presentation"], len(voxels)))
    np.add.at(total.T, column, responses.values.T)
    coords = {str(name): c.variable for name, c in responses.coords.items() if c.dims == ("presentation",)}
    return NeuroidAssembly(
        total / np.bincount(column),
        coords={**coords, "voxels": ("neuroid", voxels)},
        dims=["presentation", "neuroid"],
    )


def _subject_rdms() -> DataAssembly:
    responses = centred_responses()
    subject = coordinate(responses, "subject", "neuroid", "Bracci2019")
    subjects = np.unique(subject)
    rdms = [rdm_of(responses.isel(neuroid=subject == one)).values for one in subjects]
    return square(np.stack(rdms), responses["stimulus_id"].values, subjects)
