"""The primitives that touch memory, the places of values, and calls to functions in other languages."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from ktc.diag.codes import Code
from ktc.elaborate.builder import global_variables, ir_values, locals, materialization, partial_moves, place_operations
from ktc.elaborate.closures import function_pointers
from ktc.elaborate.model.declarations import Ty
from ktc.elaborate.model.values import Place, Result, RValue
from ktc.elaborate.primitives.arithmetic import kind_of
from ktc.elaborate.primitives.use import Use
from ktc.elaborate.types import primitive_types, struct_members, struct_types, type_printer
from ktc.ir import nodes, types

Handler = Callable[[Use], Result]


_ORDERINGS = ("relaxed", "acquire", "release", "acq_rel", "seq_cst")


_SCOPES = ("", "system", "gpu", "cluster", "block", "warp")


_ATOMICS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "add": {"s": "add", "u": "add", "f": "fadd"},
        "sub": {"s": "sub", "u": "sub", "f": "fadd"},
        "and": {"s": "and", "u": "and"},
        "or": {"s": "or", "u": "or"},
        "xor": {"s": "xor", "u": "xor"},
        "xchg": {"s": "xchg", "u": "xchg", "f": "xchg"},
        "min": {"s": "smin", "u": "umin", "f": "fmin"},
        "max": {"s": "smax", "u": "umax", "f": "fmax"},
    }
)


def _is_whole(ir: types.Type) -> bool:
    """Return whether a type is loaded and stored by one instruction."""
    return not isinstance(ir, types.StructType | types.ArrayType | types.VoidType)


def _trivial(use: Use, ty: Ty) -> types.Type:
    if not struct_types.is_trivial(use.elab, ty) and not struct_members.says_trivial(use.elab, ty):
        use.mismatch(f"'{type_printer.type_name(use.elab, ty)}' is not copied bit by bit")
    return struct_types.ir_type(use.elab, ty)


def _length(size: int) -> nodes.Const:
    return nodes.Const(types.I64, size)


def load(use: Use) -> Result:
    ty = use.type_of()
    ir = _trivial(use, ty)
    pointer = use.pointer(0)
    align, volatile = use.number("alignment", 0), use.flag("volatile", False)
    if ir == types.UNIT:
        return RValue(ty, nodes.Const(types.UNIT, ()))
    if _is_whole(ir):
        invariant = use.flag("invariant", False)
        return RValue(ty, use.body.let(nodes.Load(pointer, ir, align, volatile, invariant), ir))
    if 0 < align < types.align_of(ir):
        slot = locals.stack_slot(use.body, ir, 0)
        use.body.emit(nodes.MemCopy(slot, pointer, _length(types.size_of(ir)), align, span=use.span))
        pointer = slot
    return place_operations.take_place(use.body, ty, pointer, use.span)


def store(use: Use) -> Result:
    value, pointer = use.val(0), use.pointer(1)
    ir = _trivial(use, value.ty)
    align, volatile = use.number("alignment", 0), use.flag("volatile", False)
    if ir == types.UNIT:
        return use.nothing()
    if _is_whole(ir):
        use.body.emit(nodes.Store(pointer, ir_values.rvalue(use.body, value), align, volatile, use.span))
    elif 0 < align < types.align_of(ir):
        origin = materialization.as_place(use.body, value).pointer
        use.body.emit(nodes.MemCopy(pointer, origin, _length(types.size_of(ir)), align, span=use.span))
    else:
        place_operations.init_place(use.body, value.ty, pointer, value, use.span)
    return use.nothing()


def _offset(use: Use) -> Result:
    element = struct_types.ir_type(use.elab, use.type_of("elem"))
    prim, pointer = use.operand(0)
    use.pointer(0)
    return RValue(prim, use.op("offset", (pointer, use.word(1)), None, element))


def _pointer_to_int(use: Use) -> Result:
    return RValue(primitive_types.prim(use.elab, "index", ()), use.op("ptrtoint", (use.pointer(0),), types.I64))


def _int_to_pointer(use: Use) -> Result:
    ty, prim = use.prim_of()
    return RValue(ty, use.op("inttoptr", (use.word(0),), prim.ir))


def _space_cast(use: Use) -> Result:
    ty, prim = use.prim_of()
    pointer = use.pointer(0)
    return RValue(ty, pointer if pointer.type == prim.ir else use.op("spacecast", (pointer,), prim.ir))


def _memory_copy(use: Use) -> Result:
    target, origin, size = use.pointer(0), use.pointer(1), use.word(2)
    use.body.emit(nodes.MemCopy(target, origin, size, 1, use.name == "pop.memmove", use.span))
    return use.nothing()


def _memory_set(use: Use) -> Result:
    target, (prim, byte), size = use.pointer(0), use.operand(1), use.word(2)
    if prim.ir != types.I8:
        use.mismatch(f"sets bytes, not values of type '{prim}'")
    use.body.emit(nodes.MemSet(target, byte, size, 1, use.span))
    return use.nothing()


def _array(use: Use) -> types.ArrayType:
    count = use.number("count", 1)
    if count < 0:
        use.fail(Code.UNSATISFIED_CONSTRAINT, f"cannot reserve memory for {count} values")
    return types.ArrayType(struct_types.ir_type(use.elab, use.type_of("type")), count)


def _stack_alloc(use: Use) -> Result:
    use.body.facts.note_address_taken()
    return use.address(locals.stack_slot(use.body, _array(use), use.number("alignment", 0)))


def _global_alloc(use: Use) -> Result:
    space, align = use.number("space", 3), use.number("alignment", 0)
    name = use.text("name") if "name" in use.attrs else ""
    if not name:
        use.body.facts.note_address_taken()
    return use.address(global_variables.shared_global(use.body, _array(use), space, align, use.span, name))


def _global(use: Use) -> Result:
    kind = struct_types.ir_type(use.elab, use.type_of("type"))
    return use.address(global_variables.program_global(use.body, use.text("name"), kind, use.number("alignment", 0)))


def _from_pointer(use: Use) -> Result:
    return Place(use.type_of(), use.pointer(0), mutable=use.flag("mut", True))


def _to_pointer(use: Use) -> Result:
    return use.address(materialization.as_place(use.body, use.val(0)).pointer)


def _init(use: Use) -> Result:
    pointer, value = use.pointer(0), use.val(1)
    place_operations.init_place(use.body, value.ty, pointer, value, use.span)
    return use.nothing()


def _take(use: Use) -> Result:
    return place_operations.take_place(use.body, use.type_of(), use.pointer(0), use.span)


def _destroy(use: Use) -> Result:
    place_operations.destroy_place(use.body, use.type_of(), use.pointer(0), use.span)
    return use.nothing()


def _mark(kind: str, use: Use) -> Result:
    place = use.args[0]
    if not isinstance(place, Place) or place.local is None:
        use.fail(Code.TYPE_MISMATCH, f"'{use.name}' is about a variable: '__get_mvalue_as_litref(x)'")
    partial_moves.mark(use.body, kind, place, use.span)
    return use.nothing()


def _order(use: Use) -> tuple[str, str]:
    scope = use.one_of("scope", _SCOPES, "")
    return use.one_of("ordering", _ORDERINGS, "seq_cst"), "" if scope == "system" else scope


def _atomic_rmw(use: Use) -> Result:
    how = use.one_of("op", tuple(_ATOMICS))
    ordering, scope = _order(use)
    pointer, (prim, value) = use.pointer(0), use.operand(1)
    if isinstance(prim.ir, types.PointerType) and how == "xchg":
        name = "xchg"
    else:
        name = kind_of(use, prim, _ATOMICS[how])
        if prim.lanes > 1 or prim.kind == "b":
            use.mismatch(f"does not take operands of type '{prim}'")
    if how == "sub" and prim.kind == "f":
        value = use.op("fneg", (value,))
    kind = value.type
    return RValue(prim, use.body.let(nodes.AtomicRmw(name, pointer, value, kind, ordering, scope), kind))


def _atomic_cmpxchg(use: Use) -> Result:
    ordering, scope = _order(use)
    pointer = use.pointer(0)
    (prim, expected), (other, desired) = use.operand(1), use.operand(2)
    if prim.ir != other.ir or prim.lanes > 1 or prim.kind == "b":
        use.mismatch(f"does not take operands of types '{prim}' and '{other}'")
    bits = prim.ir
    if isinstance(prim.ir, types.FloatType):
        # the hardware compares bits
        bits = types.IntType(prim.ir.bits)
        expected, desired = use.op("bitcast", (expected,), bits), use.op("bitcast", (desired,), bits)
    assert bits is not None
    pair = types.StructType((bits, types.BOOL))
    action = nodes.CompareExchange(pointer, expected, desired, pair, ordering, scope)
    old = use.op("get", (use.body.let(action, pair),), None, 0)
    return RValue(prim, old if bits == prim.ir else use.op("bitcast", (old,), prim.ir))


def _fence(use: Use) -> Result:
    use.body.let(nodes.Fence(types.VOID, *_order(use)), types.VOID)
    return use.nothing()


def _result(use: Use) -> tuple[Ty | None, types.Type]:
    """Return the type of a call's result, in the language and in the IR: None if not given, void for no result."""
    if "_type" not in use.attrs:
        return None, types.VOID
    ty = use.type_of()
    ir = struct_types.ir_type(use.elab, ty)
    return ty, types.VOID if ir == types.UNIT else ir


