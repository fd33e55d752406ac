"""docs/operator-contracts.md: the table of operators for people, who search it for the operator they use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stridelint.rules.contract import operators
from stridelint.rules.contract.operators import OTHER, Operator, Variant
from stridelint.rules.contract.out_strides import ANOTHER_ORDER, FLAT_BATCH

NOTICE = "<!-- Written by `stridelint docs` from rules/contract/operators.json, which `stridelint probe harvest` measures. -->"
_HEADINGS = ("operator", "dtype", "strides", "other shape", "grad", "device", "memory", "tuple", "layout")
_LAYOUTS = {
    "elementwise": "decided by {order}", "preserve": "kept", "channels_last": "channels_last kept", "row_major": "row-major",
    "view": "a view", "other": "other",
}  # fmt: skip
_KINDS = {
    "channels_last": "channels_last",
    "reversed": "with its axes in reverse order",
    "sliced": "sliced from a larger tensor",
}
_FAULTS = {
    "wrong": "wrong values", "outside": "writes outside of out, over its neighbours",
    "restrided": "gives out other strides, and writes next to where it was",
}  # fmt: skip
_GRAD = (
    "*out*, *input*: accepted; *broken*: backward fails or is wrong, *detached*: the gradient is lost, *right*, *fine*: nothing "
    "to differentiate"
)
_INTRODUCTION = """\
Measured with torch {torch} on {device}; `stridelint probe harvest --diff` tells how yours differs. {count} operators, {with_out} of
which take `out=`. An empty cell means that the clause is kept: what torch documents for `out=`. A dash: not measured.

| column | the contract (empty cell) | else |
|---|---|---|
| dtype | *kind*: out is of the result's kind or a higher one. *exact*: of its dtype. *any* | exceptions, `input dtype: out dtypes` |
| strides | an out of the right shape keeps its strides, and gets the right values | the kinds of out for which that is not so |
| other shape | a non-empty out of another shape is resized with a warning, an empty one without | *silent*; *error*; *kept*: not resized |
| grad | an out, or an input, that requires grad is an error while gradients are recorded | {grad} |
| device | an out on another device is an error | *accepted* |
| memory | out may be an input; an out that overlaps one in part, or itself, is an error | *is*, *overlaps*, *itself*: what happens |
| tuple | several results need a tuple of as many different tensors | *twice*: what happens when one tensor is given for all |
| layout | | of the result of channels_last inputs, without `out=` |

