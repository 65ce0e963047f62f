"""Closures: which variables a nested function uses, and the environments through which it reaches them.

A kernel has no function around it where it runs: its captures become arguments, by value, and it makes the
environments itself.

An environment is an array of addresses in the frame of the function around: of variables, and of the environments of
other closures. It is passed as an argument. Its content is known when the nested function has been elaborated.
"""

from ktc.base.records import replace
from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.builder import locals, materialization, partial_moves, place_operations, variables
from ktc.elaborate.builder.variables import capture_mode
from ktc.elaborate.instances import work_queue
from ktc.elaborate.model.declarations import FunctionInfo, Scope
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.instance import Instance
from ktc.elaborate.model.types import ConstValue, FunctionValue
from ktc.elaborate.model.values import NewArgument, Place, Var
from ktc.elaborate.tree import async_functions
from ktc.elaborate.tree.free_variables import first_use, free_names
from ktc.elaborate.types import struct_members, struct_types, type_printer
from ktc.ir import nodes, ops, types
from ktc.ir.nodes import Value
from ktc.syntax import ast


def copy_captures(body: Body, fn: FunctionInfo) -> None:
    """Copy, where a nested function is declared, the variables that it captures by value.

    `@parameter` functions capture by reference what `@__copy_capture` does not name, `unified` ones as their list
    says, all others by value. The copies hide the variables from the nested function.
    """
    node = fn.node
    by_reference = fn.parameter or "capturing" in node.effects
    if body.dead or (by_reference and not fn.copied_captures):
        return
    names = free_names(node)
    if by_reference:
        names = _named_copies(body, fn)
    elif node.captures is not None:
        _check_listed(body, fn, names)
        names = {name for name in names if capture_mode(fn, name) in ("var", "move")}
        if async_functions.is_body(node):
            names = {name for name in names if _can_take(body, fn, name)}
    copies: dict[str, Var] = {}
    aside: list[tuple[Var, Place]] = []
    for name in sorted(names):
        var = variables.find(body, name)
        if isinstance(var, Var) and isinstance(var.value, Place) and var.value.read_only_reason != "foreign":
            copies[name] = _copy_of(body, var, fn, aside)
    for held, made in aside:
        assert isinstance(held.value, Place)
        place_operations.init_moved(body, held.ty, held.value.pointer, made, fn.span())
        partial_moves.mark(body, "init", replace(held.value, mutable=True))
    for held, _ in aside:  # what was copied ends after the moves
        var = variables.find(body, held.name)
        if isinstance(var, Var) and isinstance(var.value, Place) and var.value.local is not None:
            body.emit(nodes.Mark("use", var.value.local))
    if copies:
        fn.scope = Scope(body.frame.scope, "block", copies, body=body)


def _named_copies(body: Body, fn: FunctionInfo) -> set[str]:
    """Return the names of variables in a function's `@__copy_capture`; report what does not exist.

    Names of compile-time values may stand there, too: they are not copied.
    """
    names = set()
    for item in fn.copied_captures:
        name = item.id if isinstance(item, ast.Name) else ""
        found = variables.find(body, name)
        if name and found is not None and not isinstance(found, Var):
            continue
        if not isinstance(found, Var):
            text = f"'@__copy_capture' names variables around '{fn.name}'" + (f", not '{name}'" if name else "")
            body.fail(Code.UNDEFINED_NAME, text, body.at(item))
        names.add(name)
    return names


def _can_take(body: Body, fn: FunctionInfo, name: str) -> bool:
    """Return whether a coroutine can have its own copy of an argument."""
    var = variables.find(body, name)
    return not isinstance(var, Var) or struct_members.is_copied_implicitly(body.elab, var.ty)


def _check_listed(body: Body, fn: FunctionInfo, names: set[str]) -> None:
    """Report a variable that a function with a list of captures uses, and the list does not name."""
    for name in sorted(names):
        var = variables.find(body, name)
        if isinstance(var, Var) and not isinstance(var.value, ConstValue) and not capture_mode(fn, name):
            text = f"'{fn.name}' says in braces what it captures, and '{name}' is not there"
            at = body.at(first_use(fn.node, name))
            body.fail(Code.UNDEFINED_NAME, text, at, f"write 'read {name}', 'mut {name}' or 'var {name}' there")


