"""Binding: the variables that a body has for its arguments.

Input: the signature of an instance and the values of the function in the IR. Output: variables in the body's scope.
"""

from ktc.base.editions import Edition
from ktc.base.records import replace
from ktc.config import FULL_DEBUG
from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.builder import ir_values, locals, partial_moves, place_operations
from ktc.elaborate.calls import inlining
from ktc.elaborate.closures import captures
from ktc.elaborate.instances import function_instances
from ktc.elaborate.instances.reference_mutability import is_always_immutable, own_result
from ktc.elaborate.kernels.kernel_attributes import bounds_of, mode_of
from ktc.elaborate.model.declarations import AliasInfo, Scope, Ty
from ktc.elaborate.model.elaboration import Body, Elaboration
from ktc.elaborate.model.errors import ErrorReported
from ktc.elaborate.model.instance import ArgumentSignature, Instance, Symbolic
from ktc.elaborate.model.types import ConstValue, FunctionTy, FunctionValue, StructTy
from ktc.elaborate.model.values import NewArgument, Place, RValue, Var
from ktc.elaborate.resolve.suggestions import read_only_argument
from ktc.elaborate.statements import blocks, exits
from ktc.elaborate.tree.argument_uses import names_in, replaced
from ktc.elaborate.tree.decorators import CONSTRUCTORS
from ktc.elaborate.types import lookup, struct_types, type_printer, well_known
from ktc.ir import nodes, ops, types
from ktc.ir.types import ADDRESS_OF
from ktc.syntax import ast
from ktc.targets.checked import SUBSCRIPTS


def make_function(elab: Elaboration, instance: Instance) -> None:
    fn, signature = instance.fn, instance.signature
    if fn.node.body is None and instance.self_ty is not None and instance.self_ty.info.bound is not None:
        raise Symbolic  # what stands for a type parameter has no body for what the bound asks for
    if fn.node.body is None:
        elab.fail(Code.UNSATISFIED_TRAIT, f"'{fn.name}' is only declared: its trait gives it no body", fn.span())
    body = Body(elab, fn.module, Scope(instance.scope, "body"), instance, comptime=False)
    instance.body = body
    body.frame.scope.body = body
    params: list[tuple[str, types.Type]] = []

    def argument(name: str, kind: types.Type) -> nodes.Argument:
        params.append((name, kind))
        return nodes.Argument(len(params) - 1, kind)

    if signature.through_memory:
        body.flow.set_result_pointer(argument("result", types.PTR))
    _bind_arguments(elab, body, instance, argument)
    for env in instance.environments:
        made_here = instance.is_kernel
        pointer = (
            captures.environment_local(body, env.overloads.functions[0]) if made_here else argument("env", types.PTR)
        )
        captures.receive_environment(body, fn, env.overloads.functions[0], pointer)
    if signature.raises:
        body.flow.set_error_argument(argument("error", types.PTR))
    blocks.block(body, fn.node.body)
    if instance.failed:  # before the next check: a statement that is missing for its mistake may be the 'return'
        raise ErrorReported
    if not body.dead:
        _end_of_body(elab, body, instance)
    kind: types.Type = types.BOOL if signature.raises else types.VOID
    if not signature.raises and signature.result in ("direct", "ref"):
        kind = types.PTR if signature.result == "ref" else struct_types.ir_type(elab, signature.result_ty)
    first = (
        captures.kernel_environments(body, instance, argument) if instance.is_kernel and instance.environments else []
    )
    statements = (*first, *captures.finish_closures(body))
    inline = {"always": "always", "builtin": "always", "never": "never"}.get(fn.inline, "")
    is_subscript = body.target.checks and fn.name in SUBSCRIPTS and not fn.module.is_library
    if (fn.parameter or (is_subscript and not inline)) and not instance.is_kernel:
        inline = "always"
    linkage = "export" if instance.is_kernel else "internal"
    bounds: dict[str, tuple[int, ...]] = {}
    if fn.node.decorators:
        bounds = bounds_of(body, fn.node.decorators) if instance.is_kernel else mode_of(body, fn)
    symbol = instance.symbol
    instance.refs = body.refs
    passed = {
        one.closure_name: at.index for one, at in body.captures.env_args.items() if isinstance(at, nodes.Argument)
    }
    instance.function = nodes.Function(
        symbol, instance.title, tuple(params), kind, statements, linkage, inline, False, fn.span(),
        body.facts.address_taken, bounds, passed,
        _values(elab, instance, params) | body.captures.whole_captures if instance.is_kernel else {},
        _references(elab, instance, params) if body.target.checks and not body.target.is_device else {},
        traced=fn.traced, unchecked=fn.unchecked, forbidden_destructors=dict(body.facts.linear),
        last_declared_first=body.frame.module.edition is Edition.Y2026,
        described=_described(elab, body, params) if elab.config.debug >= FULL_DEBUG else {},
    )  # fmt: skip