def _call(use: Use, action: nodes.Action, ty: Ty | None) -> Result:
    value = use.body.let(action, action.type)
    if isinstance(action.type, types.VoidType):
        value = nodes.Const(types.UNIT, ())
    return use.nothing() if ty is None else RValue(ty, value)


def _c_result(use: Use) -> tuple[Ty | None, types.Type]:
    ty, ir = _result(use)
    if isinstance(ir, types.StructType | types.ArrayType):
        if ty is None or not struct_types.is_trivial(use.elab, ty):
            use.mismatch("a C function gives structs that are copied bit by bit")
    elif not isinstance(ir, types.IntType | types.FloatType | types.PointerType | types.VoidType):
        use.mismatch("a C function gives a number, an address, a struct or nothing")
    return ty, ir


def _c_arguments(use: Use, start: int) -> tuple[nodes.Value, ...]:
    for at in range(start, len(use.args)):
        if not struct_types.is_trivial(use.elab, use.val(at).ty):
            kind = type_printer.type_name(use.elab, use.val(at).ty)
            use.mismatch(f"operand {at + 1} is a '{kind}', which C cannot take by value; pass its address")
    return use.scalars(start, types.StructType, types.ArrayType)


_VARIADIC = MappingProxyType({
    "printf": 1, "fprintf": 2, "dprintf": 2, "sprintf": 2, "snprintf": 3, "scanf": 1, "fscanf": 2, "sscanf": 2,
    "open": 2, "openat": 3, "fcntl": 2, "ioctl": 2, "prctl": 1, "syscall": 1, "syslog": 2, "execl": 2, "execlp": 2,
    "curl_easy_setopt": 2, "curl_easy_getinfo": 2, "sqlite3_config": 1, "sqlite3_db_config": 2, "sqlite3_mprintf": 1,
    "sqlite3_snprintf": 3, "err": 2, "errx": 2, "warn": 1, "warnx": 1,
})  # fmt: skip
"""C functions with `...`, and how many arguments come before it."""


