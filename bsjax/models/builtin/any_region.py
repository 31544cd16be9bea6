"""A model that stands for no region, and answers for any."""

from bsjax.models.commitment import ModelCommitment


class AnyRegion(ModelCommitment):
    """A commitment that records any region: one that its map lacks as it records IT.

    It is that of baselines, which are to be had wherever a score is.

    Example:
        >>> from bsjax import load_model
        >>> model = load_model("pixels")
        >>> model.start_recording("FFA", [(0, 100)])
        >>> model.layers_in_use
        {'FFA': ['pixels']}
    """

    def _chosen(self, region: str) -> list[str]:
        return list(self.region_layer_map["IT"]) if "IT" in self.region_layer_map else super()._chosen(region)
