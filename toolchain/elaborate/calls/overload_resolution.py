"""Overload resolution: which function a call refers to, with which parameters.

Input: a set of functions, parameters given so far, and arguments. Output: a `Candidate`. Nothing is emitted here, so
candidates can be tried and dropped.
"""

from collections.abc import Sequence

from ktc.diag.codes import Code
from ktc.elaborate.calls import changed_arguments, parameter_inference
from ktc.elaborate.calls.changed_arguments import check_changed, check_reference_argument
from ktc.elaborate.calls.overload_filter import check_length_of_pack, may_match
from ktc.elaborate.calls.parameter_equations import solve_calls, solve_self
from ktc.elaborate.generics import parameter_assignment, parameter_binding, unification
from ktc.elaborate.generics.function_effects import check_forms
from ktc.elaborate.generics.parameter_assignment import ParameterList, requires_constant
from ktc.elaborate.instances import instance_table
from ktc.elaborate.instances.instance_table import Specialisation
from ktc.elaborate.instances.signatures import with_arguments
from ktc.elaborate.model.declarations import FunctionInfo, Scope, Ty
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.errors import Mismatch
from ktc.elaborate.model.instance import Candidate, Instance, Symbolic, UnresolvedCall
from ktc.elaborate.model.types import (
    ConstValue,
    FunctionTy,
    FunctionValue,
    Opaque,
    StructTy,
    TraitTy,
    UnboundParameter,
)
from ktc.elaborate.model.values import Arg, CollectionLiteral, PackValue, Place, Result, RValue, Slot, Val
from ktc.elaborate.ownership import origin_agreement
from ktc.elaborate.resolve.hints import argument_hint, direct_call_hint, launch_brackets_hint
from ktc.elaborate.types import struct_members, struct_types, type_printer, type_relations, well_known

MISPLACED, CONVERSION, LITERAL, VARIADIC, GENERIC, DISPLAY = (1000**rank for rank in (5, 4, 3, 2, 1, 0))


def choose_cached(body: Body, call: UnresolvedCall, quiet: bool = False) -> Candidate | None:
    """Choose a function, or take the one that was chosen for arguments of the same types before."""
    fn = call.callee
    if any(isinstance(value, (UnboundParameter, Opaque)) for value in fn.params) or any(
        isinstance(value, (UnboundParameter, Opaque)) for _, value in fn.named
    ):
        raise Symbolic
    key = _site_key(body, call)
    memo = body.state.memo
    found: Candidate | None = None
    if key is not None:
        try:
            found = memo.get(key)
        except TypeError:  # a parameter has a value without a hash
            key = None
    if found is not None:
        callee = found.instance.fn
        return Candidate(found.instance, _slots(body, callee, _arguments(call, callee), call.kw, False), 0)
    found = choose(body, call, quiet=quiet)
    if key is not None and not (found is not None and found.instance.fn.reads_call_location):
        memo[key] = found
    return found


def _arguments(call: UnresolvedCall, fn: FunctionInfo) -> Sequence[Arg]:
    """Return the arguments by position that a function gets: a static method none for the value it is called on."""
    return call.pos[1:] if call.receiver and fn.static else call.pos


def _site_key(body: Body, call: UnresolvedCall) -> tuple[object, ...] | None:
    """Return the key that determines the choice, or None where it depends on more than types."""
    fn = call.callee
    if fn.env is not None or not fn.overloads.by_types():
        return None
    kinds: list[object] = []
    for arg in (*call.pos, *call.kw) if call.kw else call.pos:
        value = arg.value
        if not isinstance(value, (RValue, Place, ConstValue)) or isinstance(value.ty, FunctionTy):
            return None
        kinds.append(value.ty)
        if not isinstance(value, ConstValue) and value.computed_from is not None:
            kinds.append("back")
        if isinstance(value, Place):
            origins = struct_types.origins_of(body.elab, value.ty)
            if origins and any(o.kind == "local" for o in origins):
                return None
            kinds.append(value.mutable and (2 if value.owned else 1))
        if arg.name:
            kinds.append(arg.name)
    edition = body.frame.module.edition  # whose conversions differ
    return fn.overloads, fn.params, fn.named, fn.self_ty, call.receiver, edition, tuple(kinds)


