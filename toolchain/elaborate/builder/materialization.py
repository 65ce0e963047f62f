"""Values as places in memory; constants that point to the heap are rebuilt at run time."""

from collections.abc import Iterator

from ktc.diag.codes import Code
from ktc.elaborate.builder import ir_values, locals, partial_moves
from ktc.elaborate.model.declarations import Ty
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.types import ConstValue
from ktc.elaborate.model.values import Place, Result, RValue
from ktc.elaborate.types import mangling, struct_members, struct_types, type_printer
from ktc.ir import nodes, types, walk
from ktc.ir.interpreter.freeze import PREFIX
from ktc.ir.nodes import Value
from ktc.ir.ops import build

FEW_BLOCKS = 8


Pointers = list[tuple[int, nodes.Address]]
"""Where pointers lie in a block, and the blocks that they point to."""


def check_materialized(body: Body, made: ConstValue) -> None:
    """Report a constant that is used at run time and whose type is not copied implicitly."""
    elab = body.elab
    if body.frame.comptime or body.frame.module.is_library or struct_types.is_trivial(elab, made.ty):
        return
    if not struct_members.has_trait(elab, made.ty, "ImplicitlyCopyable"):
        kind = type_printer.type_name(elab, made.ty)
        text = f"a compile-time value of type '{kind}' is not converted to a run-time value implicitly"
        body.fail(Code.NOT_COPYABLE, text, body.frame.span, "make one with 'materialize[…]()'")


def points_to_heap(data: object) -> bool:
    """Return whether a constant points to the heap of the compile-time evaluation."""
    return isinstance(data, tuple | nodes.Address) and any(map(_is_heap, walk.addresses_of(data)))


def cloned_constant(body: Body, made: ConstValue) -> Place:
    """Return a constant as a value of its own."""
    kind: types.Type = struct_types.ir_type(body.elab, made.ty)
    target: Place = locals.temporary(body, made.ty)
    if types.size_of(kind):
        body.emit(nodes.Store(target.pointer, ir_values.constant(body, made), span=body.frame.span))
        clone_blocks(body, kind, made.data, target.pointer)
    partial_moves.mark(body, "init", target)
    return target


def cloned_block(body: Body, ty: Ty, name: str) -> Place:
    """Return the bytes of a constant of the compile-time run as a value of its own."""
    held = body.elab.instances.globals[name]
    target: Place = locals.temporary(body, ty)
    kind = struct_types.ir_type(body.elab, ty)
    body.refer(name)
    count = nodes.Const(types.I64, types.size_of(kind))
    body.emit(
        nodes.MemCopy(target.pointer, nodes.GlobalAddress(name), count, types.align_of(kind), span=body.frame.span)
    )
    if isinstance(held.content, nodes.Const):
        clone_blocks(body, held.type, held.content.value, target.pointer)
    partial_moves.mark(body, "init", target)
    return target


def clone_blocks(body: Body, kind: types.Type, data: nodes.Plain, pointer: Value) -> None:
    """Clone the heap blocks that a constant in memory points to.

    Args:
        kind: the constant's type.
        data: the constant.
        pointer: where its bytes lie.
    """
    places = list(_addresses(kind, data, 0))
    if not places:
        return
    blocks: dict[str, Pointers] = {}
    pending = [address.name for _, address in places]
    while pending:
        name = pending.pop()
        if name not in blocks and (held := body.elab.instances.globals.get(name)) is not None:
            content = held.content
            inner = list(_addresses(held.type, content.value, 0)) if isinstance(content, nodes.Const) else []
            blocks[name] = inner
            pending += [address.name for _, address in inner]
    if len(blocks) <= FEW_BLOCKS:
        _clone_each(body, places, blocks, pointer)
    elif blocks:
        _clone_all(body, places, blocks, pointer)


def _is_heap(name: str) -> bool:
    return name.startswith(PREFIX)


def _addresses(kind: types.Type, data: nodes.Plain, at: int) -> Iterator[tuple[int, nodes.Address]]:
    """Yield the heap pointers in a constant, with their offsets."""
    if isinstance(data, nodes.Address):
        if _is_heap(data.name):
            yield at, data
        return
    if not isinstance(data, tuple) or not points_to_heap(data):
        return
    if isinstance(kind, types.StructType):
        for inner, offset, item in zip(kind.fields, kind.offsets, data, strict=True):
            yield from _addresses(inner, item, at + offset)
    elif isinstance(kind, types.ArrayType | types.VectorType):
        size = types.size_of(kind.element)
        for i, item in enumerate(data):
            yield from _addresses(kind.element, item, at + i * size)