def _values(elab: Elaboration, instance: Instance, params: list[tuple[str, types.Type]]) -> dict[int, types.Type]:
    """Return which arguments of a kernel are addresses of values, and the types of these."""
    places = {name: index for index, (name, _) in enumerate(params)}
    found = [sig for sig in instance.signature.args if sig.passing == "memory"]
    return {places[sig.name]: struct_types.ir_type(elab, sig.ty) for sig in found}


def _references(elab: Elaboration, instance: Instance, params: list[tuple[str, types.Type]]) -> dict[int, types.Type]:
    """Return which arguments are addresses of values that exist when the function is called, and the values' types."""
    found: dict[str, Ty] = {}
    for sig in instance.signature.args:
        if sig.variadic == "pack":
            found |= {f"{sig.name}.{at}": ty for at, ty in enumerate(sig.pack) if ty is not None}
        elif (
            not sig.variadic
            and sig.convention != "out"
            and (sig.passing == "memory" or sig.convention in ("mut", "ref"))
        ):
            found[sig.name] = sig.ty
    kinds = [found.get(name) if kind == types.PTR else None for name, kind in params]
    return {at: struct_types.ir_type(elab, ty) for at, ty in enumerate(kinds) if isinstance(ty, StructTy)}


def _described(elab: Elaboration, body: Body, params: list[tuple[str, types.Type]]) -> dict[int, str]:
    """Describe the types of a function's locals and arguments to debuggers, and return those of the arguments."""
    from ktc.elaborate.types import type_descriptions  # late: only with some options

    for local, ty in body.facts.local_types.items():
        local.described = type_descriptions.describe(elab, ty)
    assert body.frame.instance is not None
    signature, found = body.frame.instance.signature, dict[str, str]()
    for sig in signature.args:
        if sig.variadic == "pack":
            given = [(f"{sig.name}.{at}", kind) for at, kind in enumerate(sig.pack)]
            found |= {name: ADDRESS_OF + type_descriptions.describe(elab, kind) for name, kind in given if kind}
        elif not sig.variadic and sig.passing in ("direct", "memory"):
            mark = ADDRESS_OF if sig.passing == "memory" else ""
            found[sig.name] = mark + type_descriptions.describe(elab, sig.ty)
    if signature.through_memory and signature.result != "ref":
        found["result"] = ADDRESS_OF + type_descriptions.describe(elab, signature.result_ty)
    return {at: found[name] for at, (name, _) in enumerate(params) if name in found}


def _end_of_body(elab: Elaboration, body: Body, instance: Instance) -> None:
    signature = instance.signature
    if (signature.result == "none" and not well_known.is_never(signature.result_ty)) or body.flow.out_var is not None:
        body.flow.set_exit_span(None)
        body.frame.set_span(instance.fn.span())
        exits.leave(body, None)
        return
    if instance.failed:
        raise ErrorReported  # the statement that failed may have been the one that returns
    span = instance.fn.span()
    kind = type_printer.type_name(elab, signature.result_ty)
    text = f"'{instance.fn.name}' must return a value of type '{kind}' on every path"
    last = instance.fn.node.body[-1] if instance.fn.node.body else None
    source = instance.fn.module.source.text
    help = f"write 'return {source[last.start : last.end]}'" if isinstance(last, ast.ExprStmt) else ""
    elab.fail(Code.MISSING_RETURN, text, span, help if "\n" not in help and len(help) < 60 else "")


def _bind_arguments(elab: Elaboration, body: Body, instance: Instance, argument: NewArgument) -> None:
    signature, before = instance.signature, len(body.statements)
    for sig in signature.args:
        span = Span(instance.fn.module.source, sig.node.start, sig.node.end)
        if sig.convention == "out":
            _bind_out(elab, body, instance, sig, span)
            continue
        if sig.variadic:
            _bind_variadic(elab, body, sig, span, argument)
            continue
        body.frame.scope.names[sig.name] = _bind_one(elab, body, sig, span, argument)
    made = body.statements[before:]
    marks: list[nodes.Mark] = [one for one in made if isinstance(one, nodes.Mark)]
    if len(marks) > 1:  # what is never looked at is destroyed from the last one on, and what stands for many last
        marks.sort(key=lambda mark: mark.local.at is not None)
        body.replace_from(before, [*(one for one in made if not isinstance(one, nodes.Mark)), *reversed(marks)])


