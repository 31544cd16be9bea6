"""Kinds of assemblies: recordings, spikes, model features, behaviour, properties and metadata."""

from typing import ClassVar

from bsjax.core.registry import hint
from bsjax.data.types.assembly_base import DataAssembly as DataAssembly
from bsjax.data.types.assembly_checks import Standard, rdm_problems


class NeuroidAssembly(DataAssembly):
    """Recordings of neuroids (neurons, sites, voxels, model units): presentation x neuroid, optionally x time_bin.

    Coordinates required by the data standard: ``stimulus_id`` on presentation, ``neuroid_id`` on neuroid. A benchmark
    needs more: ``region`` on neuroid, ``repetition`` for a ceiling, and the recording time, ``time_bin_start`` and
    ``time_bin_end`` in ms after stimulus onset. These two are on the dimension time_bin, which is needed for several
    bins; for a single bin they may be numbers without a dimension.

    Example:
        >>> NeuroidAssembly([[1., float("nan")]], dims=["presentation", "neuroid"], coords={
        ...     "stimulus_id": ("presentation", ["a"]), "neuroid_id": ("neuroid", [7, 8])}).validate()
        Traceback (most recent call last):
        ...
        ValueError: not a valid NeuroidAssembly: 1 of 2 values is NaN, first at stimulus_id a, neuroid_id 8
    """

    __slots__ = ()

    standard: ClassVar[Standard] = Standard(
        ("presentation", "neuroid"),
        optional=("time_bin",),
        identifiers={"stimulus_id": "presentation", "neuroid_id": "neuroid"},
        unique=("neuroid_id",),
        numbers=True,
        complete=True,
    )


class NeuronRecordingAssembly(NeuroidAssembly):
    """Recordings of neurons: a ``NeuroidAssembly`` whose neuroids are not model units.

    Example:
        >>> NeuronRecordingAssembly([[1.]], dims=["presentation", "neuroid"], coords={
        ...     "stimulus_id": ("presentation", ["a"]), "neuroid_id": ("neuroid", ["n1"])}).validate()
    """

    __slots__ = ()


class ModelFeaturesAssembly(NeuroidAssembly):
    """Features of a model: a ``NeuroidAssembly`` whose neuroids are the model's units.

    Example:
        >>> ModelFeaturesAssembly([[1.]], dims=["presentation", "neuroid"], coords={
        ...     "stimulus_id": ("presentation", ["a"]), "neuroid_id": ("neuroid", ["conv1.0"])}).validate()
    """

    __slots__ = ()


class SpikeTimesAssembly(NeuronRecordingAssembly):
    """Spike times, one spike per row on the dimension event, with the ``neuroid_id`` of each.

    Further arrays of a recording, such as stimulus onset times, are ``MetadataAssembly`` objects in its attributes; a
    file holds each in a group of its own.

    Example:
        >>> spikes = SpikeTimesAssembly([67.78, 67.79], dims=["event"], coords={
        ...     "neuroid_id": ("event", ["A-019", "D-009"])})
        >>> spikes.validate()
        >>> spikes.sel(neuroid_id="D-009").values.tolist()
        [67.79]
    """

    __slots__ = ()

    merges_stimulus_set: ClassVar[bool] = False
    reads_groups: ClassVar[bool] = True

    standard: ClassVar[Standard] = Standard(
        ("event",), optional=(), identifiers={"neuroid_id": "event"}, numbers=True, complete=True
    )


class BehavioralAssembly(DataAssembly):
    """Behavioural responses: one trial per row on presentation, optionally x choice.

    Coordinates required by the data standard: ``stimulus_id`` on presentation.

    Example:
        >>> BehavioralAssembly(["dog", "car"], dims=["presentation"], coords={
        ...     "stimulus_id": ("presentation", ["a", "b"])}).sel(stimulus_id="b").values.tolist()
        ['car']
    """

    __slots__ = ()

    standard: ClassVar[Standard] = Standard(
        ("presentation",), identifiers={"stimulus_id": "presentation"}, complete=True
    )


class PropertyAssembly(DataAssembly):
    """Measured properties of neuroids (orientation selectivity, receptive-field size, ...): neuroid x property.

    A property that a neuroid does not have is NaN.

    Example:
        >>> PropertyAssembly([[0.5]], coords={"neuroid_property": ("neuroid_property", ["osi"])},
        ...                  dims=["neuroid", "neuroid_property"]).dims
        ('neuroid', 'neuroid_property')
    """

    __slots__ = ()

    merges_stimulus_set: ClassVar[bool] = False

    standard: ClassVar[Standard] = Standard(("neuroid",), numbers=True)


PropertiesAssembly = PropertyAssembly
"""The name of the class in Brain-Score's tutorials."""


class RDMAssembly(DataAssembly):
    """Dissimilarity matrices: stimulus_left x stimulus_right, optionally of several subjects, regions or times.

    Coordinates required by the data standard: ``stimulus_id_left`` on stimulus_left and ``stimulus_id_right`` on
    stimulus_right, the same stimuli in the same order. Matrices are symmetric; a dissimilarity that was not measured is
    NaN. The diagonal is never compared.

    Example:
        >>> ids = {f"stimulus_id_{side}": (f"stimulus_{side}", ["a", "b"]) for side in ("left", "right")}
        >>> RDMAssembly([[0.0, 1.0], [2.0, 0.0]], ids, ["stimulus_left", "stimulus_right"]).validate()
        Traceback (most recent call last):
        ...
        ValueError: not a valid RDMAssembly: the matrix is not symmetric
    """

    __slots__ = ()

    merges_stimulus_set: ClassVar[bool] = False

    standard: ClassVar[Standard] = Standard(
        ("stimulus_left", "stimulus_right"),
        identifiers={"stimulus_id_left": "stimulus_left", "stimulus_id_right": "stimulus_right"},
        unique=("stimulus_id_left", "stimulus_id_right"),
        numbers=True,
    )

    def problems(self) -> list[str]:
        """Violations of the data standard, also of the symmetry of the matrices."""
        return super().problems() or rdm_problems(self)


class MetadataAssembly(DataAssembly):
    """Description of another assembly, with other dimensions; a group in the file of a ``SpikeTimesAssembly``.

    Example:
        >>> MetadataAssembly([1809.4, 1830.2], dims=["event"], coords={"stimulus_id": ("event", ["a", "b"])}).shape
        (2,)
    """

    __slots__ = ()

    merges_stimulus_set: ClassVar[bool] = False


_CLASSES: dict[str, type[DataAssembly]] = {
    name: cls for name, cls in list(globals().items()) if isinstance(cls, type) and issubclass(cls, DataAssembly)
}


def resolve_assembly_class(name: str) -> type[DataAssembly]:
    """The class of assemblies with a given name, as used in Brain-Score's registrations.

    Raises:
        ValueError: the class is unknown; the message lists the known ones.

    Example:
        >>> resolve_assembly_class("NeuronRecordingAssembly").__name__
        'NeuronRecordingAssembly'
    """
    if name in _CLASSES:
        return _CLASSES[name]
    raise ValueError(f"unknown assembly class {name!r}{hint(name, _CLASSES)}; there are: {', '.join(_CLASSES)}")
