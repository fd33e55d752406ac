"""What a test is about, and what its layout assertions can tell apart."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stridelint.rules.claims import Claim, Kind
from stridelint.rules.contract import questions
from stridelint.rules.contract.answers import Answer, Confidence
from stridelint.rules.contract.layout import CONTIGUOUS, RANK_OF
from stridelint.rules.events import Assertion, Form, Note, Operand, Site, TensorEvent, TestEvent, TestRun
from stridelint.rules.findings import tuple_text

if TYPE_CHECKING:
    import ast

    from stridelint.rules.forms.edits import Code, Fix
    from stridelint.rules.rule import Finding

SUBJECT = frozenset(
    """channels_last channelslast nhwc ndhwc memory_format memory_formats memoryformat layout layouts dim_order keeps_format keep_format
    preserves_format preserve_format""".split()
)
DELIBERATE = frozenset(
    """ambiguous ambiguity ambiguously control single singleton size_one size_1 sizeone nc11 n1hw degenerate trivial vacuous both_formats
    either_format""".split()
)
CONVERSIONS = frozenset({"to", "contiguous", "clone", "Module.to"})
# What code calls when it looks at a layout.
QUERIES = frozenset(
    """is_contiguous stride strides dim_order check_stride exact_stride data_ptr suggest_memory_format is_channels_last
    is_channels_last_contiguous untyped_storage storage as_strided flags""".split()
)
KNOWN_CHECKS = frozenset(
    """assert_close assert_allclose assert_equal assert_array_equal assert_almost_equal assert_array_almost_equal assertEqual assertTrue
    assertFalse assertIs assertIsNone assertIsNotNone assertIsInstance assertRaises assertRaisesRegex assertGreater assertLess assertIn
    assertNotEqual assertAlmostEqual assert_array_almost_equal_nulp assertNotIn assertGreaterEqual assertLessEqual""".split()
)
LAYOUT_KINDS = frozenset({"is_contiguous", "stride", "dim_order", "memory_format"})
VALUE_KINDS = frozenset({"equal", "allclose", "assert_close"})


class Sight(enum.Enum):
    """What `is_contiguous(memory_format=...)` sees of a tensor's format."""

    ONE_CHANNEL = "one channel"  # blind
    POINTWISE = "a spatial size of 1"  # blind
    TELLING = "telling"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Check:
    """An assertion of `is_contiguous` with what it sees in each of its runs."""

    assertions: tuple[Assertion, ...]
    sights: tuple[Sight, ...]
    runs: tuple[TestRun, ...]

    @property
    def is_blind(self) -> bool:
        """In all runs both formats would pass."""
        return all(sight in (Sight.ONE_CHANNEL, Sight.POINTWISE) for sight in self.sights)

    @property
    def confidence(self) -> Confidence:
        """That of its least certain run."""
        return min(run.confidence for run in self.runs)


def has_tests(tree: ast.Module) -> bool:
    """Whether a module defines a function that is collected as a test."""
    waiting: list[Any] = [tree]
    while waiting:
        node = waiting.pop()
        if type(node).__name__ in ("FunctionDef", "AsyncFunctionDef") and node.name.startswith("test"):
            return True
        waiting.extend(each for each in getattr(node, "body", ()) if hasattr(each, "body"))
    return False


def speaks_of_layout(test: TestEvent) -> bool:
    """Its name or parameters say that it is about memory layout."""
    return not SUBJECT.isdisjoint(test.subject)


def is_deliberate(test: TestEvent) -> bool:
    """It says that it is about the case in which the formats cannot be told apart."""
    return not DELIBERATE.isdisjoint(test.words)


def converts(run: TestRun) -> bool:
    """A run brings something into a channels-last format."""
    return any(event.op in CONVERSIONS and event.arguments.get("memory_format") in RANK_OF for event in run.events)


