"""Assignments to items and attributes."""

from collections.abc import Callable

from ktc.base.editions import Edition
from ktc.diag.codes import Code
from ktc.elaborate.builder import ir_values, partial_moves, place_operations, variables
from ktc.elaborate.calls import call_lowering, conversions, overload_resolution
from ktc.elaborate.calls.writeback import writeback_place
from ktc.elaborate.comptime import evaluation
from ktc.elaborate.expressions import collection_literals, members, operands
from ktc.elaborate.model.declarations import AliasInfo, OverloadSet, Ty
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.instance import UnresolvedCall
from ktc.elaborate.model.types import ConstValue, FunctionValue, ParameterArgument, StructTy
from ktc.elaborate.model.values import Arg, ComputedAccess, Place, Result, RValue, Val, Var
from ktc.elaborate.resolve.hints import index_hint, origin_hint, unchangeable_hint
from ktc.elaborate.resolve.suggestions import mutability_help
from ktc.elaborate.statements import overwrites
from ktc.elaborate.types import struct_members, struct_types, type_printer, well_known
from ktc.syntax import ast


def is_computed_path(body: Body, node: ast.Expr) -> bool:
    """Return whether an expression is a path of fields that begins with an index, a call or a reference."""
    while isinstance(node, ast.Attribute):
        node = node.value
    found = variables.find(body, node.id) if isinstance(node, ast.Name) else None
    return not isinstance(node, ast.Name) or (isinstance(found, Var) and found.kind in ("ref", "loop"))


def attribute_type(body: Body, node: ast.Attribute) -> Ty | None:
    """Return the type of a field of a variable, or of a field of one."""
    owner: Ty | None = None
    if isinstance(node.value, ast.Name):
        found = variables.find(body, node.value.id)
        owner = found.ty if isinstance(found, (Var, RValue, Place, ConstValue)) else None
    elif isinstance(node.value, ast.Attribute):
        owner = attribute_type(body, node.value)
    if isinstance(owner, StructTy) and isinstance(struct_members.member(body.elab, owner, node.name), ast.VarDecl):
        return dict(struct_types.fields_of(body.elab, owner)).get(node.name)
    return None


def store_computed_path(body: Body, target: ast.Attribute, value: ast.Expr, node: ast.Node) -> None:
    """Elaborate `a[i].x = v`: what has the field is evaluated before the value."""
    base = members.place_or_value(body, target.value)
    member = None
    if isinstance(base, Place) and isinstance(base.ty, StructTy):
        member = struct_members.member(body.elab, base.ty, target.name)
    expected: Ty | None = None
    if isinstance(base, Place) and isinstance(member, ast.VarDecl):
        place = place_operations.field(body, base, target.name)
        if base.mutable and overwrites.destroy_then_store(body, place, target, value):
            return
        expected = place.ty
    store_attribute(body, target, body.api.expr(body, value, expected), node, base)


def store_attribute(body: Body, target: ast.Attribute, value: Result, node: ast.Node, base: Result = None) -> None:
    """Store a value in a field."""
    base = base or members.place_or_value(body, target.value)
    if isinstance(target.value, ast.Attribute) and not _is_independent_field(body, base, target.name):
        members.require_place(body, base, target.value)
    if body.frame.builtin_self is not None and isinstance(target.value, ast.Name):
        var = variables.find(body, target.value.id)
        if isinstance(var, Var) and var.kind == "out":
            body.frame.builtin_self[target.name] = value
            return
    if not isinstance(base, (RValue, Place, ConstValue)):
        body.fail(Code.CANNOT_MUTATE, "this cannot be assigned to", body.at(target))
    member = struct_members.member(body.elab, base.ty, target.name) if isinstance(base.ty, StructTy) else None
    if not isinstance(member, ast.VarDecl):
        if isinstance(member, AliasInfo):
            text = (
                f"'{target.name}' is an alias of '{type_printer.type_name(body.elab, base.ty)}', known at compile time"
            )
            body.fail(Code.CANNOT_MUTATE, text, body.at(target))
        if set_attribute(body, base, target.name, value, node):
            return
        members.no_member(body, base.ty, target.name, target)
    after: list[tuple[ComputedAccess, Place]] = []
    if not isinstance(base, ConstValue) and base.computed_from is not None:
        base = writeback_place(body, base, after)
    if not isinstance(base, Place) or not base.mutable:
        reason = base.read_only_reason if isinstance(base, Place) and base.read_only_reason else "read only"
        body.fail(Code.CANNOT_MUTATE, f"'{target.name}' cannot be changed: its owner is {reason}", body.at(target))
    key = ""
    if (
        body.flow.out_var is not None
        and isinstance(target.value, ast.Name)
        and variables.find(body, target.value.id) is body.flow.out_var
    ):
        key = target.name if "*" not in body.assignments.assigned else "*"
    overwrites.store_place(body, place_operations.field(body, base, target.name), value, body.at(target), key)
    write_back(body, after)