def _copy_of(body: Body, var: Var, fn: FunctionInfo, aside: list[tuple[Var, Place]]) -> Var:
    """Return a captured variable's copy; one whose move can be seen is made aside, and moved with the others."""
    value = variables.variable(body, var, fn.node)
    moved = capture_mode(fn, var.name) == "move" and isinstance(value, Place) and value.local is not None
    if not moved and not struct_members.is_copied_implicitly(body.elab, var.ty):
        kind = type_printer.type_name(body.elab, var.ty)
        text = f"'{fn.name}' captures '{var.name}' by value, and a '{kind}' cannot be copied implicitly"
        at = fn.span() if fn.node.captures is None else var.span
        body.fail(Code.NOT_COPYABLE, text, at, "mark it '@parameter' to capture by reference")
    local = locals.new_local(body, struct_types.ir_type(body.elab, var.ty), var.name, var.ty)
    fixed = fn.node.captures is not None or bool(fn.copied_captures)
    place = Place(var.ty, nodes.LocalAddress(local), True, local)
    held = replace(
        place, mutable=not fixed, read_only_reason="a copy for the closure, which is read only" if fixed else ""
    )
    copy = Var(var.name, var.ty, held, fn.span(), "var", local, body)
    if not (
        moved or fixed or struct_types.is_trivial(body.elab, var.ty) or struct_types.moves_plainly(body.elab, var.ty)
    ):
        first = locals.new_local(body, struct_types.ir_type(body.elab, var.ty), "", var.ty)
        made = Place(var.ty, nodes.LocalAddress(first), True, first, owned=True)
        place_operations.copy_to(body, var.ty, made.pointer, materialization.as_place(body, value), fn.span())
        partial_moves.mark(body, "init", made)
        aside.append((copy, made))
        return copy
    if moved:
        place_operations.init_place(body, var.ty, place.pointer, replace(value, owned=True), fn.span())
    elif struct_types.is_trivial(body.elab, var.ty):
        place_operations.init_place(body, var.ty, place.pointer, value, fn.span())
    else:
        place_operations.copy_to(body, var.ty, place.pointer, materialization.as_place(body, value), fn.span())
    partial_moves.mark(body, "init", place)
    return copy


def captures_anything(body: Body, env: FunctionValue) -> bool:
    """Return whether a nested function captures variables."""
    work_queue.drain_closures(body.elab)
    return bool(variables.captures_of(env.env, env.overloads.functions[0]))


def environment(body: Body, env: FunctionValue, span: Span | None) -> Value:
    """Return the address of the environment of a closure."""
    return _environment(body, env.overloads.functions[0], env.env, span)


def receive_environment(body: Body, fn: FunctionInfo, closure: FunctionInfo, pointer: Value) -> None:
    """Note the address of the environment of a closure, which a function is given; it may be its own."""
    body.captures.env_args[closure] = pointer
    if closure is fn and fn.parent is not None:
        body.captures.env_value = pointer


def _environment(body: Body, fn: FunctionInfo, home: Body, span: Span | None) -> Value:
    known = body.captures.env_args.get(fn)
    if known is not None:
        return known
    if home is not body:
        if body.frame.comptime:  # there is none; compile-time questions are about types
            return nodes.Const(types.PTR, 0)
        if body.captures.env_value is None:
            body.fail(Code.UNSUPPORTED, f"the closure '{fn.name}' cannot be reached from here", span)
        return variables.from_environment(body, fn)
    work_queue.drain_closures(body.elab)  # the closure's body decides what it captures
    slots = variables.captures_of(body, fn)
    local = body.captures.env_locals.get(fn)
    if local is None:
        local = body.captures.env_locals[fn] = nodes.Local(
            body.fresh(), types.ArrayType(types.PTR, 1), "env", span=span
        )
        local.environment_of = fn.closure_name
        body.hoist(nodes.Declare(local))
    points_to: list[nodes.Local] = []
    done = 0
    while done < len(slots):  # reaching one may add others
        item = slots[done]
        if isinstance(item, FunctionInfo):
            pointer = _environment(body, item, item.parent, span)
            points_to += [pointer.local] if isinstance(pointer, nodes.LocalAddress) else []
        else:
            place = environment_place(body, item)
            pointer = place.pointer
            if item is not body.flow.out_var and not body.frame.module.is_library:
                require_captured(body, place, span)
            if place.local is not None:
                points_to.append(place.local)
            elif place.loans is None:
                local.points_to_all = True
            else:
                points_to += place.loans
        at = ops.build("offset", (nodes.LocalAddress(local), nodes.Const(types.I64, done)), None, types.PTR)
        body.emit(nodes.Store(at, pointer, span=span))
        done += 1
    local.type = types.ArrayType(types.PTR, max(1, len(slots)))
    local.points_to = tuple(dict.fromkeys((*local.points_to, *points_to)))
    return nodes.LocalAddress(local)