def sight(tensor: Operand, memory_format: str) -> Sight:
    """Whether a tensor of this shape is in one of the two formats only."""
    shape = tensor.facts.shape
    if (
        shape is None
        or len(shape) not in RANK_OF.values()
        or len(shape) != RANK_OF.get(memory_format, len(shape))
        or 0 in shape
    ):
        return Sight.UNKNOWN
    if shape[1] == 1:
        return Sight.ONE_CHANNEL
    if all(dim == 1 for dim in shape[2:]):
        return Sight.POINTWISE
    told = isinstance(shape[1], int) and any(isinstance(dim, int) and dim > 1 for dim in shape[2:])
    return Sight.TELLING if told else Sight.UNKNOWN


def checks(test: TestEvent) -> list[Check]:
    """The assertions that a tensor is in a channels-last format, or row-major in a test that speaks of formats."""
    formats = (*RANK_OF, *((CONTIGUOUS,) if speaks_of_layout(test) else ()))
    grouped: dict[int, list[tuple[Assertion, Sight, TestRun]]] = {}
    for run in test.runs:
        for assertion in run.assertions:
            wanted = assertion.arguments.get("memory_format")
            if assertion.kind == "is_contiguous" and assertion.holds and wanted in formats and assertion.tensors:
                seen = sight(assertion.tensors[0], str(wanted))
                grouped.setdefault(_key(assertion.site), []).append((assertion, seen, run))
    return [Check(*(tuple(part) for part in zip(*group))) for group in grouped.values()]


def _key(site: Site) -> int:
    return id(site.node) if site.node is not None else site.line or 0


def sees_layout_otherwise(test: TestEvent) -> bool:
    """Some assertion compares strides or the order of axes, which tells formats apart in any shape."""
    return any(_sees_all(assertion) for run in test.runs for assertion in run.assertions)


def _sees_all(assertion: Assertion) -> bool:
    if assertion.kind == "stride":
        return not is_batch_stride(assertion)
    if assertion.kind == "assert_close":
        return assertion.arguments.get("check_stride", False) is not False
    return assertion.kind in ("dim_order", "memory_format")


def is_batch_stride(assertion: Assertion) -> bool:
    """Only `x.stride(0)` is asserted."""
    axis, shape = assertion.arguments.get("dim"), assertion.tensors[0].facts.shape if assertion.tensors else None
    return assertion.kind == "stride" and (axis == 0 or (shape is not None and axis == -len(shape)))


def tells_elsewhere(test: TestEvent, but: Check) -> bool:
    """Another assertion of the test tells the formats apart, and of something that the test has not just converted itself."""
    inside = nodes_of(test)
    for check in checks(test):
        if check is but or check.assertions == but.assertions:
            continue
        for assertion, seen, run in zip(check.assertions, check.sights, check.runs):
            if (
                seen is not Sight.ONE_CHANNEL
                and seen is not Sight.POINTWISE
                and not _just_converted(assertion, run, inside)
            ):
                return True
    return False


def is_about_both(test: TestEvent, check: Check) -> bool:
    """It asserts the other format of the very tensor, too: only one that is in both formats is to pass."""
    inside = nodes_of(test)
    return all(
        not _just_converted(assertion, run, inside)
        and any(
            other.kind == "is_contiguous"
            and other.holds
            and other.arguments.get("memory_format") != assertion.arguments.get("memory_format")
            and _is_same(other.tensors[0], assertion.tensors[0])
            for other in run.assertions
            if other.tensors
        )
        for assertion, run in zip(check.assertions, check.runs)
    )


def _is_same(left: Operand, right: Operand) -> bool:
    return left.text == right.text != "" and left.facts.storage == right.facts.storage is not None


def _just_converted(assertion: Assertion, run: TestRun, inside: set[int]) -> bool:
    storage = assertion.tensors[0].facts.storage
    made = (event for event in run.events if event.op in CONVERSIONS and id(event.site.node) in inside)
    return storage is not None and any(event.result.storage == storage for event in made)


