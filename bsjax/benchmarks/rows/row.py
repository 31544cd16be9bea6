"""The row of a benchmark: the facts known without building it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bsjax.benchmarks.rows.publications import publication, publications_in


@dataclass(frozen=True, kw_only=True)
class BenchmarkRow:
    """The facts known about a benchmark before it is built; reading them loads no data.

    Attributes:
        identifier: unique name.
        summary: one line for lists.
        version: as in Brain-Score; None if unknown, as for plugins, which are not run for this.
        parent: the node under which the benchmark is averaged.
        kind: kind of comparison, e.g. "neural", "rsa", "behavioural", "engineering".
        region: the region that a model is recorded from; "" for behaviour.
        modality: "electrophysiology", "fMRI", "EEG", "behaviour", "simulation", or "none" without measurements.
        species: "macaque", "human", or "none".
        about: what was measured, in a few words.
        data: names of the data sets for ``load_dataset``, or of stimulus sets for ``load_stimulus_set`` if nothing was
            measured.
        stimuli, fitting_stimuli: stimulus sets to look at and to learn from, if they differ from the data's.
        citation: BibTeX keys of the publications.
        metric: name for ``load_metric``, or a word.
        ceiling: name for ``load_ceiling``, or a word; or a known number.
        normalisation: name of a function of :mod:`bsjax.labelled.normalise`; "" for none.
        visual_degrees: width of the stimuli; None if each fills the model's field of view, or the stimulus set states
            its size.
        number_of_trials: number of presentations of each stimulus.
        time_bins: time bins in ms; empty for those of the data.
        needs: arguments required for a score, e.g. "data".
        with_data: whether it needs neither a download nor an argument.
        plugin: folder of the plugin that provides it; "" for benchmarks of bsjax.
        builder: the function that builds it, ``"package.module:function"``, called with the row.
        settings: settings that only its builder reads.

    Example:
        >>> from bsjax.benchmarks import benchmark_row
        >>> row = benchmark_row("MajajHong2015public.IT-pls")
        >>> row.version, row.parent, row.species, row.modality, row.access
        (4, 'IT', 'macaque', 'electrophysiology', {'MajajHong2015.public': 'public'})
    """

    identifier: str
    summary: str = ""
    version: int | None = None
    parent: str = ""
    kind: str = ""
    region: str = ""
    modality: str = ""
    species: str = ""
    about: str = ""
    data: tuple[str, ...] = ()
    stimuli: str = ""
    fitting_stimuli: str = ""
    citation: tuple[str, ...] = ()
    metric: str = ""
    ceiling: str | float = ""
    normalisation: str = ""
    visual_degrees: float | None = None
    number_of_trials: int = 1
    time_bins: tuple[tuple[float, float], ...] = ()
    needs: tuple[str, ...] = ()
    with_data: bool = False
    plugin: str = ""
    builder: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def bibtex(self) -> str:
        """The publications; for a plugin, the entries found in its code."""
        if self.plugin:
            return publications_in(self.plugin)
        return "\n\n".join(map(publication, self.citation))

    @property
    def access(self) -> dict[str, str]:
        """Who may read each data set and stimulus set, in the terms of ``bsjax.data.catalogue.published.ACCESS``."""
        from bsjax.data.catalogue.registry import access_of

        names = dict.fromkeys([*self.data, self.stimuli, self.fitting_stimuli])
        return {name: "public" if self.with_data else access_of(name) for name in names if name}

    def arguments(self, *more: str) -> dict[str, Any]:
        """The fields that benchmark classes take as arguments of the same name, and the fields ``more``.

        Example:
            >>> from bsjax.benchmarks import benchmark_row
            >>> list(benchmark_row("Hebart2023-match").arguments("region"))
            ['visual_degrees', 'number_of_trials', 'version', 'parent', 'bibtex', 'region']
        """
        names = ("visual_degrees", "number_of_trials", "version", "parent", "bibtex", *more)
        return {name: getattr(self, name) for name in names}