def choose(body: Body, call: UnresolvedCall, implicit_only: bool = False, quiet: bool = False) -> Candidate | None:
    """Return the best candidate; reports an error and aborts if there is none, or returns None if `quiet`."""
    best: list[Candidate] = []
    failures: list[tuple[FunctionInfo, Mismatch]] = []
    fns, receiver = call.callee.overloads, call.receiver
    functions = [fn for fn in fns.seen_from(body.frame.module) if fn.implicit or not implicit_only]
    names = {arg.name for arg in call.kw}
    fitting = [fn for fn in functions if fn.arity.fits(len(call.pos) - (receiver and fn.static), names)]
    if len(fitting) > 1 or implicit_only:
        fitting = may_match(body.elab, fitting, call.pos, receiver, implicit_only)

    def attempt(fn: FunctionInfo) -> Candidate | None:
        try:
            return _try(body, fn, call, implicit_only)
        except Mismatch as mismatch:
            failures.append((fn, mismatch))
        except Symbolic:
            failures.append((fn, Mismatch(Code.CANNOT_INFER_PARAMETER, "a parameter cannot be inferred")))
        return None

    for fn in fitting:
        found = attempt(fn)
        if found is None:
            continue
        if receiver and fn.static:
            found.cost += GENERIC  # through a value the methods are meant first
        if not best or found.cost < best[0].cost:
            best = [found]
        elif found.cost == best[0].cost:
            best.append(found)
    if len(best) > 1 and not quiet:
        from ktc.elaborate.calls import overload_ties  # late: only for some programs

        best = overload_ties.break_tie(body, best, fns.name, call.span)
    if best:
        return best[0]
    if quiet:
        return None
    for fn in functions:
        if fn not in fitting:  # only for its reason
            attempt(fn)
    failures.sort(key=lambda failure: functions.index(failure[0]))
    from ktc.elaborate.calls.call_errors import no_match  # late: only for errors

    no_match(body, fns.name, failures, call.pos, call.kw, call.span)
    return None


def _try(body: Body, fn: FunctionInfo, call: UnresolvedCall, strict: bool) -> Candidate:
    """Return the candidate that one overload makes of a call.

    Raises:
        Mismatch: it does not fit.
    """
    elab, self_ty, params, named = body.elab, call.callee.self_ty, call.callee.params, call.callee.named
    what = fn.title
    instead = launch_brackets_hint(fn.name, fn.node.args) if params and not fn.node.params else ""
    given = parameter_assignment.assign_parameters(elab, fn.node.params, params, named, what, instead)
    if None in params:
        given = {name: value for name, value in given.items() if value is not None}
    constructor = fn.name == "__init__" and self_ty is not None
    slots = _slots(body, fn, _arguments(call, fn), call.kw, constructor)
    names = [p for p in fn.node.params if p.name not in given]
    cost, untold = 0, False
    if names or (self_ty is not None and self_ty.symbolic) or _has_typed_self(fn):
        bound = parameter_inference.infer(body, fn, self_ty, given, slots)
        if self_ty is not None and self_ty.symbolic:
            solve_self(body, fn, self_ty, bound)
            self_ty = parameter_inference.concrete_self(body, self_ty, bound)
        pattern = unification.signature_pattern(elab, fn, self_ty) if self_ty is None or not self_ty.symbolic else None
        for name in names:
            sym = pattern.symbols.get(name.name) if pattern is not None else None
            value = bound.get(sym) if sym is not None else None
            if value is None:
                value = next((v for s, v in bound.items() if s.name == name.name and s.owner == fn.uid), None)
            if value is not None and not isinstance(value, (UnboundParameter, Opaque)):
                given[name.name] = value
            elif name.default is None:
                untold = True
        if untold and slots:
            solve_calls(body, fn, self_ty, given, slots)
        cost += GENERIC * len(names)
    if not fn.module.is_library:
        cost += GENERIC * sum(map(parameter_binding.is_existential, fn.node.args))  # each stands for a parameter
        check_forms(elab, fn, given, slots)
    scope = Scope(unification.fn_scope_parent(elab, fn, self_ty), "function")
    given = parameter_binding.complete_parameters(elab, ParameterList(fn.node.params, fn.module, what), given, scope)
    parameter_inference.check_where(elab, fn, given, scope, what)
    actual = parameter_inference.actual_types(body, fn, self_ty, slots)
    instance = instance_table.instance(elab, Specialisation(fn, self_ty, given, actual, call.callee.env), body)
    if fn.node.where:
        parameter_binding.check_where(
            elab, fn.node.where, with_arguments(fn, instance.signature.args, instance.scope), fn.module, what
        )
    cost += _conversions(body, instance, slots, strict)
    return Candidate(instance, slots, cost)


