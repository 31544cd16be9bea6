"""What the build adds to a wheel: which source its numbers are made by, so that a clone of it shares them."""

import runpy
import tempfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CustomBuildHook(BuildHookInterface):
    """Writes the digests of the source into the wheel; an editable installation has the source itself."""

    def initialize(self, version: str, build_data: dict) -> None:
        """Put the file among those of the wheel."""
        if version == "editable":
            return
        place = Path("bsjax", "core", "identity")
        source = runpy.run_path(str(Path(self.root, place, "source.py")))
        written = Path(tempfile.mkdtemp(), source["WRITTEN"])
        written.write_text(source["written"](Path(self.root, "bsjax")))
        build_data["force_include"][str(written)] = str(place / source["WRITTEN"])