def _as_declared(elab: Elaboration, body: Body, sig: ArgumentSignature, fn: FunctionValue) -> FunctionValue:
    """Return a function whose arguments have the names that the declared type gives them."""
    node = _function_type(elab, body, sig.node.type)
    if node is None or node.params or len(fn.overloads.functions) != 1:
        return fn
    return function_instances.with_names(fn, [arg.name for arg in node.args if arg.convention != "out"])


def _function_type(elab: Elaboration, body: Body, node: ast.Expr | None) -> ast.FunctionType | None:
    """Return the function type that an argument's type is, or that bounds the parameter that it is."""
    match node:
        case ast.FunctionType():
            return node
        case ast.Binary(left=left, right=right):
            return _function_type(elab, body, left) or _function_type(elab, body, right)
        case ast.Subscript(base=ast.Name(id="Some"), args=(bound,)):
            return _function_type(elab, body, bound)
        case ast.Name(id=name):
            instance = body.frame.instance
            assert instance is not None
            bounds = [param.type for param in instance.fn.node.params if param.name == name]
            found = None if bounds else lookup.find(elab, name, body.frame.scope, body.frame.module)
            of_alias = found.node.value if isinstance(found, AliasInfo) else None
            return _function_type(elab, body, bounds[0] if bounds else of_alias)
    return None


def _bind_one(
    elab: Elaboration, body: Body, sig: ArgumentSignature, span: Span, argument: NewArgument
) -> Var | FunctionValue:
    ty = sig.ty
    if isinstance(ty, FunctionTy) and ty.of is not None:
        return _as_declared(elab, body, sig, ty.of)
    reason = read_only_argument(sig.name)
    assert body.frame.instance is not None
    if sig.convention in ("mut", "ref"):
        pointer = _in_its_space(elab, body.frame.instance, sig, argument(sig.name, types.PTR))
        if sig.convention == "mut" and not struct_types.is_trivial(elab, ty) and _is_replaced(elab, body, sig):
            return _bind_by_address(elab, body, sig, pointer, span)
        fixed = (
            sig.convention == "ref"
            and not body.frame.module.is_library
            and is_always_immutable(elab, body.frame.instance, sig)
        )
        return Var(
            sig.name,
            ty,
            Place(ty, pointer, not fixed, read_only_reason=reason if fixed else "", loans=()),
            span,
            "arg",
            body=body,
        )
    if sig.passing == "memory":
        pointer = argument(sig.name, types.PTR)
        if sig.convention == "read":
            return Var(
                sig.name, ty, Place(ty, pointer, False, read_only_reason=reason, loans=()), span, "arg", body=body
            )
        if not struct_types.is_trivial(elab, ty):
            return _bind_by_address(elab, body, sig, pointer, span)
        local = locals.new_local(body, struct_types.ir_type(elab, ty), sig.name, ty, loans=())
        size = nodes.Const(types.I64, types.size_of(struct_types.ir_type(elab, ty)))
        place = Place(ty, nodes.LocalAddress(local), True, local)
        body.emit(
            nodes.MemCopy(place.pointer, pointer, size, types.align_of(struct_types.ir_type(elab, ty)), span=span)
        )
        partial_moves.mark(body, "init", place)
        return Var(sig.name, ty, place, span, "arg", local, body)
    kind = struct_types.ir_type(elab, ty)
    value = RValue(
        ty,
        argument(sig.name, kind) if sig.passing == "direct" else ir_values.constant(body, ConstValue(ty, ())),
        loans=(),
    )
    if sig.convention in ("var", "deinit"):
        return _own_direct(elab, body, sig, value, span)
    return Var(sig.name, ty, value, span, "arg", body=body)


def _in_its_space(elab: Elaboration, instance: Instance, sig: ArgumentSignature, pointer: nodes.Value) -> nodes.Value:
    """Return the address of an argument in the address space that its declaration says, as of `ref [o, s] x`."""
    names = {arg.name for arg in instance.fn.node.args}
    for node in sig.node.origin:
        if names_in(node) & names:
            continue  # the place of another argument
        value = elab.api.evaluate(elab, node, instance.scope, instance.fn.module)
        if not isinstance(value, ConstValue) or value.ty is not well_known.library_type(elab, "AddressSpace"):
            continue
        if isinstance(value.data, int) and value.data:
            return ops.build("spacecast", (pointer,), types.PointerType(value.data))
    return pointer


