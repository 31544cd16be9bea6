"""Reader of the dissimilarity matrices of 92 images from Kriegeskorte et al. (2008) and Mur et al. (2013).

rsatoolbox (https://github.com/rsagroup/rsatoolbox, ``demos/92imageData``, licence MIT) provides them as MATLAB files.
bsjax does not include them: ``bsjax data import Kriegeskorte2008`` fetches all three.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from bsjax.benchmarks.prepare.published_rdms import rdm_assembly, reading
from bsjax.benchmarks.rows.publications import publication
from bsjax.data.types.assemblies import RDMAssembly

SOURCE = "https://github.com/rsagroup/rsatoolbox"


def load_rdms(folder: str | Path, kind: str = "human_it") -> RDMAssembly:
    """Dissimilarity matrices of 92 images: from human IT, similarity judgements, or models.

    Args:
        folder: a clone of the repository, or a folder with ``92_brainRDMs.mat``, ``92_behavRDMs.mat`` and
            ``92_modelRDMs.mat``.
        kind: ``"human_it"`` (fMRI, 4 subjects in 2 sessions), ``"behaviour"`` (16 observers), or ``"models"`` (8, one
            of which, ``"monkeyIT"``, is a recording).

    Returns:
        Dissimilarities, float64: (subject, session, stimulus_left, stimulus_right) for human IT
        (``rdms.mean("session")`` averages the sessions); (subject, stimulus_left, stimulus_right) for behaviour;
        (model, stimulus_left, stimulus_right) for models, with the names in the file. The file does not name the
        images, so ``stimulus_id_left`` and ``stimulus_id_right`` are numbered "01", ... in its order.

    Raises:
        FileNotFoundError: the file is missing; the message says which one, and where to get it.
        ValueError: the kind is unknown, or the file has other content.

    Source:
        Kriegeskorte et al. (2008), https://doi.org/10.1016/j.neuron.2008.10.043; behaviour: Mur et al. (2013),
        https://doi.org/10.3389/fpsyg.2013.00128.

    Example:
        >>> load_rdms("no/such/folder")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        FileNotFoundError: 92_brainRDMs.mat not found in no/such/folder: get it from https://...
    """
    if kind not in _KINDS:
        raise ValueError(f"kind must be one of {', '.join(_KINDS)}, got {kind!r}")
    name, variable, label = _KINDS[kind]
    from scipy.io import loadmat

    folder = Path(folder).expanduser()
    inside = folder / "demos" / "92imageData" / name
    with reading(inside if inside.is_file() else folder / name, SOURCE) as path:
        entries = loadmat(path)[variable]
        # Subjects first, then sessions, if there are several.
        entries = entries.reshape([n for n in entries.shape if n > 1] or [1])
        rdms = np.stack([np.asarray(rdm, np.float64) for rdm in entries["RDM"].ravel()])
        rdms = rdms.reshape(*entries.shape, *rdms.shape[1:])
        coords = label([str(np.asarray(name).item()) for name in entries["name"].ravel()], entries.shape)
    attrs = {
        "identifier": f"Kriegeskorte2008.{kind}",
        "bibtex": publication("kriegeskorte2008matching"),
        "source": SOURCE,
    }
    return rdm_assembly(rdms, list(coords), coords, path=path, attrs=attrs)


def _of_sessions(names: list[str], shape: tuple[int, ...]) -> dict[str, list[str]]:
    """Subjects and sessions from names like ``"hIT | BE | Session: 1"``, in which sessions vary fastest."""
    subjects, sessions = ([name.split(" | ")[i] for name in names] for i in (1, 2))
    n_subjects, n_sessions = shape
    numbers = [session.removeprefix("Session: ") for session in sessions[:n_sessions]]
    return {"subject": subjects[::n_sessions][:n_subjects], "session": numbers}


def _of_subjects(names: list[str], shape: tuple[int, ...]) -> dict[str, list[str]]:
    """Subjects from names like ``"simJudge | subject1"``."""
    return {"subject": [name.split(" | ")[1] for name in names]}


def _of_models(names: list[str], shape: tuple[int, ...]) -> dict[str, list[str]]:
    return {"model": names}


# File, its variable, and the function that turns its names into coordinates.
_KINDS: dict[str, tuple[str, str, Callable[[list[str], tuple[int, ...]], dict[str, list[str]]]]] = {
    "human_it": ("92_brainRDMs.mat", "RDMs", _of_sessions),
    "behaviour": ("92_behavRDMs.mat", "rdms_behav_92", _of_subjects),
    "models": ("92_modelRDMs.mat", "Models", _of_models),
}
