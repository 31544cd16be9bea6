"""Run a page of the documentation, block by block: ``python -m tests.docs.run_page PAGE`` in an empty folder.

Blocks of ``python`` share their names, and what they print is compared with the block of ``text`` that follows. Lines
of ``sh`` are run. Lines of ``console`` need what a test has not, such as a cluster: their commands and options must be
there.
"""

import io
import re
import shlex
import sys
from contextlib import redirect_stdout
from pathlib import Path

NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
GROUPS = {"accounts", "cache", "data", "leaderboard", "results", "submissions"}


def blocks(page: str) -> list[tuple[str, str]]:
    return re.findall(r"^```(python|text|sh|console)\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


def compare(shown: str, printed: str) -> None:
    """The same words, and numbers that agree to the last digit that is shown."""
    assert NUMBER.sub("#", shown).split() == NUMBER.sub("#", printed).split(), (shown, printed)
    for one, other in zip(NUMBER.findall(shown), NUMBER.findall(printed), strict=True):
        step = 10.0 ** -len(one.partition(".")[2]) if "." in one else 0
        assert abs(float(one) - float(other)) <= 1.01 * step, (shown, printed)


def command(line: str, run: bool) -> None:
    """Run a line, or see that its command has its options."""
    from typer.testing import CliRunner

    from bsjax.cli import app

    words = shlex.split(line, comments=True)
    if words[:1] != ["bsjax"]:
        assert not run, line
        return
    name = words[1 : 3 if words[1] in GROUPS else 2]
    done = CliRunner().invoke(app, words[1:] if run else [*name, "--help"], catch_exceptions=False)
    assert done.exit_code == 0, (line, done.output)
    if not run:
        missing = [word for word in words if word.startswith("--") and word not in done.output]
        assert not missing, (line, missing)


def main(page: str) -> None:
    names: dict[str, object] = {"__name__": "__main__"}
    printed = None
    for language, body in blocks(Path(page).read_text(encoding="utf-8")):
        if language == "python":
            with redirect_stdout(io.StringIO()) as out:
                exec(compile(body, page, "exec"), names)
            printed = out.getvalue()
            continue
        if language == "text":
            assert printed is not None, f"nothing was printed before: {body}"
            compare(body, printed)
        for line in body.splitlines() if language in ("sh", "console") else ():
            command(line, run=language == "sh")
        printed = None


if __name__ == "__main__":
    main(sys.argv[1])
