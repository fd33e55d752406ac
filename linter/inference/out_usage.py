"""How a function written by a user treats its parameter `out`, by the way it is written."""

from __future__ import annotations

from dataclasses import dataclass, field

import libcst as cst

from stridelint.rules.forms.walking import beginning_of, children, walk

QUERIES = frozenset(
    """shape dtype device requires_grad ndim is_leaf layout size dim numel stride is_contiguous is_floating_point is_complex
    element_size storage_offset names itemsize""".split()
)

# Methods that keep or show what they are given.
_KEEPING = frozenset("append appendleft extend insert add put put_nowait debug info warning error log write".split())
# Methods that overwrite all numbers.
_CLEARING = frozenset({"zero_", "fill_", "copy_"})
_RUN_LATER = (cst.FunctionDef, cst.Lambda, cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp)


@dataclass
class Usage:
    """What a function does with `out`.

    optional: it may be left out.
    writes: expressions and statements that write into it, calls of torch with `out=out` among them.
    handed: other calls that are given `out`, which may do anything: with `out=out`, or for nothing but what they do.
    rebindings: assignments to the name, but for `replacements`: those, and returns, that are made where the code has looked at
        `out` and found that it does not fit. reads: it is also an input, or something else altogether, such as a stream; or code
        that may run at any time hands it on.
    carried: its numbers go into what the name is bound to (`out = out + x`). cleared: all of its numbers are overwritten somewhere.
    filled: at this point of the reading it surely was the out= of a call of torch; rereads: its numbers are read after that.
    returns_values: some `return` has a value. aliased: what a write returns is used, so that something else may be `out` too.
    """

    optional: bool = False
    writes: list[cst.CSTNode] = field(default_factory=list)
    handed: list[cst.CSTNode] = field(default_factory=list)
    rebindings: list[cst.Assign] = field(default_factory=list)
    replacements: list[cst.CSTNode] = field(default_factory=list)
    reads: bool = False
    carried: bool = False
    cleared: bool = False
    filled: bool = False
    rereads: bool = False
    returns_values: bool = False
    aliased: bool = False
    judging: set[str] = field(default_factory=lambda: {"out"})  # names that tell what `out` is like
    judged: bool = False
    unfit: bool = False

    @property
    def is_contract(self) -> bool:
        """It works like torch's `out=`, as far as that shows. What only adds to it may be given what to start from."""
        if self.carried and not self.cleared:
            return False
        return not self.reads and (self.optional or (bool(self.writes) and not self.rereads))

    def read(self) -> None:
        """Its numbers are used."""
        self.rereads |= self.filled
        self.reads |= not self.filled


def usage(function: cst.FunctionDef) -> Usage:
    """Read a function that has a parameter `out`."""
    found = Usage()
    params = function.params
    for param in (*params.posonly_params, *params.params):
        if param.name.value == "out":
            found.optional = _is_none(param.default)
    found.optional |= any(param.name.value == "out" for param in params.kwonly_params)
    for statement in function.body.body:
        _visit(statement, found)
        found.filled |= isinstance(statement, cst.SimpleStatementLine) and any(_fills(each) for each in statement.body)
    return found


def _fills(small: cst.CSTNode) -> bool:
    """A statement `torch.add(a, b, out=out)` or `out.copy_(a)`."""
    call = small.value if isinstance(small, cst.Expr) else None
    if not isinstance(call, cst.Call):
        return False
    if isinstance(call.func, cst.Attribute) and _is_out(call.func.value):
        return call.func.attr.value == "copy_"
    return _of_torch(call.func) and any(
        arg.keyword is not None and arg.keyword.value == "out" and _is_out(arg.value) for arg in call.args
    )


