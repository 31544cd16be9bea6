"""A model commitment that can record any region."""

from bsjax.models.commitment import ModelCommitment


class AnyRegion(ModelCommitment):
    """A commitment that records any region; regions missing from its map use the layers of IT.

    Used for baselines, which must be available on every benchmark.

    Example:
        >>> from bsjax import load_model
        >>> model = load_model("pixels")
        >>> model.start_recording("FFA", [(0, 100)])
        >>> model.layers_in_use
        {'FFA': ['pixels']}
    """

    def _chosen(self, region: str) -> list[str]:
        return list(self.region_layer_map["IT"]) if "IT" in self.region_layer_map else super()._chosen(region)