def _external_call(use: Use) -> Result:
    ty, ir = _c_result(use)
    name = use.text("func")
    args, fixed = _c_arguments(use, 0), use.number("fixed", _VARIADIC.get(name, -1))
    if fixed >= 0:
        args = tuple([arg if at < fixed else _promoted(use, at, arg) for at, arg in enumerate(args)])
    return _call(use, nodes.CallExternal(name, args, ir, fixed), ty)


def _promoted(use: Use, at: int, value: nodes.Value) -> nodes.Value:
    """Return an argument for `...`: C passes narrow numbers there as `int` and `double`."""
    prim, kind = use.prim(use.val(at).ty), value.type
    if isinstance(kind, types.FloatType) and kind.bits < 64:
        return use.op("fpext", (value,), types.F64)
    if isinstance(kind, types.IntType) and kind.bits < 32:
        return use.op("sext" if prim is not None and prim.kind == "s" else "zext", (value,), types.I32)
    return value


def _call_indirect(use: Use) -> Result:
    if not use.args:
        use.fail(Code.MISSING_ARGUMENT, f"primitive operation '{use.name}' needs an address")
    ty, ir = _c_result(use)
    return _call(use, nodes.CallIndirect(use.pointer(0), _c_arguments(use, 1), ir, True), ty)


