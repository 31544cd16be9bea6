"""The row of a benchmark: all that is known of it without building it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bsjax.benchmarks.rows.publications import publication, publications_in


@dataclass(frozen=True, kw_only=True)
class BenchmarkRow:
    """What is known of a benchmark before it is built; nothing is loaded to read it.

    Attributes:
        identifier: unique name.
        summary: a line for lists.
        version: as in Brain-Score; None where nobody states it, as of plugins, which are not run for it.
        parent: what the benchmark is averaged under.
        kind: of comparison, e.g. "neural", "rsa", "behavioural", "engineering".
        region: where a model is recorded from; "" for behaviour.
        modality: "electrophysiology", "fMRI", "EEG", "behaviour", "simulation", or "none": nothing was measured.
        species: "macaque", "human", or "none".
        about: what was measured, in a few words.
        data: data sets, or stimulus sets where nothing was measured, as ``load_dataset`` or ``load_stimulus_set`` knows
            them.
        stimuli, fitting_stimuli: the stimulus sets that are looked at and learned from, where others than the data's.
        citation: keys of the publications.
        metric: as for ``load_metric``, or in a word.
        ceiling: as for ``load_ceiling``, or in a word; a number that is known.
        normalisation: name of a function of :mod:`bsjax.labelled.normalise`; "" for none.
        visual_degrees: width of the stimuli; None where each fills the model's field, or its set says its size.
        number_of_trials: how often a model sees each stimulus.
        time_bins: in ms; empty for those of the data.
        needs: the arguments without which there is no score, e.g. "data".
        with_data: whether it needs neither a download nor an argument.
        plugin: the folder of the plugin that it comes from; "" for those of bsjax.
        builder: what builds it, ``"package.module:function"``; it is called with the row.
        settings: what only its builder reads.

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
        """The publications; of a plugin, those that stand in its code."""
        if self.plugin:
            return publications_in(self.plugin)
        return "\n\n".join(map(publication, self.citation))

    @property
    def access(self) -> dict[str, str]:
        """Who may read each data set and stimulus set, in the words of ``bsjax.data.catalogue.published.ACCESS``."""
        from bsjax.data.catalogue.registry import access_of

        names = dict.fromkeys([*self.data, self.stimuli, self.fitting_stimuli])
        return {name: "public" if self.with_data else access_of(name) for name in names if name}

    def arguments(self, *more: str) -> dict[str, Any]:
        """What the classes of benchmarks take from a row under the row's own names, and ``more`` of it.

        Example:
            >>> from bsjax.benchmarks import benchmark_row
            >>> list(benchmark_row("Hebart2023-match").arguments("region"))
            ['visual_degrees', 'number_of_trials', 'version', 'parent', 'bibtex', 'region']
        """
        names = ("visual_degrees", "number_of_trials", "version", "parent", "bibtex", *more)
        return {name: getattr(self, name) for name in names}