def _has_typed_self(fn: FunctionInfo) -> bool:
    return bool(fn.node.args) and fn.owner is not None and not fn.static and fn.node.args[0].type is not None


def _too_many(fn: FunctionInfo, pos: Sequence[Arg], at: int, constructor: bool) -> Mismatch:
    """Return the mismatch for arguments by position from `at` on that nothing takes."""
    what, formals = fn.title, fn.node.args
    count = sum(f.kind in ("pos", "any") and f.convention != "out" for f in formals)
    if _is_subscript(fn) and fn.owner is not None:
        return _wrong_number_of_indices(Code.TOO_MANY_ARGUMENTS, fn, fn.owner.name, pos)
    skip = 1 if fn.owner is not None and not fn.static and not constructor else 0
    named = [f.name for f in formals if f.kind == "kw"]
    text = f"{what} takes {count - skip} argument{'s' * (count - skip != 1)}{' by position' * bool(named)}, but "
    hint = f"pass '{named[0]}' by its name: '{named[0]} = …'" if named else ""
    if not named and fn.owner is None and any(p.kind in ("pos", "any") and p.default is None for p in fn.node.params):
        hint = f"compile-time arguments go in brackets: {what[:-1]}[…](…)'"
    text += f"{len(pos) - skip} {'is' if len(pos) - skip == 1 else 'are'} given"
    return Mismatch(Code.TOO_MANY_ARGUMENTS, text, pos[at].span, 1, hint=hint)


def _is_subscript(fn: FunctionInfo) -> bool:
    return fn.name in ("__getitem__", "__setitem__") and not fn.static


def _wrong_number_of_indices(code: Code, fn: FunctionInfo, owner: str, pos: Sequence[Arg]) -> Mismatch:
    """Return the mismatch for more or fewer indices than `__getitem__` or `__setitem__` takes."""
    others = 1 + (fn.name == "__setitem__")  # `self`, and the value
    taken = sum(f.kind in ("pos", "any") for f in fn.node.args) - others
    given = len(pos) - others
    verb = "is" if given == 1 else "are"
    text = f"'{owner}' takes {taken} {'index' if taken == 1 else 'indices'}, but {given} {verb} given"
    hint = "it has one dimension: in a matrix, write 'row * columns + column'" if taken == 1 else ""
    return Mismatch(code, text, pos[taken + 1].span if given > taken else None, 1, hint=hint)


