"""The operator table: what each torch operator does with dtypes, `out=` and layout, as measured by `probe harvest`.

    operator = lookup("addmm")
    arguments = operator.bind((bias, a, b), {})     # {"input": bias, "mat1": a, "mat2": b}
    variant = operator.variant(arguments)           # its behaviour for these arguments
    variant.full_overlap                            # {"input": "ok", "mat1": "wrong", "mat2": "wrong"}

Names are canonical: "add", "linalg.qr", "nn.functional.gelu" (no leading "torch."). Loading does not import torch.
"""

from __future__ import annotations

import functools
import importlib.resources
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from stridelint.rules.contract import signatures, torch_versions
from stridelint.rules.contract.operator_records import OTHER, Operator, Output, Variant
from stridelint.rules.contract.signatures import tensor_parameters

__all__ = [
    "FORMAT",
    "OTHER",
    "Operator",
    "Output",
    "Table",
    "Variant",
    "canonical",
    "decode",
    "lookup",
    "read",
    "table",
]

FORMAT = 1

_EMPTY: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Table:
    """The whole table: where it was measured, and its operators (decoded on first use)."""

    torch: str
    device: str
    rows: Mapping[str, Mapping[str, Any]]
    defaults: Mapping[str, Any]
    texts: Mapping[str, str]

    def names(self) -> Iterator[str]:
        """All canonical names, sorted."""
        return iter(self.rows)


# Names a file to use in place of the table that ships with the package; child processes read the same.
VARIABLE = "STRIDELINT_OPERATORS"


@functools.cache
def table() -> Table:
    """The table in use: the one that ships with the package, or that of `use`."""
    path = os.environ.get(VARIABLE)
    return load(path) if path else shipped()


def shipped() -> Table:
    """The table that ships with the package."""
    text = importlib.resources.files(__package__).joinpath("operators.json").read_text("utf-8")
    return read(json.loads(text))


def load(path: str) -> Table:
    """The table in a file; OSError, or ValueError where it is none."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        document = json.loads(text)
    except ValueError:
        document = None
    if not isinstance(document, dict) or not {"torch", "device", "operators", "defaults", "texts"} <= set(document):
        raise ValueError("it is no table of operators")
    return read(document)


class _Adjusted:
    """For which file (see `adjust`) the table in use was chosen, and for which version of torch."""

    path = ""
    target: tuple[int, int] | None = None


def adjust(path: str, target: tuple[int, int] | None) -> None:
    """Use this table ("": the usual one), as far as it holds for a version of torch; cheap if that is so already."""
    if (path, target) != (_Adjusted.path, _Adjusted.target):
        _Adjusted.path, _Adjusted.target = path, target
        use(path or None)


def use(path: str | None) -> None:
    """Use the table in a file from now on, in this process and its children; None: the shipped one again."""
    if path is None:
        os.environ.pop(VARIABLE, None)
    else:
        load(path)
        os.environ[VARIABLE] = os.path.abspath(path)
    for cached in (table, canonical, _operator):
        cached.cache_clear()


def read(document: Mapping[str, Any]) -> Table:
    """A table from its JSON document; ValueError for another format."""
    if document.get("format") != FORMAT:
        raise ValueError(f"operators.json has format {document.get('format')!r}, expected {FORMAT}")
    return Table(document["torch"], document["device"], document["operators"], document["defaults"], document["texts"])


def lookup(name: str) -> Operator | None:
    """The operator a name stands for: "add", "torch.add", "Tensor.add", "add_"; None if the table has none."""
    key = canonical(name)
    return None if key is None else _operator(key)


@functools.cache
def canonical(name: str) -> str | None:
    """The table's key for a function, a method ("Tensor.add") or an in-place variant ("add_"); None if it has none."""
    rows = table().rows
    name = name.removeprefix("torch.").removeprefix("Tensor.")
    if name in rows:
        return name
    bare = name.removesuffix("_")
    return bare if bare in rows and rows[bare].get("inplace") else None


@functools.cache
def _operator(key: str) -> Operator:
    return decode(table(), key)


def decode(source: Table, key: str) -> Operator:
    """One operator of a table."""
    row = source.rows[key]
    target = _Adjusted.target
    unsure = {} if target is None or torch_versions.holds(key, source.torch, target) else {"measured": False}
    variants = tuple(_variant(source, {**source.defaults, **record, **unsure}) for record in row["variants"])
    return Operator(
        key,
        variants,
        is_function=not row.get("only_method", False),
        is_method=row.get("method", False),
        has_inplace=row.get("inplace", False),
        defaults=row.get("defaults", _EMPTY),
    )


def _variant(source: Table, record: Mapping[str, Any]) -> Variant:
    fields = {name: value for name, value in record.items() if name in Variant.__dataclass_fields__}
    if not record.get("measured"):
        fields = {name: fields[name] for name in ("signature", "when") if name in fields}
    elif not record.get("accepts_out"):
        fields = {name: value for name, value in fields.items() if name in _WITHOUT_OUT}
    fields["signature"] = signatures.parse(record["signature"])
    for name in ("order",):
        if name in fields:
            fields[name] = tuple(fields[name].split())
    fields["when"] = {name: tuple(values) for name, values in record.get("when", {}).items()}
    if "errors" in fields:
        fields["errors"] = _errors(source, record["errors"])
    for name in ("full_overlap", "partial_overlap"):
        if isinstance(fields.get(name), str):
            fields[name] = dict.fromkeys(tensor_parameters(fields["signature"]), fields[name])
    if record.get("measured"):
        tensors = tensor_parameters(fields["signature"])
        fields["outputs"] = tuple(_output(source, output, tensors) for output in record.get("outputs", ()))
    return Variant(**fields)


def _errors(source: Table, own: Mapping[str, str]) -> dict[str, str]:
    """All clauses' texts. Grad clauses say the same unless told otherwise."""
    texts = {**source.defaults["errors"], **own}
    if "out_grad" in own:
        texts.update({clause: own["out_grad"] for clause in ("out_grad_nonleaf", "input_grad") if clause not in own})
    return {clause: _text(source, text) for clause, text in texts.items()}


def _text(source: Table, text: str) -> str:
    """A text of the table: spelled out, or a key of `texts`; "autograd|mul" names another operator than the one called."""
    key, _, inner = text.partition("|")
    found = source.texts.get(key)
    return text if found is None else found.replace("{op}", inner) if inner else found


# Fields that mean something for a variant that takes no out=.
_WITHOUT_OUT = frozenset(
    """signature when measured accepts_out outputs dtype_argument any_number shape layout order""".split()
)

_USUAL_ERRORS = {"kind": "cast", "exact": "expected dtype", "any": ""}


def _output(source: Table, record: Mapping[str, Any], tensors: tuple[str, ...]) -> Output:
    fields = {"rule": "promote", **record}
    fields["of"] = tuple(fields["of"].split()) if "of" in fields else tensors
    fields["but"] = {dtype: tuple(names.split()) for dtype, names in fields.get("but", {}).items()}
    if fields.get("out"):
        error = fields.get("error", _USUAL_ERRORS[fields["out"]])
        fields["error"] = _text(source, error)
        fields["width_error"] = _text(source, fields.get("width_error", error))
    elif fields.get("out") == "":
        fields["error"] = fields["width_error"] = ""
    if "with_dtype" in fields:
        error = fields.get("with_dtype_error", _USUAL_ERRORS[fields["with_dtype"]])
        fields["with_dtype_error"] = _text(source, error)
    return Output(**fields)