def _size(body: Body, name: str) -> int:
    return types.size_of(body.elab.instances.globals[name].type)


def _clone_each(body: Body, places: Pointers, blocks: dict[str, Pointers], target: Value) -> None:
    symbol = locals.library_symbol(body, "__ktc_copy_block__")
    made: dict[str, Value] = {}
    for name in blocks:
        body.refer(name)
        size = nodes.Const(types.I64, _size(body, name))
        made[name] = body.let(nodes.Call(symbol, (nodes.GlobalAddress(name), size), types.PTR), types.PTR)
    for holder, held in ((target, places), *((made[name], inner) for name, inner in blocks.items())):
        for at, address in held:
            if address.name in made:
                there = _moved(made[address.name], address.offset)
                body.emit(nodes.Store(_moved(holder, at), there, span=body.frame.span))


def _moved(pointer: Value, distance: int) -> Value:
    return build("offset", (pointer, nodes.Const(types.I64, distance)), None, types.I8)


def _clone_all(body: Body, places: Pointers, blocks: dict[str, Pointers], target: Value) -> None:
    """The table of blocks has their addresses and sizes; that of pointers has where each lies (a block, or -1 for the
    value itself, and the distance), and where it points to."""
    number = {name: i for i, name in enumerate(blocks)}
    sources = tuple((nodes.Address(name), _size(body, name)) for name in blocks)
    moves = []
    for holder, held in ((-1, places), *((number[name], inner) for name, inner in blocks.items())):
        for at, address in held:
            if address.name in number:
                moves += [holder & (1 << 64) - 1, at, number[address.name], address.offset]
    pair = types.StructType((types.PTR, types.I64))
    texts = repr(([(address.name, size) for address, size in sources], moves))
    source_table = ir_values.constant_global(body, f"blocks {texts}", types.ArrayType(pair, len(sources)), sources)
    move_table = ir_values.constant_global(body, f"moves {texts}", types.ArrayType(types.I64, len(moves)), tuple(moves))
    count, steps = nodes.Const(types.I64, len(sources)), nodes.Const(types.I64, len(moves) // 4)
    symbol = locals.library_symbol(body, "__ktc_copy_blocks__")
    body.let(nodes.Call(symbol, (target, source_table, count, move_table, steps), types.VOID), types.VOID)


def as_place(body: Body, val: Result) -> Place:
    """Return a value as a place in memory."""
    if isinstance(val, Place):
        return val
    if not isinstance(val, (RValue, ConstValue)):
        ir_values.fail_no_value(body, val)
    kind = struct_types.ir_type(body.elab, val.ty)
    if isinstance(val, ConstValue) and struct_types.abi(body.elab, val.ty) == "memory":
        return _constant_place(body, val, kind)
    ir = ir_values.rvalue(body, val)
    local = locals.new_local(body, kind, "", val.ty, loans=locals.loans_of(body, val))
    if isinstance(val, RValue) and val.access_paths:
        body.facts.access_paths[local] = val.access_paths
    if types.size_of(kind):
        body.emit(nodes.Store(nodes.LocalAddress(local), ir, span=body.frame.span))
    return Place(val.ty, nodes.LocalAddress(local), False, local, owned=True, read_only_reason="a temporary")


def unchanged_place(body: Body, val: Result) -> Place:
    """Return a value as an immutable place; the place of a constant stays known as a constant."""
    place = as_place(body, val)
    if place.local is not None and not isinstance(val, Place):
        ir = ir_values.rvalue(body, val)
        if isinstance(ir, nodes.Const):
            body.note_unchanged(place.local, ir)
    return place


def _constant_place(body: Body, val: ConstValue, kind: types.Type) -> Place:
    check_materialized(body, val)
    if not (body.frame.comptime or body.frame.module.is_library) and points_to_heap(val.data):
        return cloned_constant(body, val)  # a copy of it may change what it points to
    return Place(
        val.ty,
        ir_values.constant_global(body, mangling.key_text(body.elab, val), kind, val.data),
        False,
        read_only_reason="a constant",
    )
