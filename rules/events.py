"""What happened to tensors: the one kind of input that rules judge.

The reader produces events from code (with LibCST nodes as sites), the probe produces the same events from real tensors
(with source lines as sites).
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from stridelint.rules.contract.answers import Answer, Confidence
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.contract.ranges import Range
from stridelint.rules.contract.records import record


@record(frozen=True, slots=True)
class Site:
    """Where something is written. The reader fills in `node` (LibCST), the probe `line`; `path` only if in another file."""

    node: object | None = None
    line: int | None = None
    path: str | None = None


@record(frozen=True, slots=True)
class Note:
    """One step of a finding's story, such as where a tensor's layout was decided."""

    site: Site
    message: str


# How something is written; to be called where it takes work to tell, as most events lead to no finding.
Wording: TypeAlias = str | Callable[[], str]


def worded(wording: Wording) -> str:
    """The text itself."""
    return wording if isinstance(wording, str) else wording()


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of a tensor: `text` made it of `source`."""

    text: str
    source: str
    site: Site
    confidence: Confidence = Confidence.CERTAIN


@dataclass(frozen=True, slots=True)
class OutParameter:
    """The parameter `out` of a user's function, and what the function does with it, by the way it is written.

    facts: of the tensor that was passed.
    writes: it is written into. last_writes: the statements and calls that do so right before the function returns.
    handed: calls by which it is handed on to code that may do anything. aliased: what a write returns is used.
    rebindings: where another value is assigned to the name; replacements: where that is done because out does not fit.
    returns_values: some `return` has a value.
    rereads: what was written into it is read again.
    """

    facts: TensorFacts
    function: str = ""
    writes: bool = False
    last_writes: tuple[Site, ...] = ()
    handed: tuple[Site, ...] = ()
    aliased: bool = False
    rebindings: tuple[Site, ...] = ()
    replacements: tuple[Site, ...] = ()
    returns_values: bool = False
    rereads: bool = False


@record(frozen=True, slots=True)
class Operand:
    """A tensor that takes part in an event.

    wording: how the code names it ("self.buffer", "x.t()"), or what tells; see `text`.
    story: where it was made and where its layout, dtype or grad was decided, oldest first.
    fresh: nothing else refers to this tensor (a temporary).
    whole: its numbers are whole, whatever its dtype.
    batched: it stands for the slices of a tensor that vmap maps over.
    made_by: the operator of the table whose result it is, unchanged.
    written_by: the call whose out= wrote its numbers; the message is the operator's name.
    out_parameter: set where it is (a part of) what was passed as `out` to the user's function it is used in.
    unread: the copy it is (a part of), where the code does nothing with that copy but write to it.
    """

    facts: TensorFacts
    wording: Wording = ""
    story: tuple[Note, ...] = ()
    site: Site = Site()
    fresh: bool = False
    unread: Copy | None = None
    whole: bool = False
    out_parameter: OutParameter | None = None
    written_by: Note | None = None
    batched: bool = False
    made_by: str = ""

    @property
    def text(self) -> str:
        """How the code names it."""
        return worded(self.wording)


class Form(enum.Enum):
    """How an operator is written."""

    FUNCTION = "function"  # torch.add(a, b)
    METHOD = "method"  # a.add(b)
    OPERATOR = "operator"  # a + b
    INPLACE = "inplace"  # a += b, a.add_(b)


class LayoutUse(enum.IntEnum):
    """What comes of the memory layout of a result; the greater, the more may see it.

    NOTHING: so far, nothing. EXACT: only its values are used, one by one or in any order ("equal", "max", "tolist").
    ROUNDED: a sum, a loss or the like is made of it, whose rounding follows the order in memory.
    STATED: an assertion says that it is row-major. TAKEN: it is reduced or sorted along an axis, or goes to NumPy. RETURNED: a module's
        `forward` returns it. OPEN: anything, or not known.
    """

    NOTHING = 0
    EXACT = 1
    ROUNDED = 2
    STATED = 3
    TAKEN = 4
    RETURNED = 5
    OPEN = 6


class Unknown(enum.Enum):
    """An argument's value that the code does not tell."""

    UNKNOWN = "unknown"


def changes(form: Form, arguments: Mapping[str, object]) -> bool:
    """Whether a call changes a tensor that it is given, other than out: `a += b`, `relu(a, inplace=True)`."""
    return form is Form.INPLACE or arguments.get("inplace") is True