def _is_independent_field(body: Body, base: Result, name: str) -> bool:
    """Return whether a field of a field may get a value while others beside it have none."""
    if not isinstance(base, Place) or base.local is None or not isinstance(base.ty, StructTy):
        return False
    if body.flow.out_var is not None and base.local is getattr(body.flow.out_var.value, "local", None):
        return False
    if not isinstance(struct_members.member(body.elab, base.ty, name), ast.VarDecl) or not partial_moves.tracked(
        body, base.local
    ):
        return False
    return partial_moves.split_into_fields(
        body, base.local, (*base.path, max(struct_types.slot_of(body.elab, base.ty, name)[1], 0))
    )


def set_attribute(body: Body, base: Val, name: str, value: Result, node: ast.Node) -> bool:
    """Call `__setattr__`; False if there is none."""
    setter = struct_members.method_set(body.elab, base.ty, "__setattr__")
    if setter is None or not isinstance(base.ty, StructTy):
        return False
    text = well_known.literal(body.elab, "StringLiteral", "!kgen.string", name)
    span = body.at(node)
    parameters: tuple[ParameterArgument, ...] = (text,) if setter.functions[0].node.params else ()
    pos = [Arg(base, span), *([] if parameters else [Arg(text, span)]), Arg(value, span)]
    call_lowering.call_fn(body, FunctionValue(setter, parameters, (), base.ty), pos, [], span, True)
    return True


def store_item(body: Body, target: ast.Subscript, value: ast.Expr, node: ast.Node) -> None:
    """Elaborate `a[i] = v`: the index is evaluated before the value."""
    base = body.api.expr(body, target.base)
    args = index_args(body, target)
    setter = (
        struct_members.method_set(body.elab, base.ty, "__setitem__")
        if isinstance(base, (RValue, Place, ConstValue))
        else None
    )
    if setter is not None and isinstance(base, (RValue, Place, ConstValue)):
        call_setitem(body, base, setter, args, _item_value(body, base, args, value, target), target)
        return
    place = apply_index(body, base, args, target)
    if (
        isinstance(place, Place)
        and place.mutable
        and not place.owned
        and overwrites.destroy_then_store(body, place, target, value)
    ):
        return
    made = body.api.expr(body, value, place.ty if isinstance(place, Place) else None)
    if isinstance(place, Place) and place.mutable and not place.owned:
        made = conversions.convert(body, made, place.ty, body.at(value))
    assign_item(body, place, made, target, base)


def _item_value(body: Body, base: Val, args: list[Arg], value: ast.Expr, target: ast.Subscript) -> Arg:
    """Elaborate the value for `__setitem__`; in edition 2026 arms of literals have the type of `__getitem__`."""
    getter = struct_members.method_set(body.elab, base.ty, "__getitem__")
    if body.frame.module.edition is Edition.Y2025 or not isinstance(value, ast.Ternary) or getter is None:
        return collection_literals.argument_or_literal(body, value)
    assert isinstance(base.ty, StructTy)
    span = body.at(target)
    given, named = [Arg(base, span), *(arg for arg in args if not arg.name)], [arg for arg in args if arg.name]
    fn = FunctionValue(getter, (), (), base.ty)
    found = overload_resolution.choose_cached(body, UnresolvedCall(fn, given, named, span, receiver=True), quiet=True)
    expected = found.instance.signature.result_ty if found is not None else None
    return Arg(body.api.expr(body, value, expected), body.at(value))


