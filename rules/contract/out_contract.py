"""The out= contract, clause by clause, on partly known facts.

    operator = lookup("addmm")
    variant = operator.variant(arguments)
    verdict = dtype_clause(variant, 0, arguments, out)       # Verdict(YES, "raises", "RuntimeError", "Expected out ...")

Every clause answers YES or NO only where what is known of the tensors decides it for every tensor they may be. What
torch does in each case is measured (see `operators`); device clauses were measured with the meta device as the other one.
"""

from __future__ import annotations

from collections.abc import Mapping

from stridelint.rules.contract import sizes
from stridelint.rules.contract.answers import Answer, Confidence
from stridelint.rules.contract.facts import Dims, TensorFacts
from stridelint.rules.contract.messages import RESIZED, filled, shape_text, split
from stridelint.rules.contract.operators import Operator, Variant
from stridelint.rules.contract.out_dtypes import (
    dtype_clause,
    facts_of,
    result_dtype,
    result_dtype_and_kind,
    scalar_kind,
)
from stridelint.rules.contract.out_memory import arity_clause, overlap_clause, self_overlap_clause
from stridelint.rules.contract.verdict import FINE, UNKNOWN, Verdict

__all__ = [
    "Verdict",
    "accepts_clause",
    "arity_clause",
    "device_clause",
    "dtype_clause",
    "grad_clause",
    "input_grad_clause",
    "out_grad_clause",
    "overlap_clause",
    "result_dtype",
    "result_dtype_and_kind",
    "scalar_kind",
    "self_overlap_clause",
    "shape_clause",
]  # fmt: skip


def accepts_clause(operator: Operator, variant: Variant | None) -> Verdict:
    """Whether the call may have out= at all; `variant` None where it is not known which behaviour applies."""
    refuses = Verdict(
        Answer.YES, "raises", "TypeError", f"{_name(operator.name)}() got an unexpected keyword argument 'out'"
    )
    if variant is not None and variant.measured:
        return FINE if variant.accepts_out else refuses
    known = [each.accepts_out for each in operator.variants]
    if None in known or any(known):
        return FINE if all(known) else UNKNOWN
    return refuses


def _name(name: str) -> str:
    return name.rpartition(".")[2]


def shape_clause(variant: Variant, required: Dims | None, out: TensorFacts) -> Verdict:
    """Whether a non-empty out has another shape than the result's (`required`).

    Effects: "warns" and "silent" (both resize it), "kept" (same number of elements: left as it is), "raises".
    """
    if not variant.accepts_out or required is None or out.shape is None:
        return UNKNOWN
    if any(dim == 0 for dim in out.shape) and out.shape != required:
        if variant.empty_out == "error":
            return Verdict(Answer.YES, "raises", *split(variant.errors.get("empty_out", "RuntimeError: ")))
        return FINE if variant.empty_out else UNKNOWN
    if out.shape == required:
        return UNKNOWN if variant.right_shape else FINE
    differ, certain = _differ(required, out.shape)
    if not differ:
        return UNKNOWN
    if any(not isinstance(dim, int) for dim in out.shape):
        certain = False  # It may be empty.
    elements = sizes.subtract(sizes.product(required), sizes.product(out.shape))
    # Only matmul has no one answer: with a vector in front of a matrix it says nothing.
    same_numel = variant.same_numel or (variant.wrong_shape if len(required) > 1 else "")
    effects = (
        {same_numel if elements == 0 else variant.wrong_shape}
        if isinstance(elements, int)
        else {variant.wrong_shape, same_numel}
    )
    if effects & {"", "restrided"}:
        return UNKNOWN
    effect = effects.pop() if len(effects) == 1 else "warns" if effects == {"warns", "kept"} else "silent"
    confidence = Confidence.CERTAIN if certain else Confidence.LIKELY
    if effect == "error":
        exception, message = split(variant.errors.get("wrong_shape", "RuntimeError: "))
        return Verdict(Answer.YES, "raises", exception, message, confidence)
    if effect == "warns":
        message = filled(RESIZED, out_shape=shape_text(out.shape), result_shape=shape_text(required))
        return Verdict(Answer.YES, effect, "UserWarning", message, confidence)
    return Verdict(Answer.YES, effect, confidence=confidence)


def _differ(left: Dims, right: Dims) -> tuple[bool, bool]:
    """(shapes proven different, for all sizes); the second False where sizes must be positive for that."""
    if len(left) != len(right):
        return True, True
    likely = False
    for a, b in zip(left, right, strict=False):
        difference = sizes.subtract(a, b)
        if isinstance(difference, int):
            if difference:
                return True, True
            continue
        if _has_one_sign(difference):
            likely = True
    return likely, False


