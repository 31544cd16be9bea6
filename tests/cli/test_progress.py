"""What the command says while it scores."""

import io

from rich.console import Console
from rich.progress import Progress

from bsjax.cli.progress import _Bars
from bsjax.scoring import Outcome, plan


def test_bars_say_what_runs_and_how_many_have_failed(tmp_path):
    console = Console(file=io.StringIO(), force_terminal=True, width=200)
    planned = plan("pixels", ["Simulated.V1-cka", "Simulated.V1-rdm", "Cowley2026.V4-pls"], store=tmp_path / "a.db")
    first, second = (cell.job for cell in planned.of("compute"))
    with Progress(console=console, auto_refresh=False) as bars:
        told = _Bars(console, bars)
        [cells] = bars.tasks
        told.begin(planned)
        assert cells.total == 2 and cells.description == "starting"
        told.begun(first)
        assert cells.description == "pixels on Simulated.V1-cka"
        told.begun(second)
        assert cells.description == "2 running"
        told.stopping()
        told.came(Outcome("pixels", "Simulated.V1-cka", error=ValueError("no room"), state="failed"))
        assert (cells.description, cells.completed, cells.fields["rate"]) == (
            "pixels on Simulated.V1-rdm",
            1,
            "1 failed",
        )
        told.step("draws", 3, 10)
        assert (bars.tasks[1].description, bars.tasks[1].completed, bars.tasks[1].total) == ("draws", 3, 10)
        told.step("draws", 10, 10)
        assert len(bars.tasks) == 1
        told.came(Outcome("pixels", "Simulated.V1-rdm"))
        assert cells.finished and cells.description == "" and cells.fields["rate"] == "1 failed"
    said = console.file.getvalue()
    assert "waiting for pixels on Simulated.V1-cka, pixels on Simulated.V1-rdm; Ctrl-C again ends it" in said
    assert "bsjax: pixels on Simulated.V1-cka: no room" in said and "Cowley2026.V4-pls: it needs data=" in said
