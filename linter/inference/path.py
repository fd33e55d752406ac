"""One path of execution through the code.

The interpreter runs a function from its start along one path, as Python would. Where a condition is not known the path
decides it and remembers what it assumed, so that the same condition is decided alike later on. `roots.py` runs a
function again with other decisions. So no states are ever joined: each path is one possible execution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from stridelint.linter.inference import chances
from stridelint.linter.inference.objects import Class, Function, Instance
from stridelint.linter.inference.scopes import ModuleScope
from stridelint.linter.inference.values import (
    Condition,
    Constant,
    Dtype,
    External,
    Mapping,
    MemoryFormat,
    Sequence,
    SizeValue,
    TensorValue,
    Unknown,
    Value,
)
from stridelint.rules.contract import sizes
from stridelint.rules.contract.answers import Answer, Confidence
from stridelint.rules.contract.facts import Dim, Dims, TensorFacts
from stridelint.rules.events import Assertion, OutParameter, SampleStep, Site, TensorEvent

if TYPE_CHECKING:
    import libcst as cst

    from stridelint.linter.inference.number_ranges import Known
    from stridelint.linter.inference.objects import Arguments
    from stridelint.linter.inference.program import Program
    from stridelint.linter.inference.scopes import ModuleScope
    from stridelint.linter.inference.testing import Claim

MAX_DECISIONS = 48
MAX_CALL_DEPTH = 12
# Decisions deeper in calls, and those in other files, are not turned: the functions there are read on their own.
MAX_TURNED_DEPTH = 2


class BudgetExhausted(Exception):
    """The file's step budget ran out."""


class Finished(Exception):
    """The path ends here: a contradiction, or an exit of the program."""


class Returned(Exception):
    """`return value`."""

    def __init__(self, value: Value) -> None:
        super().__init__()
        self.value = value


class Broke(Exception):
    """`break`."""


class Continued(Exception):
    """`continue`."""


class Raised(Exception):
    """The code raises an exception."""


class Frame:
    """A call of a user's function in progress.

    discarded_call: the call statement that throws away what this pure function returns.
    call: how it is called; arguments: with what.
    given_out, out_parameter: what was passed as `out`, unless that is None; out_handed: it was handed on to other code, or
        replaced because it did not fit.
    out_rebound: where the name was bound to another value last. out_twins: tensors that turned out to be the one passed there.
    returning: the `return` statement that ends it.
    falls_back: in a `try` whose handlers do something else if torch raises.
    repeats: some loop in it ran an unknown number of times.
    at_yield: what is to happen at its first `yield`, if it makes a context.
    claim: the assertion that is about what it returns, and about nothing else that it asks.
    """

    def __init__(
        self,
        function: Function,
        discarded_call: cst.CSTNode | None = None,
        call: cst.CSTNode | None = None,
        arguments: Arguments | None = None,
    ) -> None:
        self.function = function
        self.call = call
        self.arguments = arguments
        self.discarded_call = discarded_call
        self.yielded: list[Value] = []
        self.falls_back = False
        self.repeats = False
        self.at_yield: Callable[[Value], None] | None = None
        self.claim: Claim | None = None
        self.given_out: Value | None = None
        self.out_parameter: OutParameter | None = None
        self.out_handed = False
        self.out_rebound: Site | None = None
        self.out_twins: tuple[Value, ...] = ()
        self.returning: cst.Return | None = None


class Resized(NamedTuple):
    """A tensor's memory got another shape; `tell` says so once its numbers are read. before: the shape it had."""

    tell: Callable[[], None]
    before: Dims | None


