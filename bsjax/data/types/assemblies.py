"""The kinds of assemblies: recordings, spikes, model features, behaviour, properties and metadata."""

from typing import ClassVar

from bsjax.core.registry import nearest
from bsjax.data.types.assembly_base import DataAssembly as DataAssembly
from bsjax.data.types.assembly_checks import (
    dimension_problems,
    empty_problems,
    identifier_problems,
    missing_problems,
    number_problems,
    stimulus_set_problems,
)


class NeuroidAssembly(DataAssembly):
    """Recordings of neuroids (neurons, sites, voxels, model units): presentation x neuroid, or x time_bin as
    well.

    Coordinates that the data standard asks for: ``stimulus_id`` on presentation, ``neuroid_id`` on neuroid. A benchmark
    asks for more: ``region`` on neuroid, ``repetition`` for a ceiling, and when the responses were recorded,
    ``time_bin_start`` and ``time_bin_end`` in ms after stimulus onset. These lie on the dimension time_bin, which is
    needed where there are several bins; of a single one they may be two numbers without a dimension.

    Example:
        >>> NeuroidAssembly([[1., float("nan")]], dims=["presentation", "neuroid"], coords={
        ...     "stimulus_id": ("presentation", ["a"]), "neuroid_id": ("neuroid", [7, 8])}).validate()
        Traceback (most recent call last):
        ...
        ValueError: not a valid NeuroidAssembly: 1 of 2 values is NaN, first at stimulus_id a, neuroid_id 8
    """

    __slots__ = ()

    def problems(self) -> list[str]:
        """What keeps this assembly from following the data standard of neuroid assemblies."""
        return [
            *dimension_problems(
                self,
                "presentation, neuroid[, time_bin]",
                ["presentation", "neuroid"],
                ["presentation", "neuroid", "time_bin"],
            ),
            *identifier_problems(self, "stimulus_id", "presentation"),
            *identifier_problems(self, "neuroid_id", "neuroid", unique=True),
            *number_problems(self),
            *missing_problems(self),
            *stimulus_set_problems(self),
        ]


class NeuronRecordingAssembly(NeuroidAssembly):
    """Recordings of neurons: a ``NeuroidAssembly`` whose neuroids are not those of a model.

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
    """Times of spikes, one row a spike on the dimension event, with the ``neuroid_id`` of each.

    Further arrays that belong to a recording, such as the times at which stimuli were shown, are of
    ``MetadataAssembly`` among its attributes; a file holds each in a group of its own.

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

    def problems(self) -> list[str]:
        """What keeps this assembly from following the data standard of spike times."""
        return [
            *dimension_problems(self, "event", ["event"]),
            *identifier_problems(self, "neuroid_id", "event"),
            *number_problems(self),
            *missing_problems(self),
        ]


class BehavioralAssembly(DataAssembly):
    """Behavioural responses: one row a trial on presentation, alone or by choice.

    Coordinates that the data standard asks for: ``stimulus_id`` on presentation.

    Example:
        >>> BehavioralAssembly(["dog", "car"], dims=["presentation"], coords={
        ...     "stimulus_id": ("presentation", ["a", "b"])}).sel(stimulus_id="b").values.tolist()
        ['car']
    """

    __slots__ = ()

    def problems(self) -> list[str]:
        """What keeps this assembly from following the data standard of behavioural assemblies."""
        dims = ", ".join(map(str, self.dims)) or "none"
        lost = [] if "presentation" in self.dims else [f"expected a dimension presentation, got {dims}"]
        return [
            *lost,
            *empty_problems(self),
            *identifier_problems(self, "stimulus_id", "presentation"),
            *missing_problems(self),
            *stimulus_set_problems(self),
        ]


class PropertyAssembly(DataAssembly):
    """Measured properties of neuroids (orientation selectivity, receptive-field size, ...): neuroid x
    property. A property that a neuroid does not have is NaN.

    Example:
        >>> PropertyAssembly([[0.5]], coords={"neuroid_property": ("neuroid_property", ["osi"])},
        ...                  dims=["neuroid", "neuroid_property"]).dims
        ('neuroid', 'neuroid_property')
    """

    __slots__ = ()

    merges_stimulus_set: ClassVar[bool] = False

    def problems(self) -> list[str]:
        """What keeps this assembly from following the data standard of properties."""
        dims = ", ".join(map(str, self.dims)) or "none"
        lost = [] if "neuroid" in self.dims else [f"expected a dimension neuroid, got {dims}"]
        return [*lost, *empty_problems(self), *number_problems(self)]


PropertiesAssembly = PropertyAssembly
"""The name that Brain-Score's tutorials have for it."""


class MetadataAssembly(DataAssembly):
    """What describes another assembly, and has other dimensions: a group in the file of a ``SpikeTimesAssembly``.

    Example:
        >>> MetadataAssembly([1809.4, 1830.2], dims=["event"], coords={"stimulus_id": ("event", ["a", "b"])}).shape
        (2,)
    """

    __slots__ = ()

    merges_stimulus_set: ClassVar[bool] = False

    def problems(self) -> list[str]:
        """What keeps this assembly from following the data standard of metadata."""
        lost = [] if self.dims else ["it is one value, without a dimension"]
        return lost + empty_problems(self)


_CLASSES: dict[str, type[DataAssembly]] = {
    name: cls for name, cls in list(globals().items()) if isinstance(cls, type) and issubclass(cls, DataAssembly)
}


def resolve_assembly_class(name: str) -> type[DataAssembly]:
    """The class of assemblies that has a name, as the registrations of Brain-Score give it.

    Raises:
        ValueError: no such class; the message lists those there are.

    Example:
        >>> resolve_assembly_class("NeuronRecordingAssembly").__name__
        'NeuronRecordingAssembly'
    """
    if name in _CLASSES:
        return _CLASSES[name]
    near = nearest(name, _CLASSES)
    hint = f"; nearest: {', '.join(near)}" if near else ""
    raise ValueError(f"unknown assembly class {name!r}{hint}; there are: {', '.join(_CLASSES)}")