@record(frozen=True, slots=True)
class TensorEvent:
    """One call of an operator.

    op: canonical name, the key in operators.json for operators ("add", "linalg.qr", "nn.functional.softmax");
        an in-place variant has the name of the operator it is a variant of, with `form` INPLACE; other methods have
        their own ("to", "contiguous", "view", "is_contiguous"), modules "Module.to".
    arguments: by the parameter's name: Operand, numbers, strings, tuples (of any of these), DType / MemoryFormat
        names as strings, None, or Unknown.UNKNOWN. `self` / the first operand is called "input".
    tensors: the tensor operands in the operator's own order (for 'a += b': a, b), scalars left out.
    out: what was passed as out=: an Operand, a tuple of Operands, Unknown.UNKNOWN for an unknown tensor, None if absent.
    result: facts of the (first) result as the engine predicts them, or observed ones in the probe.
    grad_mode: whether gradients are recorded.
    discarded_at: the statement that throws the result away: the call itself, or that of a helper which only returns it;
        also an assignment that changes a tensor in place.
    wording: the call as written, or what tells; see `text`.
    site: the whole call; `argument_sites` gives those of single arguments.
    numbers: between which numbers those of the result lie before a dtype has to hold them, where code does not mean to wrap.
    distributed: where the DistributedDataParallel was made within whose call it happens.
    following: what is done at once with the result, or what tells; see `then`.
    transforms: "vmap", "compile" (as one graph), "grad", around the call.
    layout_using: what comes of the result's layout, or what tells; see `layout_use`.
    confidence: of the path the event lies on; a rule's finding is never surer than this.
    """

    op: str
    form: Form
    arguments: Mapping[str, object]
    tensors: tuple[Operand, ...]
    site: Site
    out: object = None
    result: TensorFacts = TensorFacts()
    grad_mode: Answer = Answer.UNKNOWN
    discarded_at: Site | None = None
    argument_sites: Mapping[str, Site] = field(default_factory=dict)
    confidence: Confidence = Confidence.CERTAIN
    wording: Wording = ""
    following: Wording = ""
    distributed: Site | None = None
    transforms: frozenset[str] = frozenset()
    numbers: Range | None = None
    layout_using: LayoutUse | Callable[[], LayoutUse] = LayoutUse.OPEN

    @property
    def text(self) -> str:
        """The call as it is written, on one line."""
        return worded(self.wording)

    @property
    def then(self) -> str:
        """The method that is called at once on the result ("view" in `x.contiguous().view(-1)`); "return" where a module's
        `forward` returns it; "memory_format" where that is all that comes of it: it is converted to one."""
        return worded(self.following)

    @property
    def layout_use(self) -> LayoutUse:
        """What comes of the result's layout, also behind names and elementwise operators."""
        return self.layout_using if isinstance(self.layout_using, LayoutUse) else self.layout_using()

    @property
    def in_place(self) -> bool:
        """It changes a tensor that it is given, other than out."""
        return changes(self.form, self.arguments)

    @property
    def discarded(self) -> bool:
        """The result is thrown away."""
        return self.discarded_at is not None


@dataclass(frozen=True, slots=True)
class Assertion:
    """One thing a test checks.

    kind: "is_contiguous", "stride", "dim_order", "memory_format" (the layout, in a way that is not told apart),
        "equal", "allclose", "assert_close" (values).
    tensors: the tensors it is about (for a comparison: both).
    arguments: by name, as in TensorEvent.
    holds: what is asserted of the query (False for `assert not ...`).
    within, function, through: the function that asserts (by name and definition) and how the test calls it, if it is not
        the test itself.
    """

    kind: str
    tensors: tuple[Operand, ...]
    site: Site
    arguments: Mapping[str, object] = field(default_factory=dict)
    holds: bool = True
    within: str = ""
    through: Site = Site()
    function: Site = Site()


@dataclass(frozen=True, slots=True)
class Parameter:
    """One value of a parametrized test's argument: `value` as in TensorEvent.arguments, `text` as written, `site` of the value."""

    name: str
    text: str
    site: Site


@dataclass(frozen=True, slots=True)
class SampleStep:
    """A step from one sample of a batch to the next that code computes, and that does not fit what a sample takes there.

    batch: has one sample, so that the step is never taken. step, taken: in elements, or in rows of the memory that is cut.
    storage: which memory that is.
    """

    batch: Operand
    step: int
    taken: int
    storage: object


@dataclass(frozen=True, slots=True)
class TestRun:
    """A test function with one choice of its parameters: what it converts and what it asserts, in order.

    steps: those that it does not take.
    """

    parameters: tuple[Parameter, ...]
    assertions: tuple[Assertion, ...]
    events: tuple[TensorEvent, ...]
    confidence: Confidence = Confidence.CERTAIN
    steps: tuple[SampleStep, ...] = ()


@dataclass(frozen=True, slots=True)
class TestEvent:
    """A test function with all its runs.

    words: those of its name, ids, decorators and comments, in lower case.
    subject: words of its name and of its parameters' names and values.
    complete: no run was left out.
    """

    name: str
    site: Site
    words: frozenset[str]
    runs: tuple[TestRun, ...]
    subject: frozenset[str] = frozenset()
    complete: bool = True