def _visit(node: cst.CSTNode, found: Usage) -> None:
    if isinstance(node, cst.Name):
        if node.value == "out":
            found.read()
        return
    if (
        isinstance(node, cst.Comparison)
        and _is_out(node.left)
        and isinstance(node.comparisons[0].operator, (cst.Is, cst.IsNot))
    ):
        return
    if isinstance(node, cst.Return):
        found.returns_values |= node.value is not None
        if found.unfit:
            found.replacements.append(node)
        if node.value is not None:
            _visit_returned(node.value, found)
        return
    if isinstance(node, (cst.Call, cst.Expr)):
        call = node.value if isinstance(node, cst.Expr) else node
        before = len(found.writes) + len(found.handed)
        if isinstance(call, cst.Call):
            _visit_call(call, found, discarded=call is not node)
        else:
            _visit(call, found)
        found.aliased |= isinstance(node, cst.Call) and len(found.writes) + len(found.handed) > before
        return
    if isinstance(node, cst.Attribute):
        if not (_is_out(node.value) and node.attr.value in QUERIES):
            _visit(node.value, found)
        return
    if isinstance(node, cst.If):
        _visit_if(node, found)
        return
    if isinstance(node, cst.Assign):
        judges = _judges(node.value.test if isinstance(node.value, cst.IfExp) else node.value, found.judging)
        for target in node.targets:
            _visit_target(target.target, node, found, judges)
        operands = _operands(node.value) if found.rebindings and found.rebindings[-1] is node else [node.value]
        found.carried |= len(operands) > 1 and any(map(_is_out, operands))
        for each in operands:
            if len(operands) == 1 or not _is_out(each):
                _visit(each, found)
        return
    if isinstance(node, cst.AugAssign):
        if beginning_of(node.target) == "out":
            found.writes.append(node)
        else:
            _visit(node.target, found)
        _visit(node.value, found)
        return
    handed = len(found.handed)
    for child in children(node):
        _visit(child, found)
    found.reads |= len(found.handed) > handed and isinstance(node, _RUN_LATER)


def _visit_if(node: cst.If, found: Usage) -> None:
    _visit(node.test, found)
    before = found.judged
    judges = _judges(node.test, found.judging)
    found.judged |= judges
    _visit(node.body, found)
    if node.orelse is not None:
        _visit(node.orelse, found)
    # What comes after `if out.shape == x.shape: ... return out` is for one that does not fit.
    found.unfit |= judges and _returns(node.body)
    found.judged = before or found.unfit


def _judges(test: cst.BaseExpression, names: set[str]) -> bool:
    """Whether a condition depends on more of `out` than whether it is given."""
    if isinstance(test, cst.Name):
        return test.value != "out" and test.value in names
    if isinstance(test, cst.UnaryOperation):
        return _judges(test.expression, names)
    if isinstance(test, cst.BooleanOperation):
        return _judges(test.left, names) or _judges(test.right, names)
    if isinstance(test, cst.Comparison) and _is_none(test.comparisons[0].comparator):
        return False
    return any(each.value in names for each in walk(test, cst.Name) if isinstance(each, cst.Name))


def _is_none(node: cst.BaseExpression | None) -> bool:
    return isinstance(node, cst.Name) and node.value == "None"