def _is_replaced(elab: Elaboration, body: Body, sig: ArgumentSignature) -> bool:
    """Return whether the function replaces the value of a `mut` argument, or a field that has a destructor. For the
    library's own functions it is of no interest when exactly a field dies."""
    assert body.frame.instance is not None
    found = replaced(body.frame.instance.fn)
    if sig.name in found or body.frame.module.is_library or not isinstance(sig.ty, StructTy):
        return sig.name in found
    return any(
        f"{sig.name}.{name}" in found and not struct_types.is_trivial(elab, ty)
        for name, ty in struct_types.fields_of(elab, sig.ty)
    )


def _bind_by_address(elab: Elaboration, body: Body, sig: ArgumentSignature, pointer: nodes.Value, span: Span) -> Var:
    """Bind an argument of which the function may give away the value, or must destroy it."""
    local = locals.argument_local(body, pointer, sig.ty, sig.name, span)
    if sig.convention == "deinit":
        assert isinstance(sig.ty, StructTy)
        partial_moves.track_fields(body, local, sig.ty)
        local.drop = ""
    local.is_caller_owned = sig.convention == "mut"
    place = Place(sig.ty, pointer, True, local)
    partial_moves.mark(body, "init", place)
    return Var(sig.name, sig.ty, place, span, "arg", local, body)


def _own_direct(elab: Elaboration, body: Body, sig: ArgumentSignature, value: RValue, span: Span) -> Var:
    local = locals.new_local(body, struct_types.ir_type(elab, sig.ty), sig.name, sig.ty, loans=())
    place = Place(sig.ty, nodes.LocalAddress(local), True, local)
    place_operations.store_bits(body, place.pointer, value)
    return Var(sig.name, sig.ty, place, span, "arg", local, body)


def _bind_out(elab: Elaboration, body: Body, instance: Instance, sig: ArgumentSignature, span: Span) -> None:
    signature = instance.signature
    is_made = body.frame.module.is_library or instance.fn.name in CONSTRUCTORS
    ty = signature.result_ty if is_made else own_result(elab, signature)
    if signature.result == "memory" and struct_types.is_trivial(elab, ty) and body.frame.module.is_library:
        assert body.flow.result_pointer is not None
        place = Place(ty, body.flow.result_pointer, True, loans=())
    elif signature.result == "memory":
        assert body.flow.result_pointer is not None
        local = locals.argument_local(body, body.flow.result_pointer, ty, sig.name, span)
        place = Place(ty, body.flow.result_pointer, True, local)
    else:
        local = locals.new_local(body, struct_types.ir_type(elab, ty), sig.name)
        place = Place(ty, nodes.LocalAddress(local), True, None if body.frame.module.is_library else local)
    if place.local is not None:
        place.local.is_under_construction = instance.fn.owner is not None and instance.fn.name in CONSTRUCTORS
        if isinstance(ty, StructTy):
            partial_moves.track_fields(body, place.local, ty)
            if instance.fn.name == "__init__":
                place.local.drop = ""  # what is not finished when an error is raised is destroyed field by field
        trusted = body.frame.module.is_library or (isinstance(ty, StructTy) and not place.local.fields)
        if trusted:
            body.facts.trust(place.local)
        else:
            body.note_late(place.local)
    var = body.frame.scope.names[sig.name] = Var(sig.name, ty, place, span, "var", None, body)
    body.flow.name_result(var)


def _bind_variadic(elab: Elaboration, body: Body, sig: ArgumentSignature, span: Span, argument: NewArgument) -> None:
    if sig.variadic == "pack":
        args = [argument(f"{sig.name}.{i}", types.PTR) for i in range(len(sig.pack))]
    else:
        args = [argument(sig.name, types.PTR), argument(f"{sig.name}.count", types.I64)]
    if sig.convention in ("var", "owned") and not body.frame.module.is_library:
        kind = well_known.owned_type(elab, sig)
        value = RValue(kind, inlining.variadic_value(body, sig, args).ir)
        owned = _own_direct(elab, body, replace(sig, ty=kind), value, span)
        assert isinstance(owned.value, Place)
        partial_moves.mark(body, "init", owned.value)
        body.frame.scope.names[sig.name] = owned
        return
    value = inlining.variadic_value(body, sig, args)
    body.frame.scope.names[sig.name] = Var(sig.name, value.ty, value, span, "arg", body=body)
