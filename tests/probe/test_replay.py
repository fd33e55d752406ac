"""The verdict on a finding: real torch has the last word, on true findings and on false ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stridelint.linter import engine, source
from stridelint.linter.findings import Reported
from stridelint.linter.selection import Selection
from stridelint.rules import documents
from stridelint.rules.claims import Claim, Kind
from stridelint.rules.contract import questions
from stridelint.rules.contract.answers import Answer, Confidence
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.contract.generic import Judgement
from stridelint.rules.contract.verdict import FINE, Verdict as Clause
from stridelint.rules.events import Form, Operand, Site, TensorEvent
from stridelint.rules.guess_claims import CLAIMS
from stridelint.rules.out import out_overlap, out_resized
from stridelint.rules.registry import all_rules
from stridelint.rules.rule import Finding
from stridelint.rules.witness import witness

torch = pytest.importorskip("torch")
from stridelint.runtime_probe.replay import Verdict, replay  # noqa: E402

FIXTURES = Path(__file__).parent.parent.parent / "fixtures"
EXAMPLES = [
    *(
        pytest.param(each.code, rule.code, id=f"{rule.code}-{number}")
        for rule in all_rules()
        for number, each in enumerate(rule.INVALID)
    ),
    *(pytest.param(path.read_text(), "", id=path.stem) for path in sorted((FIXTURES / "bad").glob("*.py"))),
]


LOST_GRADIENT = Clause(Answer.YES, "gradient")

# A verdict may be missing for what the code is, never for what the probe cannot do.
ABOUT_THE_CODE = ("it is about ", "the value of ")


def findings(code: str, wanted: str = "", least: Confidence = Confidence.POSSIBLE) -> tuple[Reported, ...]:
    rules = tuple(rule for rule in all_rules() if rule.code == wanted or not wanted)
    selection = Selection(rules, frozenset(rule.code for rule in rules), least)
    outcome = engine.check(source.from_bytes("example.py", code.encode(), explicit=True), selection)
    assert not outcome.skipped
    return outcome.findings


def verdict(finding: Reported) -> Verdict:
    return replay(json.loads(finding.witness), "cpu")


@pytest.mark.parametrize(("code", "rule"), EXAMPLES)
def test_findings_are_confirmed(code: str, rule: str) -> None:
    found = findings(code, rule)
    assert found
    for finding in found:
        seen = verdict(finding)
        assert seen.verdict != "refuted", (finding.message, seen)
        assert seen.reason, finding.message
        if seen.verdict == "inconclusive":
            assert seen.reason.startswith(ABOUT_THE_CODE), (finding.message, seen)


RULES_THAT_ASK_AGAIN = {"TLC107", "TLC109", "TLC110"}


def test_a_verdict_without_a_claim_says_how_little_it_means() -> None:
    asked_again = set()
    for code, rule in (example.values for example in EXAMPLES):
        for finding in findings(str(code), str(rule)):
            document, seen = json.loads(finding.witness), verdict(finding)
            if seen.verdict != "confirmed":
                continue
            claims = [filled.get("claim", document["claim"]) for call in document["calls"] for filled in call]
            if None in claims:
                assert seen.reason == "no more than that the rule reports the same on real tensors"
                assert seen.observed.startswith(seen.reason)
                asked_again.add(finding.code)
            else:
                assert seen.reason.startswith("torch does what is claimed")
    assert asked_again == RULES_THAT_ASK_AGAIN
    for each in all_rules():
        says_so = "is asked again" in (each.__doc__ or "") or "Asking the rule again" in (each.__doc__ or "")
        assert says_so == (each.code in RULES_THAT_ASK_AGAIN), each.code


@pytest.mark.parametrize(("code", "rule"), [each for each in EXAMPLES if str(each.id).startswith("TLC310")])
def test_no_transform_is_run(code: str, rule: str) -> None:
    assert {verdict(each).verdict for each in findings(code, rule)} == {"inconclusive"}


SYMBOLIC = """\
import torch

def rows(images):
    n, c, h, w = images.shape
    x = images.to(memory_format=torch.channels_last)
    return x.view(n, c * h * w)

def fuse(images):
    mask = torch.ones(2, 3, 4, 5)
    x = images.to(memory_format=torch.channels_last)
    return mask * x

def halve(batch: torch.Tensor):
    counts = batch.long()
    counts /= 2
    return counts