class Path:
    """The state of one execution.

    prefix: decisions to take, in order; beyond it every condition gets its default.
    taken: the decisions taken; `turnable` tells how much each is worth turning on another path (0: not at all).
    distributed: the call that made the DistributedDataParallel within whose call this happens.
    denied: the tensor of which `is_contiguous()` was last answered False, that call, and how it names the tensor.
    is_about_one: the code runs for one of several different items, not the first; about_items: what was assumed there only.
    deciding: the statement or expression whose test is being evaluated; leaning: how that is decided where it is not known.
    operand: the part of the test that is asked for first.
    otherwise: what is left to chance happens the other way; met_chance: something is that would not be turned.
    unequal: differences of sizes that a comparison told not to be 0.
    numbers: between which numbers those in some memory lie; exposed: memory that is written to in ways that are not followed.
    awaited: what may be a tensor, for which events wait.
    """

    def __init__(
        self,
        program: Program,
        prefix: tuple[bool, ...] = (),
        grad_mode: bool | None = True,
        otherwise: bool = False,
    ) -> None:
        self.program = program
        self.prefix = prefix
        self.otherwise = otherwise
        self.met_chance = False
        self.taken: list[bool] = []
        self.turnable: list[int] = []
        self.is_about_one = False
        self.about_items: set[object] = set()
        self.deciding: cst.CSTNode | None = None
        self.operand: cst.CSTNode | None = None
        self.leaning = True
        self.assumptions: dict[object, bool] = {}
        self.grad_mode = grad_mode
        self.confidence = Confidence.CERTAIN
        self.muted = 0
        self.frames: list[Frame] = []
        self.discarded: cst.CSTNode | None = None
        self.discard_site: cst.CSTNode | None = None
        self.claim: Claim | None = None
        self.assertions: list[Assertion] = []
        self.last_query: cst.CSTNode | None = None
        self.autocast = ""  # the device and dtype, in the scope of torch.autocast
        self.distributed: cst.CSTNode | None = None
        self.denied: tuple[TensorValue, cst.CSTNode, cst.CSTNode | None] | None = None
        self.grown: list[Sequence] | None = None
        self.default_device: str | None = "cpu"
        self.default_dtype: str | None = "float32"
        self.bound_sizes: dict[sizes.Atom, sizes.SizeLike] = {}
        self.unequal: set[sizes.SizeLike] = set()
        self.rank_of: dict[sizes.Atom, TensorValue] = {}
        self.dtype_of: dict[int, TensorValue] = {}
        self.recorded: list[TensorEvent] | None = None
        self.sample_steps: list[SampleStep] = []
        self.module_scope: ModuleScope | None = None
        self.modules: dict[str, ModuleScope | None] = {}
        self.transforms: frozenset[str] = frozenset()
        self.resized: dict[int, Resized] = {}
        self.numbers: dict[int, Known] = {}
        self.exposed: set[int] = set()
        self.awaited: list[TensorValue] = []

    def close(self) -> None:
        """It has ended: what still waits for a value to be a tensor never happens (why it is dropped: see `Program.close`)."""
        for tensor in self.awaited:
            tensor.pending.clear()

    def module(self, dotted: str, importer: str) -> ModuleScope | None:
        """The names of another module of the project, as they are on this path."""
        if dotted not in self.modules:
            index = self.program.module_index(dotted, importer)
            self.modules[dotted] = None if index is None else ModuleScope(self.program, index)
        return self.modules[dotted]

    def reads(self, tensor: TensorValue) -> None:
        """A tensor's numbers are used: if it was resized since they were written, an event tells."""
        part: TensorValue | None = tensor if self.resized else None
        while part is not None:
            resized = self.resized.pop(part.identity, None)
            if resized is not None:
                resized.tell()
            part = part.base

    def overwrites(self, tensor: TensorValue) -> None:
        """All numbers of a tensor are replaced, and those of what it is a view of, all of it."""
        tensor.written_by = None
        part: TensorValue | None = tensor if self.resized else None
        while part is not None:
            self.resized.pop(part.identity, None)
            whole = part.base
            part = whole if whole is not None and whole.facts.shape == part.facts.shape is not None else None

    def forget_since(self, before: dict[int, Known]) -> None:
        """Of the numbers of tensors, only what was known before and was not written since is still known."""
        self.numbers = {storage: known for storage, known in before.items() if self.numbers.get(storage) is known}

    def step(self, cost: int = 1) -> None:
        """Count work against the file's budget."""
        program = self.program
        program.steps -= cost
        if program.steps < 0 or program.root_steps < 0:
            raise BudgetExhausted
        program.root_steps -= cost

    def decide(self, key: object, default: bool = True) -> bool:
        """Choose how an unknown condition turns out, the same way each time on this path."""
        if key in self.assumptions:
            return self._assumed(key)
        if self.is_about_one:
            self.about_items.add(key)
            self.weaken(Confidence.POSSIBLE)
        position = len(self.taken)
        worth = self.program.tells(self.deciding) if self._is_near() else 0
        if not worth and self._is_left_to_chance():
            self.met_chance = True
            default = default is not self.otherwise
        outcome = self.prefix[position] if position < len(self.prefix) else default
        if position < MAX_DECISIONS:
            self.taken.append(outcome)
            self.turnable.append(worth)
        self.assumptions[key] = outcome
        return outcome

    def _assumed(self, key: object) -> bool:
        if self.is_about_one and key in self.about_items:
            self.weaken(Confidence.POSSIBLE)
        return self.assumptions[key]

    def _is_near(self) -> bool:
        """Whether what is decided here is worth turning: elsewhere, functions are read on their own."""
        if len(self.frames) > MAX_TURNED_DEPTH:
            return False
        return not self.frames or not self.program.is_foreign(self.frames[-1].function)

    def _is_left_to_chance(self) -> bool:
        if not self.frames or self.deciding is None or self.program.is_foreign(self.frames[-1].function):
            return False
        return chances.is_left_to_chance(self.program, self.frames[-1].function, self.operand or self.deciding)

    @contextmanager
    def considering(self, node: cst.CSTNode, leaning: bool = True) -> Iterator[None]:
        """A test of this statement or expression is evaluated."""
        outer = self.deciding, self.leaning, self.operand
        self.deciding, self.leaning, self.operand = node, leaning, None
        try:
            yield
        finally:
            self.deciding, self.leaning, self.operand = outer

    @contextmanager
    def asking(self, operand: cst.CSTNode) -> Iterator[None]:
        """The truth of an operand of a test decides whether the next one is evaluated."""
        outer, self.operand = self.operand, operand
        try:
            yield
        finally:
            self.operand = outer

    @contextmanager
    def about_one(self, differs: bool) -> Iterator[None]:
        """A block that runs for one of several items. If that differs from the first, and a condition that is not known was not
        met before, it may leave this item out: what follows on it is not sure."""
        if not differs:
            yield
            return
        outer = self.is_about_one, self.confidence
        self.is_about_one = True
        try:
            yield
        finally:
            self.is_about_one, self.confidence = outer

    def new_storage(self) -> int:
        """The identity of newly allocated memory."""
        return next(self.program.storages)

    def tensor(
        self,
        facts: TensorFacts,
        node: cst.CSTNode | None = None,
        step: str = "made",
        story: tuple[tuple[str, cst.CSTNode], ...] = (),
    ) -> TensorValue:
        """A tensor in new memory (unless its facts name a storage)."""
        if facts.storage is None:
            facts = facts.but(storage=self.new_storage())
        if node is not None and step:
            story = (*story[-3:], (step, node))
        return TensorValue(facts, story)

    def facts(self, tensor: TensorValue) -> TensorFacts:
        """What is known of a tensor here, with the sizes that this path has learnt."""
        facts = tensor.facts
        if not self.bound_sizes:
            return facts
        shape, strides = self.learnt(facts.shape), self.learnt(facts.strides)
        return facts if shape is facts.shape and strides is facts.strides else facts.but(shape=shape, strides=strides)

    def differ(self, left: Dim, right: Dim) -> bool:
        """Whether two sizes are not equal, by themselves or as a comparison on this path told."""
        differences = sizes.subtract(left, right), sizes.subtract(right, left)
        return not self.unequal.isdisjoint(differences) or (isinstance(differences[0], int) and differences[0] != 0)

    def learnt(self, dims: Dims | None) -> Dims | None:
        """Sizes with the values that conditions on this path gave them; the same tuple where none did."""
        if dims is None or not self.bound_sizes:
            return dims
        bound = self.bound_sizes.keys()
        if all(bound.isdisjoint(dim.leaves) for dim in dims if not isinstance(dim, int)):
            return dims
        replaced = tuple(sizes.substitute(dim, self.bound_sizes) for dim in dims)
        return dims if any(dim is None for dim in replaced) else tuple(dim for dim in replaced if dim is not None)

    @property
    def grad_answer(self) -> Answer:
        """Whether gradients are recorded here."""
        return Answer.of(self.grad_mode)

    @contextmanager
    def mute(self) -> Iterator[None]:
        """No events from this block: the code means it to fail, or it only prepares values."""
        self.muted += 1
        try:
            yield
        finally:
            self.muted -= 1

    @contextmanager
    def grad(self, enabled: bool | None) -> Iterator[None]:
        """A block in another grad mode."""
        previous, self.grad_mode = self.grad_mode, enabled
        try:
            yield
        finally:
            self.grad_mode = previous

    def weaken(self, confidence: Confidence) -> None:
        """What follows on this path is no surer than this."""
        self.confidence = min(self.confidence, confidence)

    def truth(self, value: Value) -> bool:
        """Decide the truth of a value; what is assumed refines the values it is about."""
        known = self.known_truth(value)
        if known is not None:
            return known
        self.numbers.clear()  # it may ask for just these
        if isinstance(value, Condition):
            outcome = self.decide(value.key, self.leaning != value.negated) != value.negated
            if value.assume is not None:
                value.assume(outcome)
            return outcome
        outcome = self.decide(("truth", value.identity), self.leaning)
        if isinstance(value, Unknown) and outcome:
            value.none = False
        return outcome

    def known_truth(self, value: Value) -> bool | None:
        """The truth of a value where it needs no decision."""
        if isinstance(value, Constant):
            return bool(value.value)
        if isinstance(value, (Dtype, MemoryFormat, Function, Class, External)):
            return True
        if isinstance(value, Sequence):
            return None if value.items is None else bool(value.items)
        if isinstance(value, Mapping):
            return True if value.entries else (None if value.open else False)
        if isinstance(value, Instance) and value.is_module:
            return True
        if isinstance(value, SizeValue) and value.size in self.unequal:
            return True
        if isinstance(value, Condition) and value.key in self.assumptions:
            return self._assumed(value.key) != value.negated
        return None

    def hears(self, op: str, in_place: bool, out: bool) -> bool:
        """Whether some rule wants to see a call of this operator that changes a tensor in place, or is given an out=."""
        return not self.muted and self.program.listens(op, in_place, out)

    def emit(self, make: Callable[[], TensorEvent]) -> None:
        """Hand an event to the rules that want to see it."""
        if self.muted:
            return
        event = make()
        if self.recorded is not None:
            self.recorded.append(event)
        fallen_back = bool(self.frames) and self.frames[-1].falls_back
        self.program.judge(event, self._way_out(), raising=not fallen_back)

    def _way_out(self) -> cst.CSTNode | None:
        """The call in the file being read that leads into the other file where this happens."""
        if not self.frames or not self.program.is_foreign(self.frames[-1].function):
            return None
        return next(frame.call for frame in self.frames if self.program.is_foreign(frame.function))
