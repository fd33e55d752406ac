"""All that binds a name in Python changes what it stands for, also after a loop that runs some number of times."""

from __future__ import annotations

import sys

import pytest
from probing import facts_at_strides


def ranks(code: str) -> list[int | None]:
    """Rank of the receiver of each `.stride()` call, one after the other."""
    return [facts.rank for facts in facts_at_strides("import torch\n" + code)]


LOOP = "def f(many):\n    n = 2\n    for each in many:\n        {}\n    torch.zeros([1] * n).stride()\n"


@pytest.mark.parametrize(
    "statement",
    [
        "n += 1",
        "n, *rest = n + 1, 3",
        "*n, last = 5, 6",
        "print(n := n + 1)",
        "print([n := n + 1 for _ in (1, 2)])",
        "match [n + 1]:\n            case [n]:\n                pass",
        "match {'k': n + 1}:\n            case {'k': n}:\n                pass",
        "match n + 1:\n            case int() as n:\n                pass",
        "with open(each) as n:\n            pass",
        "import n",
        "from many import n",
        "for n in (5, 6):\n            pass",
        "def n():\n            pass",
        "class n:\n            pass",
        "del n",
        "try:\n            raise ValueError\n        except ValueError as n:\n            pass",
    ],
)
def test_what_a_loop_binds_is_not_known_after_it(statement: str) -> None:
    found = ranks(LOOP.format(statement))
    assert found and 2 not in found


def test_a_name_that_no_statement_of_the_loop_binds_stays() -> None:
    assert set(ranks(LOOP.format("m = n"))) == {2}


@pytest.mark.parametrize(
    ("code", "rank"),
    [
        ("match (2, 3, 4):\n    case [n, *rest]:\n        torch.zeros(rest).stride()\n", 2),
        ("match (2, 3, 4):\n    case [*start, n]:\n        torch.zeros(*start, n, n).stride()\n", 4),
        (
            "match (2, 3, 4):\n    case [n, m, k, l, *_]:\n        pass\n    case [_, *_, n]:\n        torch.zeros([1] * n).stride()\n",
            4,
        ),
        (
            "match {'n': 3, 'm': 2}:\n    case {'k': n}:\n        pass\n    case {'n': n, **rest}:\n        torch.zeros([1] * n).stride()\n",
            3,
        ),
        ("match {'n': 3}:\n    case {'n': 4}:\n        pass\n    case {'n': 3}:\n        torch.zeros(1).stride()\n", 1),
        ("sizes = [last := n for n in (2, 3)]\ntorch.zeros([1] * last).stride()\n", 3),
        ("n = 4\ndef f():\n    torch.zeros([1] * n).stride()\nmatch (1, 2):\n    case [_, n]:\n        pass\nf()\n", 2),
        ("match 3:\n    case 3:\n        def f():\n            torch.zeros(3).stride()\nf()\n", 1),
    ],
)
def test_patterns_and_walrus(code: str, rank: int) -> None:
    assert ranks(code)[0] == rank


def test_a_function_read_on_its_own_does_not_take_one_of_two_bindings() -> None:
    code = "n = 4\nmatch many:\n    case [n]:\n        pass\ndef f():\n    torch.zeros([1] * n).stride()\n"
    assert ranks(code) == [None]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="except* needs Python 3.11")
def test_a_try_with_except_star_is_read() -> None:
    code = "n = 2\ntry:\n    n = 3\nexcept* ValueError:\n    raise\ntorch.zeros([1] * n).stride()\n"
    assert ranks(code)[0] == 3
