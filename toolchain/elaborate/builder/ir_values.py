"""Values and constants as IR."""

import hashlib
from collections.abc import Sequence
from typing import NoReturn

from ktc.base.editions import Edition
from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.model.declarations import Ty
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.types import ConstValue, FunctionValue, ModuleValue, OriginValue, PartialTy, StructTy
from ktc.elaborate.model.values import Method, Place, Result, RValue
from ktc.elaborate.types import mangling, string_constants, struct_types, type_printer
from ktc.elaborate.types.struct_types import zero_of
from ktc.ir import nodes, ops, types
from ktc.ir.nodes import Value


def fail_no_value(body: Body, val: Result, span: Span | None = None) -> NoReturn:
    """Report something that is not a value where a value is expected."""
    match val:
        case ModuleValue():
            text, help = "a module is not a value", "name a member of it"
        case Ty() | PartialTy():
            text, help = f"the type '{type_printer.type_name(body.elab, val)}' is not a value", "call it to make one"
        case Method(fn=fn):
            name = _written_name(body, fn)
            text, help = f"'{name}' is a method, which is not called here", f"write '{name}(...)'"
        case FunctionValue():
            help = f"call it: write '{val.overloads.name}(…)'"
            body.fail(Code.UNSUPPORTED, "a function as a value at run time is not supported here", span, help)
        case _:
            body.fail(Code.UNSUPPORTED, "a function as a value at run time is not supported here", span)
    body.fail(Code.TYPE_MISMATCH, text, span, help)


def _written_name(body: Body, fn: FunctionValue) -> str:
    """Return the name of a method in the edition of the text at hand."""
    name, owner = fn.overloads.name, fn.overloads.functions[0].owner
    renamed = owner.names_2026 if owner is not None and body.frame.module.edition is Edition.Y2026 else {}
    return next((new for new, old in renamed.items() if old == name), name)


def rvalue(body: Body, val: Result) -> Value:
    """Return the IR value of a value that is passed directly; loads it from a place."""
    if isinstance(val, RValue):
        return val.ir
    if isinstance(val, ConstValue):
        return constant(body, val)
    if not isinstance(val, Place):
        fail_no_value(body, val)
    kind = struct_types.ir_type(body.elab, val.ty)
    if types.size_of(kind) == 0:
        return nodes.Const(kind, zero_of(kind))
    if body.unchanged and not val.mutable and isinstance(val.pointer, nodes.LocalAddress):
        known = body.unchanged.get(val.pointer.local)
        if known is not None and known.type == kind:
            return known
    temp = nodes.Temp(body.fresh(), kind)
    body.emit(nodes.Let(temp, nodes.Load(val.pointer, kind), val.at or body.frame.span))
    return temp


def constant(body: Body, val: ConstValue) -> Value:
    """Return the IR constant of a constant."""
    if isinstance(val.data, str):
        return string_global(body, val.data)
    kind = struct_types.ir_type(body.elab, val.ty)
    if types.size_of(kind) == 0:
        return nodes.Const(kind, zero_of(kind))
    _note(body, val.data)
    return nodes.Const(kind, val.data)


def _note(body: Body, data: object) -> None:
    if isinstance(data, nodes.Address):
        body.refer(data.name)
    elif isinstance(data, tuple):
        for item in data:
            if type(item) is not int:
                _note(body, item)


def string_global(body: Body, text: str) -> nodes.Const:
    """Return the constant {address, length} of a text."""
    const = string_constants.string_constant(body.elab, text)
    _note(body, const.value)
    return const


def string_of_const(body: Body, const: nodes.Const) -> str:
    """Return the text of a constant {address, length}."""
    return string_constants.string_of(body.elab, const.value)


def constant_global(body: Body, text: str, kind: types.Type, data: nodes.Plain) -> nodes.GlobalAddress:
    """Return a constant global whose name follows from a text."""
    name = "const$" + hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    if name not in body.elab.instances.globals:
        body.elab.instances.add_global(nodes.Global(name, kind, nodes.Const(kind, data), True))
    body.refer(name)
    _note(body, data)
    return nodes.GlobalAddress(name)


def constant_places(body: Body, items: list[ConstValue]) -> Value:
    """Return where the addresses of constants lie, one after the other."""
    texts = [mangling.key_text(body.elab, item) for item in items]
    made = [
        constant_global(body, t, struct_types.ir_type(body.elab, i.ty), i.data)
        for t, i in zip(texts, items, strict=True)
    ]
    return constant_addresses(body, tuple(nodes.Address(one.name) for one in made))


def constant_items(body: Body, ty: Ty, items: Sequence[Result]) -> list[Place] | None:
    """Return places in one constant array for many values of a trivial type, or None if one is no constant."""
    data: list[nodes.Plain] = []
    for item in items:
        if not isinstance(item, (RValue, ConstValue)) or item.ty is not ty:
            return None
        if isinstance(item, ConstValue):
            data.append(item.data)
        elif isinstance(item.ir, nodes.Const):
            data.append(item.ir.value)
        else:
            return None
    kind = struct_types.ir_type(body.elab, ty)
    text = f"items {mangling.key_text(body.elab, ty)} {data}"
    name = constant_global(body, text, types.ArrayType(kind, len(data)), tuple(data)).name
    size = types.size_of(kind)
    places = (nodes.Const(types.PTR, nodes.Address(name, size * i)) for i in range(len(data)))
    return [Place(ty, place, False, read_only_reason="a constant") for place in places]


def constant_addresses(body: Body, addresses: tuple[nodes.Plain, ...]) -> Value:
    """Return where addresses of constants lie, one after the other."""
    return constant_global(body, f"addresses {addresses}", types.ArrayType(types.PTR, len(addresses)), addresses)


def origin_of(body: Body, val: Result, mutable: bool) -> OriginValue:
    """Return the origin of a place."""
    if isinstance(val, Place) and val.local is not None:
        return OriginValue("local", mutable, val.local)
    if isinstance(val, Place) and val.loans is not None:
        return OriginValue("local", mutable, val.loans[0]) if len(val.loans) == 1 else OriginValue("some", mutable)
    return OriginValue("any", mutable)


def build_struct(body: Body, ty: StructTy, parts: dict[str, Value]) -> Value:
    """Return the IR value of a directly passed struct from its fields' values."""
    kind = struct_types.ir_type(body.elab, ty)
    if types.size_of(kind) == 0:
        return nodes.Const(kind, ())
    found: list[Value] = []
    for name, _ in struct_types.fields_of(body.elab, ty):
        slot = struct_types.slot_of(body.elab, ty, name)[1]
        if slot == -2:
            return parts[name]
        if slot >= 0:
            found.append(parts[name])
    return ops.build("make", tuple(found), kind)
