"""Operations on places: copy, move, take and destroy values in memory."""

from typing import NoReturn

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.builder import ir_values, locals, materialization, partial_moves
from ktc.elaborate.builder.materialization import check_materialized, cloned_constant
from ktc.elaborate.generics import conformance
from ktc.elaborate.model.declarations import Ty
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.spelling import nearest
from ktc.elaborate.model.types import ConstValue, OriginValue, StructTy
from ktc.elaborate.model.values import Place, Result, RValue, Val
from ktc.elaborate.tree.argument_uses import replaced
from ktc.elaborate.types import struct_members, struct_types, type_printer
from ktc.elaborate.types.struct_types import zero_of
from ktc.ir import nodes, ops, types
from ktc.ir.nodes import Value
from ktc.syntax import ast


def field(body: Body, base: Place, name: str) -> Place:
    """Return the place of a field."""
    assert isinstance(base.ty, StructTy)
    number, slot = struct_types.slot_of(body.elab, base.ty, name)
    ty = struct_types.fields_of(body.elab, base.ty)[number][1]
    pointer = base.pointer
    kept = base.local is not None and bool(base.local.drop or base.local.field_drops)
    kept = kept and not (base.path and body.frame.module.is_library)
    if slot == 0 and (kept or (base.local is None and not body.frame.module.is_library)):
        # the same address, but of this field alone: which fields a statement uses decides when they die, and
        # which of them the arguments of a call are
        pointer = nodes.Op("field", (pointer,), pointer.type, (struct_types.ir_type(body.elab, base.ty), 0))
    elif slot >= 0:
        pointer = ops.build("field", (pointer,), None, (struct_types.ir_type(body.elab, base.ty), slot))
    path = (*base.path, max(slot, 0))
    if base.local is not None:
        base.local.is_shared = True
    made = Place(ty, pointer, base.mutable, base.local, path, False, base.read_only_reason, base.loans)
    made.at, made.by_reference = base.at, base.by_reference
    if base.access_paths:
        made.access_paths = tuple((root, None if way is None else (*way, path[-1])) for root, way in base.access_paths)
    return made


def field_value(body: Body, val: RValue | ConstValue, name: str) -> Val:
    """Return a field of a value that is not in memory."""
    assert isinstance(val.ty, StructTy)
    number, slot = struct_types.slot_of(body.elab, val.ty, name)
    ty = struct_types.fields_of(body.elab, val.ty)[number][1]
    if isinstance(val, ConstValue):
        if slot == -2 or isinstance(val.data, OriginValue):  # which takes no memory
            return ConstValue(ty, val.data)
        return ConstValue(ty, val.data[slot] if slot >= 0 else zero_of(struct_types.ir_type(body.elab, ty)))
    if slot == -2:
        return RValue(ty, val.ir, val.read_only_reason, loans=val.loans)
    if slot == -1:
        kind = struct_types.ir_type(body.elab, ty)
        return RValue(ty, nodes.Const(kind, zero_of(kind)))
    return RValue(ty, ops.build("get", (val.ir,), None, slot), val.read_only_reason, loans=val.loans)


def store_bits(body: Body, pointer: Value, val: Val) -> None:
    """Write a value's bytes to memory."""
    kind = struct_types.ir_type(body.elab, val.ty)
    size = types.size_of(kind)
    if size == 0:
        return
    if struct_types.abi(body.elab, val.ty) == "direct":
        body.emit(nodes.Store(pointer, ir_values.rvalue(body, val), span=body.frame.span))
    else:
        origin = materialization.as_place(body, val).pointer
        count = nodes.Const(types.I64, size)
        body.emit(nodes.MemCopy(pointer, origin, count, types.align_of(kind), span=body.frame.span))


