"""Ties: candidates of a call that cost the same.

Input: candidates that fit equally well. Output: those that are meant, by how much of a function's types is open and how
its arguments are passed; several of a user's are an error.
"""

from functools import partial

from ktc.diag.codes import Code
from ktc.diag.diagnostic import Label
from ktc.diag.source import Span
from ktc.elaborate.generics import unification
from ktc.elaborate.model.declarations import FunctionInfo
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.errors import ErrorReported
from ktc.elaborate.model.instance import Candidate
from ktc.elaborate.model.types import ConstValue, PartialTy, StructTy, TraitTy, UnboundParameter
from ktc.elaborate.model.values import Arg, Place


def break_tie(body: Body, best: list[Candidate], name: str, span: Span) -> list[Candidate]:
    """Of candidates that cost the same the ones with the fewest open types; several of a user's are an error."""
    fixed = [found for found in best if not _has_variadic_parameters(found.instance.fn)]
    best = fixed or best  # one that names its parameters goes before one that takes any number
    best = [found for found in best if not _converts_literals(body, found)] or best
    bare = [_bare_types(body, found) for found in best]
    best = [found for found, count in zip(best, bare, strict=True) if count == min(bare)]
    fewest = min(map(partial(_open_types, body), best))
    best = [found for found in best if _open_types(body, found) == fewest]
    unfit = [_ownership_mismatches(found) for found in best]
    best = [found for found, count in zip(best, unfit, strict=True) if count == min(unfit)]
    if len(best) > 1 and _is_generic(body) and not best[0].instance.fn.module.is_library:
        best = [found for found in best if not _omits(found)] or best  # what the trait requires has no defaults
    words = {
        tuple(
            sig.convention
            for sig, slot in zip(found.instance.signature.args, found.slots, strict=True)
            if slot is not None
        )
        for found in best
    }
    if (
        len(best) == 1
        or any("ref" in word for word in words)
        or any(found.instance.fn.module.is_library for found in best)
    ):
        return best
    notes = tuple(Label(found.instance.fn.span(), "this overload fits") for found in best[:10])
    text = f"{len(best)} overloads of '{name}' fit this call equally well"
    help = "convert an argument to the type that is meant"
    body.elab.report(Code.AMBIGUOUS_CALL, text, span, help, body.frame.instance, notes)
    raise ErrorReported


def _converts_literals(body: Body, found: Candidate) -> bool:
    """Return whether a collection literal became a parameter of another type than its own."""
    memo = body.elab.instances.state.memo
    try:
        return any(isinstance(one, ConstValue) and ("from literal", one) in memo for one in found.instance.param_values)
    except TypeError:  # a value without a hash
        return False


def _is_generic(body: Body) -> bool:
    """Return whether the function that calls has parameters, so that a method may be what a trait requires."""
    instance = body.frame.instance
    while instance is not None:
        if instance.param_values or (instance.self_ty is not None and instance.self_ty.params):
            return True
        instance = instance.parent
    return False


def _omits(found: Candidate) -> bool:
    """Return whether a call leaves out an argument that has a default."""
    return any(
        slot is None and sig.convention != "out"
        for sig, slot in zip(found.instance.signature.args, found.slots, strict=True)
    )


def _has_variadic_parameters(fn: FunctionInfo) -> bool:
    """Return whether a function has a variadic parameter that a call may give explicitly."""
    return any(param.kind == "star" for param in fn.node.params)


def _bare_types(body: Body, found: Candidate) -> int:
    """Return how many values of registers go to an argument of a bare type parameter: its own type is nearer."""
    fn = found.instance.fn
    if fn.module.is_library:
        return 0
    pattern = unification.signature_pattern(body.elab, fn, found.instance.self_ty)
    pairs = zip(found.instance.signature.args, pattern.args, strict=True)
    return sum(
        isinstance(kind, (UnboundParameter, TraitTy)) and isinstance(sig.ty, StructTy) and sig.ty.info.register_passable
        for sig, kind in pairs
    )


def _open_types(body: Body, found: Candidate) -> int:
    fn = found.instance.fn
    pattern = unification.signature_pattern(body.elab, fn, found.instance.self_ty)
    return sum(isinstance(kind, (TraitTy, PartialTy)) for kind in pattern.args)


def _ownership_mismatches(found: Candidate) -> int:
    """Return how many arguments are kept by the caller where the function takes them, or given away where it does not.

    A value of registers is never given away.
    """
    count = 0
    for sig, slot in zip(found.instance.signature.args, found.slots, strict=True):
        if not isinstance(slot, Arg) or sig.convention == "out":
            continue
        in_registers = isinstance(sig.ty, StructTy) and sig.ty.info.register_trivial
        given = not in_registers and not (isinstance(slot.value, Place) and not slot.value.owned)
        count += given != (sig.convention in ("var", "owned", "deinit"))
    return count