def _call_intrinsic(use: Use) -> Result:
    ty, ir = _result(use)
    pure = not use.flag("has_side_effect", True)
    return _call(use, nodes.CallIntrinsic(use.text("intrin"), use.scalars(0, types.VectorType), ir, pure), ty)


def _inline_asm(use: Use) -> Result:
    ty, ir = _result(use)
    pure = not use.flag("has_side_effect", True)
    text, constraints = use.text("assembly"), use.text("constraints")
    return _call(
        use, nodes.InlineAsm(text, constraints, use.scalars(0, types.VectorType, types.ArrayType), ir, pure), ty
    )


def _function_address(use: Use) -> Result:
    return use.address(function_pointers.function_address(use.body, use.function(), use.span))


def _function_environment(use: Use) -> Result:
    return use.address(function_pointers.function_environment(use.body, use.function(), use.span))


def _trap(use: Use) -> Result:
    use.body.let(nodes.CallIntrinsic("llvm.trap", (), types.VOID), types.VOID)
    return _unreachable(use)


def _unreachable(use: Use) -> Result:
    use.body.emit(nodes.Unreachable())
    return use.nothing()


# operation -> (what does it, number of operands, attributes)
MEMORY: Mapping[str, tuple[Handler, int, tuple[str, ...]]] = MappingProxyType(
    {
        "pop.load": (load, 1, ("_type", "alignment", "volatile", "invariant")),
        "pop.store": (store, 2, ("alignment", "volatile")),
        "pop.offset": (_offset, 2, ("elem",)),
        "pop.ptr_to_int": (_pointer_to_int, 1, ()),
        "pop.int_to_ptr": (_int_to_pointer, 1, ("_type",)),
        "pop.space_cast": (_space_cast, 1, ("_type",)),
        "pop.memcpy": (_memory_copy, 3, ()),
        "pop.memmove": (_memory_copy, 3, ()),
        "pop.memset": (_memory_set, 3, ()),
        "pop.stack_alloc": (_stack_alloc, 0, ("count", "type", "alignment")),
        "pop.global_alloc": (_global_alloc, 0, ("count", "type", "space", "alignment", "name")),
        "pop.global": (_global, 0, ("name", "type", "alignment")),
        "lit.ref.from_pointer": (_from_pointer, 1, ("_type", "mut")),
        "lit.ref.to_pointer": (_to_pointer, 1, ()),
        "lit.init": (_init, 2, ()),
        "lit.take": (_take, 1, ("_type",)),
        "lit.ownership.mark_initialized": (partial(_mark, "init"), 1, ()),
        "lit.ownership.mark_destroyed": (partial(_mark, "consume"), 1, ()),
        "lit.destroy": (_destroy, 1, ("_type",)),
        "pop.atomic.rmw": (_atomic_rmw, 2, ("op", "ordering", "scope")),
        "pop.atomic.cmpxchg": (_atomic_cmpxchg, 3, ("ordering", "scope")),
        "pop.fence": (_fence, 0, ("ordering", "scope")),
        "pop.external_call": (_external_call, -1, ("func", "_type", "fixed")),
        "pop.call_indirect": (_call_indirect, -1, ("_type",)),
        "pop.call_llvm_intrinsic": (_call_intrinsic, -1, ("intrin", "_type", "has_side_effect")),
        "pop.inline_asm": (_inline_asm, -1, ("assembly", "constraints", "_type", "has_side_effect")),
        "kgen.func.address": (_function_address, 0, ("func",)),
        "kgen.func.environment": (_function_environment, 0, ("func",)),
        "pop.trap": (_trap, 0, ()),
        "kgen.unreachable": (_unreachable, 0, ()),
    }
)