def init_place(body: Body, ty: Ty, pointer: Value, val: Val, span: Span | None, passed: bool = False) -> None:
    """Construct `val` in memory that holds no value: moved if it may be, else copied. `passed`: the memory is there
    only to pass the value on, so that moving it is nothing that a program can see."""
    if struct_types.is_trivial(body.elab, ty):
        check_copy(body, val, span)
        is_struct = isinstance(ty, StructTy) and not ty.info.register_passable
        if is_struct and isinstance(val, Place) and val.owned and val.local in body.late_locals and not passed:
            check_movable(body, ty, span)
        store_bits(body, pointer, val)
        if isinstance(val, Place) and val.owned and val.local in body.late_locals:
            partial_moves.mark(body, "consume", val, span)
        return
    if isinstance(val, ConstValue) and isinstance(ty, StructTy):
        check_materialized(body, val)
        val, passed = cloned_constant(body, val), True
    if isinstance(val, Place) and val.owned:
        named = val.local is not None and val.local.name and val.local not in body.flow.try_results and not passed
        if named:
            check_movable(body, ty, span)
        move_bits(body, ty, pointer, val)
        return
    place = materialization.as_place(body, val)
    local = place.local
    if local is None or not local.name or not _may_move(body, ty) or not _copy_may_be_last(body, local, place):
        copy_to(body, ty, pointer, place, span)
        return
    # the copy of a value after its last use becomes a move
    body.open()
    owned = Place(ty, place.pointer, True, local, place.path, True)
    move_bits(body, ty, pointer, owned, passed and not place.path)  # what is taken out of a field is moved
    instead = renamed = body.close()
    if not place.path and not passed and not local.is_caller_owned and not struct_types.moves_plainly(body.elab, ty):
        body.open()
        move_bits(body, ty, pointer, owned, True)
        renamed = body.close()
    body.open()
    copy_to(body, ty, pointer, place, span)
    copy = body.close()
    body.emit(nodes.Mark("copy", local, place.path, span, instead, renamed))
    body.emit(nodes.Block(body.fresh(), copy))


def _copy_may_be_last(body: Body, local: nodes.Local, place: Place) -> bool:
    """May it be of interest whether a place is used after it was copied: of a field only if the function gives it
    another value, else it ends with the whole."""
    if place.by_reference:  # its copies are always copies
        return False
    if not place.path:
        return bool(local.drop) or not body.frame.module.is_library
    ty = body.facts.local_types.get(local)
    if (
        place.access_paths
        or body.frame.module.is_library
        or body.frame.instance is None
        or not isinstance(ty, StructTy)
    ):
        return False
    given = replaced(body.frame.instance.fn)
    first = [
        name
        for name, _ in struct_types.fields_of(body.elab, ty)
        if max(struct_types.slot_of(body.elab, ty, name)[1], 0) == place.path[0]
    ]
    return any(f"{local.name}.{name}" in given for name in first) and partial_moves.split_into_fields(
        body, local, place.path
    )


def mark_copied(body: Body, place: Place, value: Val) -> None:
    """Note that what follows copies a value to a local, or to a field of one: if it is never read, nothing is
    copied. The next `init` mark of the place is the end."""
    is_copy = (
        isinstance(value, Place) and not value.owned and not body.frame.module.is_library and not body.frame.comptime
    )
    if is_copy and place.local is not None and place.local.name and not struct_types.is_trivial(body.elab, value.ty):
        partial_moves.mark(body, "copied", place)


def check_movable(body: Body, ty: Ty, span: Span | None) -> None:
    """Report a value of a type that is not movable where a move is needed."""
    if not body.frame.module.is_library and not _may_move(body, ty):
        text = f"a value of type '{type_printer.type_name(body.elab, ty)}' can be neither copied nor moved"
        body.fail(Code.NOT_COPYABLE, text, span, "let the struct conform to 'Movable'")


def init_moved(body: Body, ty: Ty, pointer: Value, val: Val, span: Span | None) -> None:
    """Construct as `init_place`; a temporary has its own place first, and `__moveinit__` is called."""
    if isinstance(val, Place) and val.owned and not struct_types.moves_plainly(body.elab, ty):
        _move_parts(body, ty, pointer, val)
        partial_moves.mark(body, "consume", val, body.frame.span)
    else:
        init_place(body, ty, pointer, val, span)


def _may_move(body: Body, ty: Ty) -> bool:
    return (
        struct_members.has_trait(body.elab, ty, "Movable")
        or struct_members.method_set(body.elab, ty, "__moveinit__") is not None
    )


def move_bits(body: Body, ty: Ty, pointer: Value, val: Place, passed: bool = False) -> None:
    """Move an owned value bitwise; its old place is then uninitialized."""
    # a temporary is made in its final place, as far as a program can see
    temporary = val.local is not None and not val.local.name and not val.path
    made_here = val.local in body.flow.try_results and not _may_move(body, ty)
    if passed or temporary or made_here or struct_types.moves_plainly(body.elab, ty):
        kind = struct_types.ir_type(body.elab, ty)
        size = nodes.Const(types.I64, types.size_of(kind))
        body.emit(nodes.MemCopy(pointer, val.pointer, size, types.align_of(kind), span=body.frame.span))
    else:
        _move_parts(body, ty, pointer, val)
    partial_moves.mark(body, "consume", val, body.frame.span)