def _has_one_sign(size: sizes.Size) -> bool:
    """A sum whose terms are all positive, or all negative, is not zero for positive sizes."""
    atoms = [atom for monomial, _ in size.terms for atom in monomial]
    return not any(atom.operator for atom in atoms) and len({factor > 0 for _, factor in size.terms}) == 1


def device_clause(variant: Variant, arguments: Mapping[str, object], out: TensorFacts) -> Verdict:
    """Whether out lies on another device than the tensors that compute (a 0-dim CPU tensor may join any device)."""
    if not variant.accepts_out or not variant.device:
        return UNKNOWN
    found: set[str | None] = set()
    for name in variant.tensor_parameters:
        value = arguments.get(name)
        for each in value if isinstance(value, (tuple, list)) else (value,):
            facts = facts_of(each)
            if facts is not None and facts.rank != 0:
                found.add(facts.device)
    asked = arguments.get("device")
    if not found and isinstance(asked, str):
        found.add(asked)
    if len(found) != 1 or None in found or out.device is None:
        return UNKNOWN
    device = found.pop()
    assert device is not None
    same = _same_device(device, out.device)
    if same is not False:
        return FINE if same else UNKNOWN
    if variant.device == "accepted":
        return FINE
    exception, message = split(variant.errors["device"])
    return Verdict(Answer.YES, "raises", exception, filled(message, result_device=device, out_device=out.device))


def _same_device(left: str, right: str) -> bool | None:
    if left == right:
        return True
    kinds = (left.partition(":")[0], right.partition(":")[0])
    if kinds[0] != kinds[1]:
        return False
    return None if ":" not in left or ":" not in right else False


def grad_clause(
    variant: Variant, name: str, arguments: Mapping[str, object], out: TensorFacts, grad_mode: Answer
) -> Verdict:
    """Whether an out or an input that requires grad breaks the call; `name` is the operator's, for the message."""
    verdicts = [out_grad_clause(variant, name, out, grad_mode), input_grad_clause(variant, name, arguments, grad_mode)]
    broken = [verdict for verdict in verdicts if verdict.violated is Answer.YES]
    if broken:
        return broken[0]
    return FINE if all(verdict.violated is Answer.NO for verdict in verdicts) else UNKNOWN


def out_grad_clause(variant: Variant, name: str, out: TensorFacts, grad_mode: Answer) -> Verdict:
    """Whether torch refuses this out because it requires grad."""
    if out.requires_grad is False:
        return FINE
    effects = set()
    if grad_mode is not Answer.NO:
        if out.is_leaf is not False:
            effects.add((variant.out_grad, "out_grad"))
        if out.is_leaf is not True:
            effects.add((variant.out_grad_nonleaf, "out_grad_nonleaf"))
    if grad_mode is not Answer.YES:
        effects.add((variant.out_grad_off, "out_grad_off"))
    if all(effect == "accepted" for effect, _ in effects):
        return FINE
    if out.requires_grad is None or not variant.accepts_out or any(effect != "error" for effect, _ in effects):
        return UNKNOWN
    return _raises(variant, name, {clause for _, clause in effects})


def input_grad_clause(variant: Variant, name: str, arguments: Mapping[str, object], grad_mode: Answer) -> Verdict:
    """Whether an input that requires grad is refused, or loses its gradient ("gradient")."""
    if grad_mode is Answer.NO:
        return FINE
    answer = Answer.NO
    worst = FINE
    for parameter in variant.tensor_parameters:
        value = arguments.get(parameter)
        if value is None:
            continue
        effect = variant.input_grad_of.get(parameter, variant.input_grad)
        for each in value if isinstance(value, (tuple, list)) else (value,):
            facts = facts_of(each)
            needs = Answer.UNKNOWN if facts is None else Answer.of(facts.requires_grad)
            if facts is not None and facts.kind in ("bool", "integer"):
                needs = Answer.NO
            if effect in ("fine", "right") or needs is Answer.NO:
                continue
            answer = answer | (needs & grad_mode & Answer.of(None if effect == "" or not variant.accepts_out else True))
            if needs & grad_mode is Answer.YES and (effect == "error" or worst is FINE):
                worst = _raises(variant, name, {"input_grad"}) if effect == "error" else Verdict(Answer.YES, "gradient")
    if answer is not Answer.YES:
        return FINE if answer is Answer.NO else UNKNOWN
    return worst


def _raises(variant: Variant, name: str, clauses: set[str]) -> Verdict:
    texts = {variant.errors.get(clause, "RuntimeError: ") for clause in clauses}
    exception, message = split(texts.pop()) if len(texts) == 1 else ("RuntimeError", "")
    return Verdict(Answer.YES, "raises", exception, filled(message, op=_name(name)))
