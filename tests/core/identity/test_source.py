"""bsjax's own source as a version: what it does counts, remarks do not; clone and wheel agree, on every Python."""

import ast
import io
import runpy
import shutil
import subprocess
import sys
import tokenize
from pathlib import Path

import pytest

from bsjax.core.identity.source import OF_SCORES, WRITTEN, digest_of_folder, own_source, without_remarks
from tests.support.interpreters import INTERPRETERS
from tests.support.paths import REPOSITORY

SOURCE = Path("bsjax", "core", "identity", "source.py")


def meaning(text):
    """The tree of some source, without strings that stand alone."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            node.body = [each for each in body if not is_text(each)] or [ast.Pass()]
    return ast.dump(tree)


def is_text(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def test_without_remarks_all_that_runs_is_left():
    files = [path for package in ("bsjax", "tests") for path in sorted((REPOSITORY / package / "core").rglob("*.py"))]
    for path in files:
        text = path.read_text()
        cut = without_remarks(text)
        kinds = {token.type for token in tokenize.generate_tokens(io.StringIO(cut).readline)}
        assert tokenize.COMMENT not in kinds, path
        try:
            assert meaning(cut) == meaning(text), path
        except IndentationError:  # nothing but a docstring was in a function or a class
            assert any(
                is_text(node.body[-1])
                for node in ast.walk(ast.parse(text))
                if isinstance(node, ast.ClassDef | ast.FunctionDef)
            )


@pytest.mark.parametrize(
    ("edit", "counts"),
    [
        (("'''Twice.'''", "'''Doubled.\n\n    More.\n    '''"), False),
        (("# two", "# 2"), False),
        (("\n\ndef", "\n\n\n\ndef"), False),
        (("2 * x", "3 * x"), True),
        (("'a  # b'", "'a  # c'"), True),
        (('"""line\n\nline"""', '"""line\nline"""'), True),
    ],
)
def test_an_edit(tmp_path, edit, counts):
    path = tmp_path / "own.py"
    constants = 'A = [\'a  # b\']\nB = (\n    """line\n\nline"""\n)\n'
    path.write_text(f"{constants}\ndef f(x):\n    '''Twice.'''\n    return 2 * x  # two\n")
    before = digest_of_folder(tmp_path)
    assert edit[0] in path.read_text()
    path.write_text(path.read_text().replace(*edit))
    assert (digest_of_folder(tmp_path) != before) == counts


@pytest.mark.slow
@pytest.mark.parametrize("python", INTERPRETERS)
def test_a_clone_and_a_wheel_agree_on_every_python(python, tmp_path):
    for part in (Path("bsjax", "__init__.py"), Path("bsjax", "core", "__init__.py"), SOURCE):
        (tmp_path / part).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / part, tmp_path / part)
    said = runpy.run_path(str(REPOSITORY / SOURCE))["written"](REPOSITORY / "bsjax")
    (tmp_path / SOURCE).with_name(WRITTEN).write_text(said)
    code = f"import runpy; print(runpy.run_path({str(SOURCE)!r})['own_source'](*{OF_SCORES!r}))"
    answers = [
        subprocess.run([python, "-c", code], cwd=place, capture_output=True, text=True, check=True).stdout.strip()
        for place in (tmp_path, REPOSITORY)
    ]
    assert answers == [own_source(*OF_SCORES)] * 2, sys.version