def index_args(body: Body, target: ast.Subscript) -> list[Arg]:
    """Return the indices of an item that is assigned to; those with names stand last."""
    named = [collection_literals.keyword(body, item) for item in target.keywords]
    return [*(index_arg(body, item) for item in target.args), *named]


def index_arg(body: Body, item: ast.Expr) -> Arg:
    arg = operands.arg(body, item)
    if isinstance(arg.value, Place) and struct_types.abi(body.elab, arg.value.ty) == "direct":
        arg.value = RValue(arg.value.ty, ir_values.rvalue(body, arg.value))
    return arg


def apply_index(body: Body, base: Result, args: list[Arg], node: ast.Node) -> Val:
    """Index a value with elaborated arguments."""
    if not isinstance(base, (RValue, Place, ConstValue)) or not isinstance(base.ty, StructTy):
        body.fail(Code.TYPE_MISMATCH, "this is not a value with items", body.at(node))
    getter = struct_members.method_set(body.elab, base.ty, "__getitem__")
    if getter is None:
        name, receiver = type_printer.type_name(body.elab, base.ty), getattr(node, "base", node)
        help = index_hint(name, body.at(node).source.text[receiver.start : receiver.end])
        body.fail(Code.NO_MEMBER, f"'{name}' has no '__setitem__'", body.at(node), help)
    span = body.at(node)
    if all(len(fn.node.args) == 1 and fn.node.params for fn in getter.functions):
        fn = FunctionValue(getter, tuple(evaluation.param(body, a.value, a.span) for a in args), (), base.ty)
        return call_lowering.call_fn(body, fn, [Arg(base, span)], [], span, True)
    given, named = [Arg(base, span), *(arg for arg in args if not arg.name)], [arg for arg in args if arg.name]
    return call_lowering.call_fn(body, FunctionValue(getter, (), (), base.ty), given, named, span, True)


def assign_item(body: Body, place: Result, value: Result, node: ast.Node, base: Result) -> None:
    """Store to the place or pointer that an index gave."""
    if not isinstance(place, Place) or not place.mutable or place.owned:
        help, reason, ty = "", "", None
        if isinstance(base, (RValue, Place, ConstValue)):
            ty, reason = base.ty, "" if isinstance(base, ConstValue) else base.read_only_reason
            help = "" if struct_types.is_trivial(body.elab, ty) else mutability_help(reason)
        text = f"this item cannot be assigned to{f': it is part of {reason}' if help else ''}"
        if not help and isinstance(place, RValue) and ty is not None:
            text += f": '{type_printer.type_name(body.elab, ty)}' has no '__setitem__'"
        if ty is not None and (origin := origin_hint(type_printer.type_name(body.elab, ty))):
            text, help = (
                f"this item cannot be assigned to: '{type_printer.type_name(body.elab, ty)}' is read only",
                origin,
            )
        elif not help and isinstance(ty, StructTy) and not ty.info.module.is_library:
            help = "write a '__setitem__', or let '__getitem__' return a 'ref'"
        name = type_printer.type_name(body.elab, ty) if ty is not None else ""
        body.fail(Code.CANNOT_MUTATE, text, body.at(node), help or unchangeable_hint(name))
    overwrites.store_place(body, place, value, body.at(node), "")


