"""Reader of the fMRI dissimilarity matrices of the Algonauts Challenge 2019, training set of 92 images.

The files ``92images_fmri_EVC_RDMs.npz`` and ``92images_fmri_IT_RDMs.npz`` are in repositories that use them, e.g. that
of the Net2Brain toolbox (https://github.com/cvai-roig-lab/Net2Brain, licence BSD-3-Clause). bsjax does not include
them: ``bsjax data import Algonauts2019`` fetches both.
"""

from pathlib import Path

import numpy as np

from bsjax.benchmarks.prepare.published_rdms import rdm_assembly, reading
from bsjax.benchmarks.rows.publications import publication
from bsjax.data.types.assemblies import RDMAssembly

SOURCE = "https://github.com/cvai-roig-lab/Net2Brain"
REGIONS = ("EVC", "IT")


def load_rdms(folder: str | Path, region: str = "IT") -> RDMAssembly:
    """The dissimilarity matrix of each subject in one region: 1 - Pearson correlation of fMRI patterns.

    Args:
        folder: folder with ``92images_fmri_<region>_RDMs.npz``.
        region: ``"EVC"`` (early visual cortex) or ``"IT"``.

    Returns:
        Dissimilarities (subject, stimulus_left, stimulus_right), float64: 15 subjects by 92 by 92 images. The file has
        no names, so ``subject``, ``stimulus_id_left`` and ``stimulus_id_right`` are numbered "01", ... in its order.

    Raises:
        FileNotFoundError: the file is missing; the message says which one, and where to get it.
        ValueError: the region is unknown, or the file has other content.

    Source:
        Cichy, Pantazis & Oliva (2016), Similarity-based fusion of MEG and fMRI, Cerebral Cortex; Cichy et al. (2019).

    Example:
        >>> load_rdms("no/such/folder")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        FileNotFoundError: 92images_fmri_IT_RDMs.npz not found in no/such/folder: get it from https://...
    """
    if region not in REGIONS:
        raise ValueError(f"region must be one of {', '.join(REGIONS)}, got {region!r}")
    with reading(Path(folder).expanduser() / f"92images_fmri_{region}_RDMs.npz", SOURCE) as path:
        with open(path, "rb") as opened, np.load(opened, allow_pickle=False) as file:
            rdms = np.asarray(file["Net_RDM"], np.float64)
    return rdm_assembly(
        rdms,
        ["subject"],
        {"subject": [f"{i + 1:02d}" for i in range(len(rdms))]},
        path=path,
        attrs={
            "identifier": f"Algonauts2019.{region}",
            "region": region,
            "bibtex": publication("cichy2019algonauts"),
            "source": SOURCE,
        },
    )
