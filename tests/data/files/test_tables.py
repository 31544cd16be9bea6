"""CSV tables: what is text and what a number, and a round trip of any table."""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bsjax.data.files.tables import read_table, table_as_csv


def read(content: str | bytes, **options) -> pd.DataFrame:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return read_table(path, **options)


def column(*values: str, name: str = "x") -> pd.Series:
    return read("\n".join([f"other,{name}", *(f"a,{value}" for value in values)]) + "\n")[name]


@pytest.mark.parametrize(
    ("values", "name", "expected", "kind"),
    [
        (["1", "2"], "x", [1, 2], "i"),
        (["001", "002"], "x", ["001", "002"], "O"),
        (["001", "2"], "stimulus_id", ["001", "2"], "O"),
        (["1.25", "1.5"], "stimulus_id", [1.25, 1.5], "f"),
        (["1e-999", "1.5"], "x", ["1e-999", "1.5"], "O"),
        (["True", "1"], "x", ["True", "1"], "O"),
        (["1.10", "1.5"], "stimulus_id", ["1.10", "1.5"], "O"),
        (["18446744073709551615", "0"], "x", [2**64 - 1, 0], "u"),
        (["18446744073709551616", "0"], "x", ["18446744073709551616", "0"], "O"),
        (["9007199254740993", "1.5"], "x", ["9007199254740993", "1.5"], "O"),
        (["9007199254740994", "1.5"], "x", [2.0**53 + 2, 1.5], "f"),
        (["1e999", "1.5"], "x", ["1e999", "1.5"], "O"),
        (["inf", "-inf"], "x", [np.inf, -np.inf], "f"),
        (["True", "False"], "x", [True, False], "b"),
        (['"1"', '"2"'], "stimulus_id", ["1", "2"], "O"),
        (['"1"', "2"], "x", ["1", "2"], "O"),
    ],
)
def test_what_is_text_and_what_a_number(values, name, expected, kind):
    found = column(*values, name=name)
    assert found.tolist() == expected
    assert (found.dtype.kind if isinstance(found.dtype, np.dtype) else "O") == kind


def test_missing_values():
    np.testing.assert_array_equal(column("1", "", "NA").to_numpy(), [1, np.nan, np.nan])
    np.testing.assert_array_equal(column("1.5", "nan").to_numpy(), [1.5, np.nan])
    assert column("", "").isna().all() and column("", "").dtype == float
    texts = column("a", "", '""', "NA")
    assert texts.isna().tolist() == [False, True, False, False] and texts[2] == "" and texts[3] == "NA"
    assert column("True", "").tolist()[0] is True


def test_quotes_around_everything_say_nothing():
    table = read('"stimulus_id","size"\n"1","2.5"\n')
    assert table["stimulus_id"].tolist() == [1] and table["size"].tolist() == [2.5]
    spreadsheet = read('stimulus_id,"size"\n"1",2.5\n')
    assert spreadsheet["stimulus_id"].tolist() == ["1"] and spreadsheet["size"].tolist() == [2.5]


def test_line_ends_byte_order_marks_and_empty_lines():
    for end in ("\n", "\r\n", "\r"):
        table = read(b"\xef\xbb\xbf" + end.join(["a,b", "1,x", "", "2,y"]).encode())
        assert table.to_dict("list") == {"a": [1, 2], "b": ["x", "y"]}


texts = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    st.sampled_from(["001", "1", "-1.50", "", "NA", "nan", "inf", "True", "false", " 1", '"', "a\r\nb", "a,b"]),
)
cells = {
    "text": texts,
    "int": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(),
    "float32": st.floats(width=32).map(np.float32),
    "bool": st.booleans(),
}


@st.composite
def tables(draw):
    n = draw(st.integers(1, 5))
    names = st.one_of(
        st.sampled_from(["stimulus_id", "a,b", 'say "x"', "é"]), st.from_regex("[a-z]{1,4}", fullmatch=True)
    )
    columns = {"first": np.arange(n)}
    for name in draw(st.lists(names, unique=True, max_size=4)):
        kind = draw(st.sampled_from(list(cells)))
        values = draw(st.lists(cells[kind], min_size=n, max_size=n))
        if kind == "text" and draw(st.booleans()):
            values[draw(st.integers(0, n - 1))] = None
        columns[name] = values if kind != "float32" else np.array(values, np.float32)
    return pd.DataFrame(columns)


@given(tables())
def test_any_table_survives(table):
    again = read(table_as_csv(table))
    assert list(again) == list(table)
    for name in table:
        expected = table[name]
        if expected.isna().all():  # there is nothing left that would say whether it was text
            assert again[name].isna().all()
            continue
        assert again[name].isna().tolist() == expected.isna().tolist()
        present = ~expected.isna()
        assert again[name][present].tolist() == expected[present].tolist()
        both = {type(value) for column in (again[name], expected) for value in column[present].tolist()}
        assert len(both) == 1


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pd.DataFrame({"a": [1, "b"], "b": [[1], [2]]}), "'a': values of type int, str; .*'b': values of type list"),
        (pd.DataFrame({"a": pd.Series([10**400, 1.5], dtype=object)}), "'a': 10+ beside fractions"),
        (pd.DataFrame({3: [1]}), "column 3: its name is not text"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "column 'a' is there more than once"),
    ],
)
def test_tables_that_cannot_be_written(table, message):
    with pytest.raises(ValueError, match=message):
        table_as_csv(table)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "table.csv is empty"),
        ("stimulus_id\ncafé\n".encode("latin-1"), "table.csv is not a CSV file in UTF-8: byte 15 is 0xe9"),
        (b"a,b\n1,2\n\n3\n", "table.csv, line 4: 1 values in a table of 2 columns"),
        (b"a,b,a\n1,2,3\n", "table.csv has more than one column a"),
    ],
)
def test_files_that_are_no_table(content, message):
    with pytest.raises(ValueError, match=message):
        read(content)


def test_tables_that_r_writes():
    table = read('"","stimulus_id","mean","name","n"\n"1","aardvark","6.8421",NA,39\n"2","abacus","1.5","x",NA\n')
    assert table["mean"].tolist() == [6.8421, 1.5] and table[""].tolist() == [1, 2]
    assert table["name"].isna().tolist() == [True, False] and table["n"].isna().tolist() == [False, True]
    zeros = read('"stimulus_id","n"\n"001",1\n')
    assert zeros["stimulus_id"].tolist() == ["001"]


def test_blanks_around_names():
    table = read("stimulus_id, filename ,size\na, a.png, 2\nb, b.png , 3\n")
    assert table.to_dict("list") == {"stimulus_id": ["a", "b"], "filename": ["a.png", "b.png"], "size": [2, 3]}
    assert read("a,b\n x,1\n")["a"].tolist() == [" x"]