def total(batch: torch.Tensor):
    n, c, h, w = batch.shape
    grown = torch.empty(n + 1, c)
    return torch.sum(batch.flatten(2), 2, out=grown)
"""


def test_unknown_sizes_are_filled() -> None:
    found = findings(SYMBOLIC)
    assert {"TLC101", "TLC104", "TLC401", "TLC303"} <= {each.code for each in found}
    for finding in found:
        document = json.loads(finding.witness)
        tensors = [tensor for call in document["calls"] for filled in call for tensor in filled["tensors"]]
        assert all(size >= 2 for tensor in tensors for size in tensor["shape"]), finding
        assert verdict(finding).verdict == "confirmed", (finding, verdict(finding))


LEGAL_VIEW = """\
import torch
x = torch.rand(2, 6, 4, 4).to(memory_format=torch.channels_last)
y = x.view(2, 6, 16)
"""


def test_a_view_that_torch_allows_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    right = questions.view

    def broken(facts: TensorFacts, shape: Any) -> Any:
        return right(facts, shape)[0], Judgement(Answer.YES, Confidence.CERTAIN)

    monkeypatch.setattr(questions, "view", broken)
    (finding,) = findings(LEGAL_VIEW, "TLC104")
    seen = verdict(finding)
    assert (seen.verdict, "torch accepts the call" in seen.reason) == ("refuted", True)


def test_an_order_that_decides_nothing_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "order_matters", lambda *_, **__: Judgement(Answer.YES, Confidence.CERTAIN))
    code = """\
