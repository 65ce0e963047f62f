"""Closures as values that outlive the function around them: values of the type `fn(...) escaping -> T`.

Input: a nested function that captures by value, and the type that is expected. Output: the address of a block on the
heap, as the library's `builtin._closure` describes it: {owners, destroyer, code, environment}, then the environments of
other closures that it uses, then what all of them captured. Copies of the value share the block; the last one destroys
it.
"""

import hashlib

from ktc.base.records import replace
from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.builder import locals, partial_moves, place_operations, variables
from ktc.elaborate.closures import bridges, captures
from ktc.elaborate.model.declarations import FunctionInfo, Ty
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.instance import Instance
from ktc.elaborate.model.types import FunctionTy, FunctionValue
from ktc.elaborate.model.values import Place, Var
from ktc.elaborate.tree import async_functions
from ktc.elaborate.types import mangling, struct_types
from ktc.ir import nodes, ops, types
from ktc.ir.nodes import Value

_DESTROY, _CODE, _ENVIRONMENT = 1, 2, 3


_HEAD = (types.I64, types.PTR, types.PTR)


_ANY = types.StructType((*_HEAD, types.ArrayType(types.PTR, 1)))
"""A block, as far as a call must know it."""


_Environment = tuple[FunctionInfo, list[tuple[Var | FunctionInfo, int | Place]]]
"""A function, and of each thing that it captures the number of its value or of its own environment, or its place."""


def heap_closure(body: Body, fn: FunctionValue, instance: Instance, expected: FunctionTy, span: Span | None) -> Place:
    """Move or copy a function's captures to the heap; return the closure."""
    where = span or body.frame.span or body.elab.main_span()
    own = fn.overloads.functions[0]
    if any(env.overloads.functions[0] is not own for env in instance.environments):
        body.fail(Code.UNSUPPORTED, f"'{own.name}' is given other closures, so it cannot be kept", span)
    layout: list[_Environment] = []
    held: list[tuple[Place, Ty]] = []
    if instance.environments:
        captures.captures_anything(instance.environments[0].env, instance.environments[0])
        _lay_out(body, own, layout, held, where)
    # the environment of a function that captures nothing is never read
    arrays = [types.ArrayType(types.PTR, max(1, len(slots))) for _, slots in layout or ((own, ()),)]
    kind = types.StructType((*_HEAD, *arrays, *(struct_types.ir_type(body.elab, ty) for _, ty in held)))
    made = _allocate(body, expected, kind, where)
    block = body.let(nodes.Load(made.pointer, types.PTR), types.PTR)
    first = _ENVIRONMENT + len(arrays)
    _store_address(body, block, kind, _DESTROY, _destroyer(body, kind, [ty for _, ty in held], first))
    direct = bool(instance.environments) and instance.signature.raises == expected.raises
    _store_address(body, block, kind, _CODE, instance.symbol if direct else bridges.bridge(body, instance, expected))
    if direct:
        body.refer(instance.symbol)
    for at, (place, ty) in enumerate(held):
        place_operations.init_place(body, ty, _field(block, kind, first + at), place, where)
    for at, (one, slots) in enumerate(layout):
        # made in the frame as for any call, so that the passes know of it
        made_here = nodes.Local(body.fresh(), arrays[at], "env", span=where, environment_of=one.closure_name)
        body.hoist(nodes.Declare(made_here))
        for i, (item, number) in enumerate(slots):
            target = (
                number.pointer
                if isinstance(number, Place)
                else _field(block, kind, (first if isinstance(item, Var) else _ENVIRONMENT) + number)
            )
            slot = ops.build("offset", (nodes.LocalAddress(made_here), nodes.Const(types.I64, i)), None, types.PTR)
            body.emit(nodes.Store(slot, target, span=where))
        size = nodes.Const(types.I64, types.size_of(arrays[at]))
        origin = nodes.LocalAddress(made_here)
        body.emit(nodes.MemCopy(_field(block, kind, _ENVIRONMENT + at), origin, size, 8, span=where))
    partial_moves.mark(body, "init", made)
    return made