def _slots(body: Body, fn: FunctionInfo, pos: Sequence[Arg], kw: Sequence[Arg], constructor: bool) -> list[Slot]:
    """Assign arguments to the declaration's; the `out self` of a constructor has no argument."""
    formals = fn.node.args
    slots: list[Slot] = [None] * len(formals)
    plain = fn.arity.plain
    if plain >= 0 and not kw and len(pos) == len(formals) - plain:  # most calls
        slots[plain:] = pos
        return slots
    at = 0
    for i, formal in enumerate(formals):
        if formal.convention == "out":
            continue
        if formal.kind in ("pos", "any"):
            if at < len(pos):
                slots[i] = pos[at]
                at += 1
        elif formal.kind == "star":
            slots[i] = list(pos[at:])
            check_length_of_pack(fn, formal, pos, at)
            at = len(pos)
    what = fn.title
    if at < len(pos):
        raise _too_many(fn, pos, at, constructor)
    for arg in kw:
        index = next(
            (i for i, f in enumerate(formals) if f.name == arg.name and f.kind in ("any", "kw", "infer")), None
        )
        if index is None and formals and formals[-1].kind == "starstar":
            others = slots[-1]
            if isinstance(others, list) and any(other.name == arg.name for other in others):
                raise Mismatch(Code.UNKNOWN_ARGUMENT, f"argument '{arg.name}' of {what} is given twice", arg.span, 1)
            slots[-1] = [*(others if isinstance(others, list) else []), arg]
            continue
        if index is None or formals[index].convention == "out":
            names = tuple(f.name for f in formals if f.kind in ("any", "kw") and f.convention != "out")
            if any(f.name == arg.name and f.kind == "pos" for f in formals):
                text = f"argument '{arg.name}' of {what} is passed by position only"
                raise Mismatch(Code.UNKNOWN_ARGUMENT, text, arg.span, 1, hint="leave its name out")
            text = f"{what} has no argument named '{arg.name}'"
            hint = argument_hint(arg.name, names)
            raise Mismatch(Code.UNKNOWN_ARGUMENT, text, arg.span, 1, (arg.name, names), hint=hint)
        if slots[index] is not None:
            raise Mismatch(Code.UNKNOWN_ARGUMENT, f"argument '{arg.name}' of {what} is given twice", arg.span, 1)
        slots[index] = arg
    for slot, formal in zip(slots, formals, strict=True):
        if slot is None and formal.default is None and formal.convention != "out" and formal.kind != "starstar":
            if _is_subscript(fn) and fn.owner is not None and not kw and len(pos) > 1 + (fn.name == "__setitem__"):
                raise _wrong_number_of_indices(Code.MISSING_ARGUMENT, fn, fn.owner.name, pos)
            hint = f"it is passed by name: '{formal.name}=…'" if formal.kind == "kw" else ""
            if formal.name == "self":
                hint = f"{what} is a method: call it on a value, 'x.{what.strip(chr(39))}(…)'"
            if what == "'open'":
                hint = 'write \'open(path, "r")\' to read, "w" to write'
            text = f"argument '{formal.name}' of {what} is missing"
            raise Mismatch(Code.MISSING_ARGUMENT, text, None, 1, hint=hint)
    return slots


def _conversions(body: Body, instance: Instance, slots: list[Slot], strict: bool) -> int:
    cost = 0
    for sig, slot in zip(instance.signature.args, slots, strict=True):
        if sig.convention == "out" or slot is None:
            continue
        if isinstance(slot, list):
            cost += VARIADIC
            if sig.variadic == "pack":
                given = sum(len(a.value.items) if isinstance(a.value, PackValue) else 1 for a in slot)
                if given != len(sig.pack):
                    plural = "s" if len(sig.pack) != 1 else ""
                    text = f"{instance.fn.title} takes {len(sig.pack)} argument{plural} here, but {given} are given"
                    raise Mismatch(Code.MISSING_ARGUMENT, text, None, 1)
                cost += sum(LITERAL for arg in slot if parameter_inference.is_literal(body, arg.value))
            if sig.variadic == "list":
                for arg in slot:
                    if isinstance(arg.value, PackValue):
                        continue
                    cost += _conversion_cost(body, arg, sig.ty, sig.name, instance, strict)
            continue
        cost += _conversion_cost(body, slot, sig.ty, sig.name, instance, strict)
        if sig.convention == "ref" and requires_constant(body, instance, sig):
            text = f"argument '{sig.name}' of {instance.fn.title} must be a constant of the program"
            raise Mismatch(Code.TYPE_MISMATCH, text, slot.span, 2)
        if sig.convention == "mut":
            check_changed(body, instance, sig, slot)
        elif sig.convention == "ref":
            check_reference_argument(body, instance, sig, slot)
    return cost