def _operands(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """Those of `a + b * c`; an expression of another form alone."""
    return [*_operands(node.left), *_operands(node.right)] if isinstance(node, cst.BinaryOperation) else [node]


def _visit_returned(value: cst.BaseExpression, found: Usage) -> None:
    parts = [element.value for element in value.elements] if isinstance(value, cst.Tuple) else [value]
    for part in parts:
        if not _is_out(part):
            _visit(part, found)


def _visit_target(target: cst.BaseExpression, node: cst.Assign, found: Usage, judges: bool) -> None:
    if _is_out(target):
        judged = found.judged or (judges and isinstance(node.value, cst.IfExp))
        (found.replacements if judged else found.rebindings).append(node)
    elif isinstance(target, cst.Subscript) and beginning_of(target) == "out":
        found.writes.append(node)
        for element in target.slice:
            _visit(element, found)
    elif not isinstance(target, cst.Name):
        _visit(target, found)
    elif judges and isinstance(node.value, (cst.BooleanOperation, cst.UnaryOperation, cst.Comparison, cst.Call)):
        found.judging.add(target.value)


def _visit_call(node: cst.Call, found: Usage, discarded: bool = False) -> None:
    function = node.func
    works = discarded and not (isinstance(function, cst.Attribute) and function.attr.value in _KEEPING)
    if isinstance(function, cst.Name) and function.value in ("isinstance", "len", "print", "type"):
        if function.value == "print" and any(_is_out(arg.value) for arg in node.args):
            found.read()
        return
    if (
        isinstance(function, cst.Attribute)
        and beginning_of(function.value) == "out"
        and function.attr.value.endswith("_")
    ):
        found.writes.append(node)
        found.cleared |= _is_out(function.value) and function.attr.value in _CLEARING
    elif isinstance(function, cst.Attribute):
        _visit(function, found)
    for arg in node.args:
        if arg.keyword is not None and arg.keyword.value == "out" and _is_out(arg.value):
            (found.writes if _of_torch(function) else found.handed).append(node)
        elif works and _hands_on(arg):
            found.handed.append(node)
        else:
            _visit(arg.value, found)


def _hands_on(arg: cst.Arg) -> bool:
    """Whether an argument is `out`, or a view or pointer of it, alone or in a tuple of arguments for a kernel."""
    if isinstance(arg.value, (cst.Tuple, cst.List)):
        return any(_is_memory(element.value) for element in arg.value.elements)
    return not arg.star and _is_memory(arg.value)


def _is_memory(node: cst.BaseExpression) -> bool:
    named = node.func if isinstance(node, cst.Call) else node
    if isinstance(named, cst.Attribute) and named.attr.value in QUERIES:
        return False
    return _is_out(named) or (named is not node and isinstance(named, cst.Attribute) and _is_out(named.value))


def _of_torch(function: cst.BaseExpression) -> bool:
    while isinstance(function, cst.Attribute):
        function = function.value
    return isinstance(function, cst.Name) and function.value in ("torch", "F")


def _is_out(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Name) and node.value == "out"


def is_last_write(function: cst.FunctionDef, node: cst.CSTNode) -> bool:
    """Whether the function returns right after the statement `node`, so that what it writes is the result."""
    return _ends_with(function.body, node)


def _ends_with(block: cst.CSTNode, node: cst.CSTNode) -> bool:
    statements = list(getattr(block, "body", ()))
    for index, statement in enumerate(statements):
        rest = statements[index + 1 :]
        ends = not rest or _is_return(rest[0])
        if isinstance(statement, cst.SimpleStatementLine):
            smalls = [small.value if isinstance(small, cst.Expr) else small for small in statement.body]
            if node in smalls:
                return ends
        else:
            for inner in _blocks(statement):
                if _contains(inner, node):
                    return _ends_with(inner, node) and (ends or _returns(inner))
    return False


def _blocks(statement: cst.CSTNode) -> list[cst.CSTNode]:
    blocks: list[cst.CSTNode] = []
    if isinstance(statement, cst.If):
        blocks.append(statement.body)
        if statement.orelse is not None:
            blocks += _blocks(statement.orelse) if isinstance(statement.orelse, cst.If) else [statement.orelse.body]
    elif isinstance(statement, (cst.With, cst.Try)):
        blocks.append(statement.body)
    return blocks


def _contains(block: cst.CSTNode, node: cst.CSTNode) -> bool:
    return block is node or any(_contains(child, node) for child in children(block))


def _returns(block: cst.CSTNode) -> bool:
    statements = list(getattr(block, "body", ()))
    return bool(statements) and _is_return(statements[-1])


def _is_return(statement: cst.CSTNode) -> bool:
    return isinstance(statement, cst.SimpleStatementLine) and isinstance(statement.body[-1], cst.Return)