import torch
mask = torch.ones(1, 3, 1, 1)
y = mask * torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)
"""
    rule = next(rule for rule in all_rules() if rule.code == "TLC101")
    monkeypatch.setattr(
        "stridelint.rules.layout.argument_order_layout._format",
        lambda facts: ("row-major" if facts.shape[0] == 1 else "channels_last", Confidence.CERTAIN),
    )
    (finding,) = findings(code, rule.code)
    assert verdict(finding).verdict == "refuted"


@pytest.mark.parametrize(
    ("clause", "owner", "rule", "out"),
    [
        (Clause(Answer.YES, "wrong"), out_overlap, "TLC307", "x"),
        (Clause(Answer.YES, "raises", "RuntimeError", "unsupported operation"), out_overlap, "TLC307", "x"),
        (Clause(Answer.YES, "warns", "UserWarning", "An output with one or more elements"), out_resized, "TLC303", "x"),
        (Clause(Answer.YES, "silent"), out_resized, "TLC303", "x"),
        (Clause(Answer.YES, "kept"), out_resized, "TLC303", "x"),
    ],
)
def test_a_clause_that_torch_does_not_know_is_refuted(
    monkeypatch: pytest.MonkeyPatch, clause: Clause, owner: Any, rule: str, out: str
) -> None:
    name = "self_overlap_clause" if owner is out_overlap else "shape_clause"
    monkeypatch.setattr(owner, name, lambda *_: clause)
    (finding,) = findings(f"import torch\nx = torch.rand(2, 3)\ntorch.mul(x, 2, out={out})\n", rule)
    seen = verdict(finding)
    assert seen.verdict == "refuted", seen


def test_a_rule_that_reports_nothing_of_the_real_tensors_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    (finding,) = findings("import torch\nx = torch.rand(2, 3)\ntorch.mm(x.t(), x, out=x)\n", "TLC303")
    monkeypatch.setattr(out_resized, "shape_clause", lambda *_: FINE)
    seen = verdict(finding)
    assert (seen.verdict, seen.reason) == ("refuted", "the rule reports nothing when it judges the real tensors")


@pytest.mark.parametrize(
    ("rule", "patched", "answer", "code"),
    [
        (
            "TLC111",
            "reshape_used_as_permute.axis_order.changes_order",
            (Answer.YES, Confidence.CERTAIN),
            "import torch\nx = torch.rand(2, 3, 4, 5)\ny = x.reshape(2, 12, 5)\n",
        ),
        (
            "TLC112",
            "batch_stride_lost._lost",
            (Answer.YES, Confidence.CERTAIN),
            "import torch\nx = torch.rand(4, 5, 3).permute(2, 0, 1).unsqueeze(0).contiguous()\ny = torch.nn.functional.max_pool2d(x, 2)\n",
        ),
        (
            "TLC311",
            "out_narrowing.narrows",
            True,
            "import torch\nx, out = torch.rand(3), torch.zeros(3)\ntorch.add(x, x, out=out)\n",
        ),
    ],
)
def test_a_broken_engine_is_refuted_by_what_torch_does(
    monkeypatch: pytest.MonkeyPatch, rule: str, patched: str, answer: object, code: str
) -> None:
    folder = "out" if rule.startswith("TLC3") else "layout"
    assert not [each for each in findings(code, rule) if each.code == rule]
    monkeypatch.setattr(f"stridelint.rules.{folder}.{patched}", lambda *_: answer)
    (finding,) = findings(code, rule)
    seen = verdict(finding)
    assert (seen.verdict, "torch does not do what is claimed" in seen.reason) == ("refuted", True), seen


def test_no_gradient_is_lost_where_there_is_none_without_out(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import torch\nw = torch.rand(3, requires_grad=True)\ntorch.floor_divide(w, 2, out=torch.empty(3))\n"
    assert not findings(code, "TLC302")
    monkeypatch.setattr("stridelint.rules.out.out_requires_grad.input_grad_clause", lambda *_: LOST_GRADIENT)
    (finding,) = findings(code, "TLC302")
    seen = verdict(finding)
    assert seen.verdict == "refuted", seen
    assert "without out= backward raises as well" in seen.reason


def test_a_demand_that_is_met_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import torch\nx = torch.rand(2, 3).t().t()\nassert x.is_contiguous()\n"
    assert not findings(code, "TLC110")
    monkeypatch.setattr(questions, "is_contiguous", lambda *_: Judgement(Answer.NO, Confidence.CERTAIN))
    (finding,) = findings(code, "TLC110")
    assert verdict(finding).reason == "torch does not do what is claimed: the answer is True"


def made(kind: Kind, op: str, *tensors: TensorFacts, **arguments: object) -> Verdict:
    """The verdict on a claim about a call that no rule made."""
    operands = tuple(Operand(each) for each in tensors)
    named = dict(zip(("input", "other"), operands))
    form = Form.FUNCTION if op.startswith("nn.") else Form.METHOD
    event = TensorEvent(op, form, {**named, **arguments}, operands, Site())
    rule = all_rules()[0]
    claim = Claim(kind, events=(event,))
    return replay(json.loads(json.dumps(witness(Finding(rule, Site(), "", claim=claim)))), "cpu")


def image(shape: tuple[int, ...], order: tuple[int, ...] = (0, 1, 2, 3), **more: object) -> TensorFacts:
    strides, step = [0] * len(shape), 1
    for axis in reversed(order):
        strides[axis], step = step, step * shape[axis]
    return TensorFacts(shape, tuple(strides), 0, "float32", "float", "cpu", False, True).but(**more)


NHWC = (0, 2, 3, 1)
GRAY, COLOUR = image((2, 1, 4, 5), NHWC), image((2, 3, 4, 5), NHWC)
LOST = image((1, 3, 4, 5), NHWC).but(strides=(3, 1, 15, 3))


@pytest.mark.parametrize(
    ("expected", "kind", "op", "tensor", "arguments"),
    [
        ("confirmed", Kind.SAME_FOR_BOTH_FORMATS, "is_contiguous", GRAY, {"memory_format": "channels_last"}),
        ("refuted", Kind.SAME_FOR_BOTH_FORMATS, "is_contiguous", COLOUR, {"memory_format": "channels_last"}),
        ("confirmed", Kind.RETURNS_INPUT, "contiguous", image((2, 3, 4, 5)), {}),
        ("refuted", Kind.RETURNS_INPUT, "contiguous", COLOUR, {}),
        ("confirmed", Kind.COPIES, "contiguous", COLOUR, {}),
        ("refuted", Kind.COPIES, "contiguous", image((2, 3, 4, 5)), {}),
        ("confirmed", Kind.INPUT_UNCHANGED, "contiguous", COLOUR, {}),
        ("refuted", Kind.INPUT_UNCHANGED, "mul_", COLOUR, {"other": 2}),
        ("confirmed", Kind.DROPS_LAYOUT, "contiguous", COLOUR, {}),
        ("refuted", Kind.DROPS_LAYOUT, "clone", COLOUR, {}),
        ("confirmed", Kind.DROPS_LAYOUT, "contiguous", COLOUR.but(strides=(120, 1, 30, 6)), {}),
        ("refuted", Kind.DROPS_LAYOUT, "contiguous", GRAY, {}),
        ("confirmed", Kind.BATCH_STRIDE_DECIDES, "nn.functional.max_pool2d", LOST, {"kernel_size": 2}),
        ("refuted", Kind.BATCH_STRIDE_DECIDES, "nn.functional.max_pool2d", COLOUR, {"kernel_size": 2}),
        ("refuted", Kind.BATCH_STRIDE_DECIDES, "nn.functional.max_pool2d", image((1, 3, 4, 5)), {"kernel_size": 2}),
        ("refuted", Kind.BATCH_STRIDE_DECIDES, "clone", LOST, {}),
        ("confirmed", Kind.NUMBERS_STAY, "reshape", image((2, 3, 4, 5)), {"shape": (2, 4, 5, 3)}),
        ("confirmed", Kind.NUMBERS_STAY, "view", image((2, 3, 20), (0, 1, 2)), {"shape": (2, 4, 5, 3)}),
        ("refuted", Kind.NUMBERS_STAY, "reshape", image((2, 3, 4, 5)), {"shape": (2, 12, 5)}),
        ("refuted", Kind.NUMBERS_STAY, "reshape", image((2, 3, 4, 5)), {"shape": (6, 2, 2, 5)}),
        ("inconclusive", Kind.NUMBERS_STAY, "reshape", image((2, 3, 4, 5)), {"shape": (2, 6, 10)}),
        ("confirmed", Kind.ANSWERS_FALSE, "is_contiguous", COLOUR, {"memory_format": "contiguous_format"}),
        ("refuted", Kind.ANSWERS_TRUE, "is_contiguous", COLOUR, {"memory_format": "contiguous_format"}),
        ("confirmed", Kind.MEMORY_ORDER, "data_ptr", COLOUR, {}),
        ("refuted", Kind.MEMORY_ORDER, "data_ptr", image((2, 3, 4, 5)), {}),
        ("confirmed", Kind.IGNORES_BATCH_STRIDE, "is_contiguous", image((1, 3, 4, 5), NHWC), {"memory_format": "channels_last"}),
        ("refuted", Kind.IGNORES_BATCH_STRIDE, "is_contiguous", COLOUR, {"memory_format": "channels_last"}),
        ("confirmed", Kind.STORES_OTHER, "fill", image((2, 3, 4, 5), dtype="int64", kind="integer"), {"value": 0.5}),
        ("refuted", Kind.STORES_OTHER, "fill", COLOUR, {"value": 0.5}),
        ("confirmed", Kind.DIFFERS_FOR_ONE_LAYOUT, "stride", GRAY, {"dim": 1}),
        ("refuted", Kind.DIFFERS_FOR_ONE_LAYOUT, "stride", GRAY, {"dim": 0}),
        ("refuted", Kind.DIFFERS_FOR_ONE_LAYOUT, "stride", COLOUR, {"dim": 1}),
        ("confirmed", Kind.ACCEPTS, "reshape", COLOUR, {"shape": (6, 20)}),
        ("refuted", Kind.ACCEPTS, "view", COLOUR, {"shape": (6, 20)}),
        ("inconclusive", Kind.RETURNS_INPUT, "reshape", COLOUR, {"shape": (7, 7)}),
    ],
)  # fmt: skip
def test_claims(expected: str, kind: Kind, op: str, tensor: TensorFacts, arguments: dict[str, object]) -> None:
    if kind is Kind.STORES_OTHER:
        op = "fill_"
    seen = made(kind, op, tensor, **arguments)
    assert seen.verdict == expected, seen


@pytest.mark.parametrize(("shape", "expected"), [((3, 6), "refuted"), ((4, 7), "confirmed"), ((4, 6, 2), "confirmed")])
def test_numbers_that_resize_moves(shape: tuple[int, ...], expected: str) -> None:
    facts = image((4, 6), (0, 1))
    operand = Operand(facts)
    event = TensorEvent(
        "resized", Form.INPLACE, {"input": operand}, (operand,), Site(), None, facts.but(shape=shape, strides=None)
    )
    document = witness(Finding(all_rules()[0], Site(), "", claim=Claim(Kind.MOVES_NUMBERS, events=(event,))))
    assert replay(json.loads(json.dumps(document)), "cpu").verdict == expected


def test_tensors_of_real_sizes() -> None:
    code = """\