def _conversion_cost(body: Body, arg: Arg, expected: Ty, name: str, instance: Instance, strict: bool) -> int:
    value = arg.value
    if isinstance(value, FunctionValue) and isinstance(expected, FunctionTy) and expected.of is not None:
        return 0
    if isinstance(value, CollectionLiteral) and not isinstance(expected, TraitTy):
        made = body.api.collection_cost(body, value, expected)
        if made is not None:
            return made
    have = parameter_inference.type_of(body, value)
    if have is None and isinstance(value, CollectionLiteral):
        text = f"the type of the elements of this {value.name.lower()} is not known"
        raise Mismatch(Code.CANNOT_INFER_PARAMETER, text, arg.span, 2)
    if have is None:
        raise Mismatch(Code.TYPE_MISMATCH, f"argument '{name}' of {instance.fn.title} must be a value", arg.span, 2)
    if isinstance(expected, TraitTy):
        return GENERIC
    cost = conversion(body, have, expected, strict, value)
    if cost is None:
        given, expected_name = type_printer.type_name(body.elab, have), type_printer.type_name(body.elab, expected)
        text = f"argument '{name}' of {instance.fn.title} has the type '{given}', but '{expected_name}' is expected"
        is_launch = instance.fn.name.startswith("enqueue_function")
        hint = direct_call_hint(instance.fn.name, given) if is_launch or not instance.fn.module.is_library else ""
        raise Mismatch(Code.TYPE_MISMATCH, text, arg.span, 2, types=(given, expected_name), hint=hint)
    return cost or MISPLACED * origin_agreement.disagrees(body, have, expected)


def conversion(body: Body, have: Ty, expected: Ty, strict: bool = False, value: Result = None) -> int | None:
    """Return the cost of an implicit conversion; None if there is none."""
    if type_relations.fits(body.elab, have, expected):
        return 0
    if strict:
        plain = well_known.materialized(body.elab, have, False)
        return LITERAL if plain is not have and type_relations.fits(body.elab, plain, expected) else None
    if not isinstance(expected, StructTy) or not isinstance(have, (StructTy, FunctionTy)) or expected.symbolic:
        return None
    found = implicit_init(body, have, expected)
    if found is None:
        return CONVERSION if through_only_field(body, have, expected) else None
    if isinstance(have, StructTy) and have.info.materialized is not None:
        return LITERAL if well_known.materialized(body.elab, have, False) is expected else CONVERSION
    return CONVERSION


def through_only_field(body: Body, have: Ty, expected: StructTy) -> bool:
    """Return whether a value becomes the only field of a struct marked with `@fieldwise_init("implicit")`."""
    if not expected.info.fieldwise_implicit or len(expected.info.field_nodes) != 1:
        return False
    return conversion(body, have, struct_types.fields_of(body.elab, expected)[0][1], strict=True) is not None


def implicit_init(body: Body, have: Ty, expected: StructTy) -> Candidate | None:
    """Return the implicit constructor of `expected` that takes a `have`; kept for the next time."""
    memo = body.state.memo
    if isinstance(have, StructTy) and have.info is expected.info and not body.frame.module.is_library:
        if have.info is well_known.library_info(body.elab, "UnsafePointer"):
            return None  # what does not fit has another origin, or may not be changed
        if have.info is well_known.library_info(body.elab, "Span") and changed_arguments.is_lent_to_change(
            have, expected
        ):
            return None
    key = ("convert", have, expected, body.frame.comptime, body.frame.module.edition)
    if key in memo:
        found: Candidate | None = memo[key]
        return found
    memo[key] = None  # a conversion that needs itself is none
    inits = struct_members.method_set(body.elab, expected, "__init__")
    found = None
    if inits is not None:
        probe: Val = Place(have, None)  # type: ignore[arg-type]
        if isinstance(have, StructTy) and have.info.materialized:
            probe = ConstValue(have, ())
        span = body.frame.span or body.elab.main_span()
        outer = body.site.set_inferring(True)
        call = UnresolvedCall(FunctionValue(inits, (), (), expected), [Arg(probe, span)], [], span)
        found = choose(body, call, implicit_only=True, quiet=True)
        body.site.set_inferring(outer)
    memo[key] = found
    return found