*wrong* means wrong values without an error; *either*: wrong values or an error, by the sizes.
"""


def page() -> str:
    """The page, in Markdown; of the table that ships, whichever is in use."""
    table = operators.shipped()
    every = [operators.decode(table, name) for name in table.names()]
    taking = [each for each in every if each.accepts_out]
    introduction = _INTRODUCTION.format(
        grad=_GRAD, torch=table.torch, device=table.device, count=len(every), with_out=len(taking)
    )
    parts = ["# What operators do with out= and with layouts", introduction.rstrip(), *_defects(taking)]
    rows = [row for each in taking for row in _rows(each)]
    parts += ["## Operators that take out=", _table(_HEADINGS, rows)]
    others = [(each.name, _layouts(each.variants)) for each in every if not each.accepts_out]
    parts += ["## Operators that do not", _table(("operator", "layout"), [row for row in others if row[1]])]
    return "\n\n".join(parts) + "\n"


def _table(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(headings), ["---"] * len(list(headings)), *map(list, rows)]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _defects(taking: list[Operator]) -> Iterator[str]:
    """What torch computes wrongly for an out that the contract allows."""
    found: dict[tuple[str, str], list[str]] = {}
    for each in taking:
        if each.name in ANOTHER_ORDER:
            continue
        for variant in each.variants:
            for kind, fault in variant.out_strides.items():
                names = found.setdefault((fault, kind), [])
                name = f"`{each.name}`" + _condition(variant)
                if name not in names:
                    names.append(name)
    yield "## What torch itself gets wrong"
    yield (
        "An out of the right shape and dtype, but with strides of its own. `mm(a, b, out=buffer[:, ::2])` is right; these "
        "are not, and none of them says so. TLC312 reports such calls."
    )
    for fault, text in _FAULTS.items():
        lines = [
            f"- out {_KINDS[kind]}: {', '.join(names)}"
            for (each, kind), names in sorted(found.items())
            if each == fault
        ]
        if fault == "wrong":
            flat = ", ".join(f"`{name}`" for name in sorted(FLAT_BATCH))
            lines.append(f"- out with several batch axes that are not at one distance from matrix to matrix: {flat}")
        if lines:
            yield f"**{text[0].upper()}{text[1:]}**"
            yield "\n".join(lines)


def _condition(variant: Variant) -> str:
    """When a variant is meant, if the operator has others."""
    told = []
    for name, values in variant.when.items():
        texts = ["not a string" if value == OTHER else repr(value) for value in values]
        told.append(f"{name} {' or '.join(texts)}")
    return f" ({', '.join(told)})" if told else ""


def _rows(operator: Operator) -> Iterator[tuple[str, ...]]:
    """One row for each way an operator behaves."""
    measured = [variant for variant in operator.variants if variant.measured and variant.accepts_out]
    rows: dict[tuple[str, ...], list[Variant]] = {}
    for variant in measured:
        rows.setdefault(_cells(operator.name, variant), []).append(variant)
    for cells, variants in rows.items():
        name = f"`{operator.name}`"
        if len(rows) > 1:
            name += ";".join(dict.fromkeys(_condition(each) or f" ({_arguments(each)})" for each in variants))
        yield (name, *cells)


def _arguments(variant: Variant) -> str:
    return ", ".join(parameter.name for parameter in variant.signature)


def _cells(name: str, variant: Variant) -> tuple[str, ...]:
    strides = ", ".join(f"{kind}: {fault}" for kind, fault in variant.out_strides.items())
    return (
        _dtype(variant),
        "numbers in another order" if strides and name in ANOTHER_ORDER else strides,
        _shape(variant),
        _grad(variant),
        _unless("error", variant.device),
        _memory(variant),
        "" if len(variant.outputs) < 2 or variant.twice == "error" else f"twice: {variant.twice or '–'}",
        _layout(variant),
    )


def _dtype(variant: Variant) -> str:
    told = []
    for output in variant.outputs:
        text = output.out or "–"
        if output.but:
            text += " (" + "; ".join(f"{dtype}: {' '.join(names)}" for dtype, names in output.but.items()) + ")"
        told.append(text)
    return ", ".join(told) if len(set(told)) > 1 else told[0] if told else "–"


def _shape(variant: Variant) -> str:
    told = [
        _unless("warns", variant.wrong_shape),
        _unless("warns", variant.same_numel, "same number of elements: "),
        _unless("resized", variant.empty_out, "empty: "),
        "warns though the shape is right" if variant.right_shape else "",
    ]
    return ", ".join(filter(None, told))


def _grad(variant: Variant) -> str:
    told = [_unless("error", variant.out_grad, "out: "), _unless("error", variant.input_grad, "input: ")]
    told += [f"{name}: {what}" for name, what in variant.input_grad_of.items()]
    return ", ".join(filter(None, told))


def _memory(variant: Variant) -> str:
    told = []
    for word, usual, outcomes in (("is", "ok", variant.full_overlap), ("overlaps", "error", variant.partial_overlap)):
        unusual = {name: what for name, what in outcomes.items() if what != usual}
        if len(set(unusual.values())) == 1 and len(unusual) == len(outcomes):
            told.append(f"{word}: {next(iter(unusual.values()))}")
        else:
            told += [f"{word} {name}: {what}" for name, what in unusual.items()]
    told.append(_unless("error", variant.self_overlap, "itself: "))
    return ", ".join(filter(None, told))


def _unless(usual: str, what: str, before: str = "") -> str:
    return "" if what in (usual, "") else before + what


def _layouts(variants: Iterable[Variant]) -> str:
    return "; ".join(dict.fromkeys(filter(None, (_layout(variant) for variant in variants if variant.measured))))


def _layout(variant: Variant) -> str:
    order = ", ".join(variant.order) or "the first operand"
    return _LAYOUTS.get(variant.layout, "").format(order=order)