import torch
x = torch.rand({}, 3, 224, 224).to(memory_format=torch.channels_last)
y = x.view({}, -1)
"""
    (finding,) = findings(code.format(32, 32), "TLC104")
    assert verdict(finding).verdict == "confirmed"
    (finding,) = findings(code.format(4096, 4096), "TLC104")
    seen = verdict(finding)
    assert (seen.verdict, seen.reason) == ("inconclusive", "a tensor of 616562688 elements is more than a probe builds")


def test_a_condition_decides_the_layout() -> None:
    code = """\
import torch
x = torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)
y = torch.where(torch.rand(2, 3, 4, 5) > 0.5, x, x)
"""
    (finding,) = findings(code, "TLC101")
    seen = verdict(finding)
    assert (seen.verdict, "in each other's layout" in seen.observed) == ("confirmed", True)


@pytest.mark.parametrize("kind", sorted(CLAIMS))
def test_what_guesses_overlook_is_shown(kind: str) -> None:
    claim = CLAIMS[kind]
    document = witness(Finding(all_rules()[0], Site(), "", claim=claim))
    assert replay(json.loads(json.dumps(document)), "cpu").verdict == "confirmed"


def test_tensors_are_built_as_told() -> None:
    from stridelint.runtime_probe import build
    from stridelint.runtime_probe.facts_of_tensor import facts_of

    told: list[dict[str, Any]] = [
        {"shape": [4, 6], "strides": [0, 1], "storage_offset": 2, "dtype": "float32", "storage": 1},
        {"shape": [2, 3], "strides": [1, 2], "storage_offset": 3, "dtype": "float32", "storage": 1},
        {"shape": [2, 3], "strides": [3, 1], "dtype": "float64", "storage": 2, "requires_grad": True, "is_leaf": False},
        {"shape": [2], "strides": [7], "dtype": "bool", "storage": 3},
        {"shape": [3], "strides": [1], "dtype": "complex64", "storage": 4, "requires_grad": True, "is_leaf": True},
    ]
    facts = [facts_of(tensor) for tensor in build.tensors(told, "cpu")]
    for one, real in zip(told, facts, strict=True):
        for name, value in one.items():
            if name != "storage":
                assert getattr(real, name) == (tuple(value) if isinstance(value, list) else value), (name, one)
    assert facts[0].storage == facts[1].storage != facts[2].storage


def test_events_survive_a_document() -> None:
    facts = TensorFacts((2, 3), (3, 1), 0, "float32", "float", "cpu", False, True, 1)
    operand = Operand(facts, "x", fresh=True, whole=True)
    arguments = {"input": operand, "other": float("inf"), "alpha": 1j, "sizes": (1, (2, None)), "name": "floor"}
    event = TensorEvent(
        "add", Form.FUNCTION, arguments, (operand,), Site(), (operand, operand), facts, Answer.NO, Site(), wording="t"
    )
    back = documents.event_of(json.loads(json.dumps(documents.event_document(event))))
    assert back == event
    assert isinstance(back.out, tuple)
    assert back.out[0] is back.arguments["input"]


def test_a_missing_device_is_faked() -> None:
    out = TensorFacts((2,), (1,), 0, "float32", "float", "cuda", False, True, 1)
    event = TensorEvent(
        "add", Form.FUNCTION, {"input": Operand(out.but(device="cpu", storage=2)), "other": 1}, (), Site(), Operand(out)
    )
    document = witness(
        Finding(all_rules()[0], Site(), "", claim=Claim(Kind.RAISES, text="other words", events=(event,)))
    )
    seen = replay(json.loads(json.dumps(document)), "cpu")
    if torch.cuda.is_available():
        pytest.skip("this machine has the device")
    assert (seen.verdict, seen.device) == ("confirmed", "fake")
    assert "fake tensors" in seen.reason


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize(("code", "rule"), EXAMPLES)
def test_findings_are_confirmed_on_cuda(code: str, rule: str) -> None:
    for finding in findings(code, rule):
        seen = replay(json.loads(finding.witness), "cuda")
        assert seen.verdict != "refuted", (finding.message, seen)
