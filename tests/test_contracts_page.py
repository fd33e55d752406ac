"""docs/operator-contracts.md says what the table says."""

from __future__ import annotations

import re

from stridelint.linter import contracts_page
from stridelint.rules.contract import operators

PAGE = contracts_page.page()
ROWS = {match[1]: match[0] for match in re.finditer(r"^\| `([\w.]+)`.*$", PAGE, re.MULTILINE)}


def test_every_operator_that_takes_out_has_a_row() -> None:
    table = operators.shipped()
    taking = {name for name in table.names() if operators.decode(table, name).accepts_out}
    assert taking == set(ROWS)


def test_a_row_tells_only_what_is_not_as_it_should_be() -> None:
    assert ROWS["add"] == "| `add` | kind |  |  |  |  |  |  | decided by input, other |"
    assert "is mat1: wrong" in ROWS["addmm"]
    assert "overlaps batch1: wrong" in ROWS["addbmm"]
    assert "| numbers in another order |" in ROWS["randn"]


def test_it_lists_what_torch_gets_wrong() -> None:
    wrong = PAGE.split("## What torch itself gets wrong")[1].split("## ")[0]
    assert "`tril`" in wrong
    assert "`linalg.lu`" in wrong
    assert "randn" not in wrong


def test_each_row_has_all_columns() -> None:
    assert {
        line.replace("\\|", "").count("|")
        for line in PAGE.split("## Operators that take out=")[1].split("##")[0].splitlines()
        if line.startswith("|")
    } == {10}