def queries_layout_otherwise(test: TestEvent, allowed: frozenset[str] | set[str] = frozenset()) -> bool:
    """The test's code asks for the layout in a way that is no assertion, or leaves checks to a function that nothing is known of."""
    helpers = {
        each.within: each.function.node
        for run in test.runs
        for each in run.assertions
        if each.within and each.function.node
    }
    known = {*allowed, *helpers}
    return any(_queries(node, known) for body in (test.site.node, *helpers.values()) for node in walk(body))


def _queries(node: Any, allowed: frozenset[str] | set[str]) -> bool:
    kind = type(node).__name__
    if kind == "Attribute":
        return node.attr.value in QUERIES and node.attr.value not in allowed
    if kind == "Arg":
        return node.keyword is not None and node.keyword.value in ("check_stride", "exact_stride")
    if kind != "Call":
        return False
    name = getattr(getattr(node.func, "attr", node.func), "value", "")
    if not isinstance(name, str) or name in KNOWN_CHECKS or name in allowed:
        return False
    checks_something = name.lstrip("_").startswith(("assert", "check", "verify", "expect", "validate"))
    asks = name.lstrip("_").startswith(("is_", "has_", "get_", "suggest", "infer")) or "stride" in name
    return checks_something or (
        asks
        and any(word in name for word in ("layout", "format", "stride", "contig", "nhwc", "channels_last", "order"))
    )


def nodes_of(test: TestEvent) -> set[int]:
    """Identities of the nodes that the test function consists of."""
    return {id(node) for node in walk(test.site.node)}


def walk(node: Any) -> Iterator[Any]:
    """A node and all below it; nothing for a test that ran without source."""
    from stridelint.rules.forms import walking

    return iter(()) if node is None else walking.walk(node)


def place(test: TestEvent, assertion: Assertion) -> Site:
    """Where to report an assertion: itself if it is in the test, else the call that leads to it."""
    if assertion.through.node is None or id(assertion.site.node) in nodes_of(test):
        return assertion.site
    return assertion.through


def parameter_notes(check: Check) -> tuple[Note, ...]:
    """One note for each parameter value that decided a shape."""
    notes: dict[int, Note] = {}
    for assertion, run in zip(check.assertions, check.runs):
        shape = tuple_text(assertion.tensors[0].facts.shape)
        for parameter in run.parameters:
            notes.setdefault(
                id(parameter.site.node),
                Note(parameter.site, f"'{parameter.name}' of this value gives the shape {shape}"),
            )
    return tuple(notes.values())[:4]


def is_channels_last(operand: Operand) -> bool:
    """Known to be channels-last, and not row-major."""
    facts = operand.facts
    wanted = next((name for name, rank in RANK_OF.items() if rank == facts.rank), None)
    return wanted is not None and questions.is_only(facts, wanted).answer is Answer.YES


def asked(kind: Kind, assertions: Iterable[Assertion]) -> Claim:
    """A claim about what assertions ask of their tensors; equal ones are asked once."""
    events: dict[object, TensorEvent] = {}
    for each in assertions:
        first = each.tensors[0]
        arguments = {"input": first, **each.arguments}
        if len(each.tensors) > 1:
            arguments["other"] = each.tensors[1]
        key = (each.kind, first.facts.shape, str(each.arguments))
        events.setdefault(key, TensorEvent(each.kind, Form.METHOD, arguments, each.tensors, each.site))
    return Claim(kind, events=tuple(events.values())[:4])


def telling_fix(
    finding: Finding, code: Code, wanted: Callable[[int], Mapping[int, int]], title: str, allowed: Iterable[str] = ()
) -> Fix | None:
    """The fix that gives the asserted tensor other sizes where the test makes it. `wanted`: new sizes by axis, for a rank."""
    from stridelint.rules.forms import edits, telling_sizes

    test = finding.event
    if finding.claim is None or not isinstance(test, TestEvent):
        return None
    found = {
        telling_sizes.resized(code, test.site, each.tensors[0], wanted(each.tensors[0].facts.rank or 0), allowed)
        for each in finding.claim.events
    }
    return edits.Fix(title, found.pop()) if len(found) == 1 and all(found) else None