def _lay_out(body: Body, fn: FunctionInfo, layout: list[_Environment], held: list[tuple[Place, Ty]], span: Span) -> int:
    """Number the environments and the values that a function needs, each once; return its environment's number."""
    known = next((at for at, (one, _) in enumerate(layout) if one is fn), -1)
    if known >= 0:
        return known
    slots: list[tuple[Var | FunctionInfo, int | Place]] = []
    layout.append((fn, slots))
    number = len(layout) - 1
    for item in list(variables.captures_of(fn.parent, fn)):
        if isinstance(item, FunctionInfo):
            slots.append((item, _lay_out(body, item, layout, held, span)))
            continue
        if async_functions.is_body(fn.node):
            is_copy = fn.scope.kind == "block" and fn.scope.names.get(item.name) is item
            if isinstance(item.value, Place) and not is_copy:
                slots.append((item, _captured_place(body, fn, item, span)))  # who starts the coroutine keeps it alive
                continue
        elif not variables.is_by_value(body, item, fn):
            text = f"'{fn.name}' uses '{item.name}' by reference, so it cannot be kept as a value"
            body.fail(Code.DANGLING_REFERENCE, text, span, "let it capture by value: 'unified {var ...}', or none")
        elif any(origin.kind in ("local", "some") for origin in struct_types.origins_of(body.elab, item.ty)):
            text = f"'{fn.name}' captures '{item.name}', which points into other variables"
            body.fail(Code.DANGLING_REFERENCE, text, span, "capture what it points to")
        slots.append((item, len(held)))
        place = _captured_place(body, fn, item, span)
        if not isinstance(item.value, Place) and struct_types.is_trivial(body.elab, item.ty):
            place = replace(place, owned=True)  # a value that came in a register
        held.append((place, item.ty))
    return number


def _captured_place(body: Body, fn: FunctionInfo, var: Var, span: Span) -> Place:
    """Return the place of a captured variable: in this frame, or in the environment of the function."""
    environment = body.captures.env_args.get(fn)
    if var.body is body or environment is None:
        if var.body is not body and body.captures.env_value is None:
            body.fail(Code.UNSUPPORTED, f"the closure '{fn.name}' cannot be stored here", span)
        return captures.environment_place(body, var)
    number = variables.captures_of(fn.parent, fn).index(var)
    slot = ops.build("offset", (environment, nodes.Const(types.I64, number)), None, types.PTR)
    return Place(var.ty, body.let(nodes.Load(slot, types.PTR), types.PTR), False, read_only_reason="captured")


def _allocate(body: Body, expected: FunctionTy, kind: types.Type, span: Span) -> Place:
    symbol = locals.library_symbol(body, "__ktc_new_closure__")
    made = locals.temporary(body, expected)
    size = nodes.Const(types.I64, types.size_of(kind))
    block = body.let(nodes.Call(symbol, (size,), types.PTR), types.PTR)
    body.emit(nodes.Store(made.pointer, block, span=span))
    return made


def _store_address(body: Body, block: Value, kind: types.StructType, field: int, symbol: str) -> None:
    body.refer(symbol)
    body.emit(nodes.Store(_field(block, kind, field), nodes.Const(types.PTR, nodes.Address(symbol))))


def _destroyer(body: Body, kind: types.StructType, held: list[Ty], first: int) -> str:
    """Return the symbol of the function that destroys a closure's captures."""
    key = "\n".join((str(kind), *(mangling.key_text(body.elab, struct_types.canonical(body.elab, ty)) for ty in held)))
    symbol = f"closure_drop${hashlib.sha256(key.encode()).hexdigest()[:12]}"
    if symbol in body.state.synthesized:
        return symbol
    inner = Body(body.elab, body.frame.module, body.frame.scope, None)
    block = nodes.Argument(0, types.PTR)
    for at, ty in enumerate(held):
        place_operations.destroy_place(inner, ty, _field(block, kind, first + at), None)
    inner.emit(nodes.Return())
    params = (("closure", types.PTR),)
    made = nodes.Function(symbol, "destructor of a closure", params, types.VOID, inner.finish())
    body.state.synthesized[symbol] = (made, inner.refs)
    return symbol


def code_and_environment(body: Body, callee: Place) -> tuple[Value, Value]:
    """Return the code and the environment of a closure."""
    block = body.let(nodes.Load(callee.pointer, types.PTR), types.PTR)
    code = body.let(nodes.Load(_field(block, _ANY, _CODE), types.PTR), types.PTR)
    return code, _field(block, _ANY, _ENVIRONMENT)


def _field(block: Value, kind: types.StructType, number: int) -> Value:
    return ops.build("field", (block,), None, (kind, number))