def _move_parts(body: Body, ty: Ty, pointer: Value, val: Place) -> None:
    init = struct_members.method_set(body.elab, ty, "__moveinit__")
    if init is not None:
        body.api.call_init(body, ty, init, pointer, val)
    elif struct_types.moves_plainly(body.elab, ty):
        store_bits(body, pointer, Place(ty, val.pointer))
    else:
        assert isinstance(ty, StructTy)
        source, target = Place(ty, val.pointer), Place(ty, pointer)
        for name, kind in struct_types.fields_of(body.elab, ty):
            _move_parts(body, kind, field(body, target, name).pointer, field(body, source, name))


def copy_to(body: Body, ty: Ty, pointer: Value, val: Place, span: Span | None, explicit: bool = False) -> None:
    """Copy a value to uninitialized memory."""
    if not explicit and not struct_members.is_copied_implicitly(body.elab, ty):
        _not_copyable(body, ty, span)
    init = struct_members.method_set(body.elab, ty, "__copyinit__")
    if init is not None:
        body.api.call_init(body, ty, init, pointer, Place(ty, val.pointer, False, val.local, val.path))
    elif struct_types.is_trivial(body.elab, ty):
        store_bits(body, pointer, val)
    elif not isinstance(ty, StructTy):
        closure = body.let(nodes.Load(val.pointer, types.PTR), types.PTR)
        body.let(nodes.Call(locals.library_symbol(body, "__ktc_share_closure__"), (closure,), types.VOID), types.VOID)
        body.emit(nodes.Store(pointer, closure, span=span))
    else:
        target = Place(ty, pointer)
        for name, kind in struct_types.fields_of(body.elab, ty):
            copy_to(body, kind, field(body, target, name).pointer, field(body, val, name), span, True)


def require_bound(body: Body, value: Result, name: str, node: ast.Node) -> None:
    """Report a member of an archetype's value that the bound of the type parameter does not guarantee."""
    ty = getattr(value, "ty", None)
    if isinstance(ty, StructTy) and ty.info.bound is not None and name not in ty.info.members:
        start = getattr(node, "name_start", node.start)
        span = Span(body.frame.module.source, start, max(node.end, start + 1))
        conformance.missing_trait_bound(body.elab, ty, name, span, body.frame.instance)


def _is_copy(name: str) -> bool:
    return "copy" in name and name != "copy"


def _not_copyable(body: Body, ty: Ty, span: Span | None) -> NoReturn:
    name = type_printer.type_name(body.elab, ty)
    help_text = "move it with '^'"
    if struct_members.has_trait(body.elab, ty, "Copyable"):
        help_text += ", or copy it with '.copy()'"
    elif isinstance(ty, StructTy) and ty.info.bound is not None:
        help_text += f", or declare '{name}: ImplicitlyCopyable & Movable'"
    elif isinstance(ty, StructTy) and (near := nearest("__copyinit__", filter(_is_copy, ty.info.members))):
        help_text = f"rename '{near}' to '__copyinit__', and let '{ty.info.name}' conform to 'ImplicitlyCopyable'"
    elif isinstance(ty, StructTy) and not ty.info.module.is_library:
        help_text += f", or let '{ty.info.name}' conform to 'ImplicitlyCopyable'"
    body.fail(Code.NOT_COPYABLE, f"a value of type '{name}' cannot be copied implicitly", span, help_text)


def check_copy(body: Body, val: Val, span: Span | None) -> None:
    """Report a value of a type that is not implicitly copyable where a copy is needed."""
    is_kept = isinstance(val, Place) and not val.owned
    is_kept = is_kept or (isinstance(val, RValue) and val.read_only and not body.frame.module.is_library)
    if is_kept and not struct_members.is_copied_implicitly(body.elab, val.ty):
        _not_copyable(body, val.ty, span)


def take_place(body: Body, ty: Ty, pointer: Value, span: Span | None) -> Val:
    """Move a value out of memory."""
    if struct_types.abi(body.elab, ty) != "memory":
        return load_place(body, Place(ty, pointer))
    made = locals.temporary(body, ty)
    if struct_types.is_trivial(body.elab, ty):
        store_bits(body, made.pointer, Place(ty, pointer))
    else:
        move_bits(body, ty, made.pointer, Place(ty, pointer, owned=True))
    partial_moves.mark(body, "init", made)
    return made


def load_place(body: Body, place: Place) -> Val:
    """Return a directly passed value as a value, others as they are."""
    if struct_types.abi(body.elab, place.ty) == "memory":
        return place
    return RValue(place.ty, ir_values.rvalue(body, place), loans=locals.loans_of(body, place))


def destroy_place(body: Body, ty: Ty, pointer: Value, span: Span | None) -> None:
    """Run the destructor of a value in memory."""
    symbol = locals.drop_symbol(body, ty)
    if symbol:
        body.let(nodes.Call(symbol, (pointer,), types.VOID), types.VOID)