def prepared_item(body: Body, target: ast.Subscript) -> Callable[[Result], None]:
    """Evaluate what an assignment indexes, and with what; return what stores a value there. Where an item is a
    reference, it is taken now; a setter sees variables among the indices as they are when it is called.
    """
    base = body.api.expr(body, target.base)
    if isinstance(base, (RValue, Place, ConstValue)) and struct_members.method_set(body.elab, base.ty, "__setitem__"):
        args = [operands.arg(body, item) for item in target.args]
        args += [collection_literals.keyword(body, item) for item in target.keywords]
        return lambda value: store_at_index(body, base, args, value, target)
    place = apply_index(body, base, index_args(body, target), target)
    return lambda value: assign_item(body, place, value, target, base)


def prepared_attribute(body: Body, target: ast.Attribute, node: ast.Node) -> Callable[[Result], None]:
    """Evaluate what has the field that an assignment changes; return what stores a value there."""
    base = members.place_or_value(body, target.value)
    return lambda value: store_attribute(body, target, value, node, base)


def store_in_item(body: Body, target: ast.Subscript, value: Result) -> None:
    """Store an elaborated value in an item."""
    base, args = body.api.expr(body, target.base), index_args(body, target)
    store_at_index(body, base, args, value, target)


def store_at_index(body: Body, base: Result, args: list[Arg], value: Result, target: ast.Subscript) -> None:
    """Store an elaborated value in an item of an elaborated base."""
    setter = (
        struct_members.method_set(body.elab, base.ty, "__setitem__")
        if isinstance(base, (RValue, Place, ConstValue))
        else None
    )
    if setter is not None and isinstance(base, (RValue, Place, ConstValue)):
        call_setitem(body, base, setter, args, Arg(value, body.at(target)), target)
    else:
        assign_item(body, apply_index(body, base, args, target), value, target, base)


def call_setitem(body: Body, base: Val, setter: OverloadSet, args: list[Arg], value: Arg, node: ast.Node) -> None:
    """Call `__setitem__`."""
    span, ty = body.at(node), base.ty
    assert isinstance(ty, StructTy)
    static = all(len(fn.node.args) == 2 and fn.node.params for fn in setter.functions)
    if static and len(args) == 1 and isinstance(args[0].value, ConstValue):
        fn = FunctionValue(setter, (args[0].value,), (), ty)
        call_lowering.call_fn(body, fn, [Arg(base, span), value], [], span, True)
        return
    name = _value_keyword(setter, len(args))
    given, named = ([Arg(base, span), *args], [Arg(value.value, value.span, name)]) if name else ([], [])
    given = given or [Arg(base, span), *(arg for arg in args if not arg.name), value]
    named += [arg for arg in args if arg.name]
    call_lowering.call_fn(body, FunctionValue(setter, (), (), ty), given, named, span, True)


def _value_keyword(setter: OverloadSet, count: int) -> str:
    """Return the name of the value where `__setitem__` takes any number of indices before it."""
    by_name, others = "", set[str]()
    for fn in setter.functions:
        formals = fn.node.args
        kinds = [formal.kind for formal in formals]
        if "star" in kinds:
            by_name = formals[-1].name if kinds[-1] != "star" else ""
        elif len(formals) == count + 2:
            others.add(formals[-1].name)
    return by_name if others <= {by_name} else ""


def set_fetched_item(body: Body, base: Val, setter: OverloadSet, args: list[Arg], value: Arg, node: ast.Node) -> None:
    """Call `__setitem__` for an item that there was before: no reference into the collection ends."""
    outer = body.facts.set_references_aside()
    try:
        call_setitem(body, base, setter, args, value, node)
    finally:
        body.facts.restore_references(outer)


def write_back(body: Body, after: list[tuple[ComputedAccess, Place]]) -> None:
    """Give the changed values to the setters, the last first."""
    for item, place in reversed(after):
        if item.name:
            set_attribute(body, item.base, item.name, place, item.node)
            continue
        setter = struct_members.method_set(body.elab, item.base.ty, "__setitem__")
        assert setter is not None
        set_fetched_item(body, item.base, setter, item.args, Arg(place, body.at(item.node)), item.node)