def require_captured(body: Body, place: Place, span: Span | None) -> None:
    """Require that the captures of a closure are initialized where it is used."""
    local = place.local
    if local is not None and local.name and partial_moves.tracked(body, local) and local not in body.facts.trusted:
        body.emit(nodes.Mark("require", local, place.path, span))


def environment_place(body: Body, var: Var) -> Place:
    """Return the place of a captured variable."""
    if var.body is body:
        place: Place = materialization.as_place(body, var.value)
        return place
    found = variables.captured_variable(body, var)
    assert found is not None
    return found


def kernel_environments(body: Body, instance: Instance, argument: NewArgument) -> list[nodes.Statement]:
    """Make the environments of a kernel from arguments of its own, one for each value that is captured.

    Returns:
        The statements to insert before the kernel's body.
    """
    work_queue.drain_closures(body.elab)
    made: dict[FunctionInfo, nodes.Local] = {}
    body.set_dead(False)
    body.open()
    for env in instance.environments:
        _kernel_environment(body, env.overloads.functions[0], made, argument)
    return list(body.close())


def _kernel_environment(
    body: Body, fn: FunctionInfo, made: dict[FunctionInfo, nodes.Local], argument: NewArgument
) -> nodes.Local:
    known = made.get(fn)
    if known is not None:
        return known
    slots = variables.captures_of(fn.parent, fn)
    local = body.captures.env_locals.get(fn) or nodes.Local(body.fresh(), types.PTR, "env")
    local.type = types.ArrayType(types.PTR, max(1, len(slots)))
    made[fn] = local
    body.emit(nodes.Declare(local))
    for i, item in enumerate(slots):
        if isinstance(item, FunctionInfo):
            held = _kernel_environment(body, item, made, argument)
        else:
            kind = struct_types.ir_type(body.elab, item.ty)
            held = nodes.Local(body.fresh(), kind, item.name)
            body.emit(nodes.Declare(held))
            if struct_types.abi(body.elab, item.ty) == "memory":
                _copy_whole(body, held, kind, argument(item.name, types.PTR))
            elif types.size_of(kind):
                body.emit(nodes.Store(nodes.LocalAddress(held), argument(item.name, kind)))
        at = ops.build("offset", (nodes.LocalAddress(local), nodes.Const(types.I64, i)), None, types.PTR)
        body.emit(nodes.Store(at, nodes.LocalAddress(held)))
    return local


def _copy_whole(body: Body, held: nodes.Local, kind: types.Type, value: nodes.Argument) -> None:
    """Copy the captures that the launch passes by address: a kernel may mutate its copy."""
    body.captures.whole_captures[value.index] = kind
    size = nodes.Const(types.I64, types.size_of(kind))
    body.emit(nodes.MemCopy(nodes.LocalAddress(held), value, size, types.align_of(kind)))


def environment_local(body: Body, fn: FunctionInfo) -> Value:
    """Return the place of an environment that a kernel makes itself."""
    local = body.captures.env_locals[fn] = nodes.Local(body.fresh(), types.PTR, "env")
    return nodes.LocalAddress(local)


def finish_closures(body: Body) -> tuple[nodes.Statement, ...]:
    """Finish the body."""
    return body.finish()
