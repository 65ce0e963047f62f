"""Ways through the IR that several stages need: the values a statement reads, the statements nested in it."""

from collections.abc import Iterable, Iterator

from ktc.ir import nodes as ir

WITH_PARTS = (
    ir.Let, ir.Store, ir.MemCopy, ir.MemSet, ir.Declare, ir.Load, ir.Call, ir.CallExternal, ir.CallIndirect,
    ir.CallIntrinsic, ir.InlineAsm, ir.AtomicRmw, ir.CompareExchange, ir.Fence, ir.Return,
)  # fmt: skip
"""Plain statements and actions, which are copied part by part when values in them are replaced."""


def operands(statement: ir.Statement) -> tuple[ir.Value, ...]:
    """Return the values that a statement itself reads, without those of nested statements."""
    match statement:
        case ir.Let(_, action):
            return action_operands(action)
        case ir.Store(pointer, value):
            return (pointer, value)
        case ir.MemCopy(target, origin, size):
            return (target, origin, size)
        case ir.MemSet(target, byte, size):
            return (target, byte, size)
        case ir.If(condition):
            return (condition,)
        case ir.Return(value) if value is not None:
            return (value,)
        case _:
            return ()


def action_operands(action: ir.Action) -> tuple[ir.Value, ...]:
    """Return the values that the right-hand side of a Let reads; an `Op` is itself such a value."""
    match action:
        case ir.Op():
            return (action,)
        case ir.Load(pointer):
            return (pointer,)
        case ir.Call() | ir.CallExternal() | ir.CallIntrinsic() | ir.InlineAsm():
            return action.args
        case ir.CallIndirect(pointer, args):
            return (pointer, *args)
        case ir.AtomicRmw(_, pointer, value):
            return (pointer, value)
        case ir.CompareExchange(pointer, expected, desired):
            return (pointer, expected, desired)
        case ir.Fence():
            return ()


def bodies(statement: ir.Statement) -> tuple[tuple[ir.Statement, ...], ...]:
    """Return the lists of statements directly nested in a statement."""
    match statement:
        case ir.If(_, then, orelse):
            return (then, orelse)
        case ir.Loop(_, body) | ir.Block(_, body):
            return (body,)
        case _:
            return ()


def statements(body: tuple[ir.Statement, ...]) -> Iterator[ir.Statement]:
    """Yield every statement of a body and all nested ones, in the order of the text."""
    for statement in body:
        yield statement
        for inner in bodies(statement):
            yield from statements(inner)


def locals_of(function: ir.Function) -> list[ir.Local]:
    """Return the locals that a function declares, each once, in the order of the text."""
    declared = (s.local for s in statements(function.body) if isinstance(s, ir.Declare))
    return list(dict.fromkeys(declared))


def numbers(body: tuple[ir.Statement, ...]) -> Iterator[int]:
    """Yield the numbers that temps, locals and labels of a body have."""
    for statement in statements(body):
        match statement:
            case ir.Let(ir.Temp(number)) | ir.Loop(number) | ir.Block(number):
                yield number
            case ir.Declare(local):
                yield local.id


def leaves(values: Iterable[ir.Value]) -> Iterator[ir.Value]:
    """Yield the leaves of values: everything but `Op`s. A shared operation is visited once."""
    seen: set[int] = set()
    stack = list(values)
    while stack:
        value = stack.pop()
        if isinstance(value, ir.Op):
            if id(value) not in seen:
                seen.add(id(value))
                stack += value.args
        else:
            yield value


def addresses_of(value: object) -> list[str]:
    """Return the globals and functions that a constant's plain value points to."""
    if isinstance(value, ir.Address):
        return [value.name]
    if isinstance(value, tuple):
        return [name for item in value for name in addresses_of(item)]
    return []


def actions(function: ir.Function) -> Iterator[ir.Action]:
    """Yield the actions that the statements of a function bind."""
    return (one.value for one in statements(function.body) if isinstance(one, ir.Let))


def names(function: ir.Function) -> set[str]:
    """Return the functions and globals that a function refers to: it calls them, or has their addresses."""
    found = {action.function for action in actions(function) if isinstance(action, ir.Call)}
    for statement in statements(function.body):
        for leaf in leaves(operands(statement)):
            if isinstance(leaf, ir.GlobalAddress):
                found.add(leaf.name)
            elif isinstance(leaf, ir.Const):
                found.update(addresses_of(leaf.value))
    return found


def shared(values: tuple[ir.Value, ...], deepest: int) -> list[ir.Op]:
    """Return the operations under `values` that should be written only once: those that occur more than once, and in a
    deep nest one every `deepest` levels; operands before users."""
    uses: dict[int, int] = {}
    order: list[ir.Op] = []
    stack: list[tuple[ir.Value, bool]] = [(value, False) for value in reversed(values)]
    while stack:
        value, done = stack.pop()
        if not isinstance(value, ir.Op):
            continue
        if done:
            order.append(value)
            continue
        uses[id(value)] = uses.get(id(value), 0) + 1
        if uses[id(value)] == 1:
            stack.append((value, True))
            stack += [(arg, False) for arg in reversed(value.args)]
    picked: list[ir.Op] = []
    depths: dict[int, int] = {}
    for op in order:
        depth = 1 + max((depths[id(arg)] for arg in op.args if isinstance(arg, ir.Op)), default=0)
        if uses[id(op)] > 1 or depth >= deepest:
            picked.append(op)
            depth = 0
        depths[id(op)] = depth
    return picked
