"""Variables of the whole program and of a block, by address: each is one global of its unit."""

import re

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.instances.instance_table import TARGETS_TABLE
from ktc.elaborate.model.elaboration import Body
from ktc.ir import nodes, types
from ktc.ir.nodes import Value


def program_global(body: Body, name: str, type: types.Type, align: int) -> Value:
    """Return the address of a variable of the program, one for each name."""
    symbol = f"var${name}"
    if symbol not in body.elab.instances.globals:
        body.elab.instances.add_global(nodes.Global(symbol, type, None, False, 0, align))
    body.refer(symbol)
    return nodes.GlobalAddress(symbol)


def targets_table(body: Body) -> Value:
    """Return the address of the program's list of device targets."""
    body.refer(TARGETS_TABLE)
    return nodes.GlobalAddress(TARGETS_TABLE)


def shared_global(body: Body, type: types.Type, space: int, align: int, span: Span | None, name: str = "") -> Value:
    """Return the address of memory that a block's threads share: one place for each use in each instance, or for
    each `name`. Constant memory with a name goes by it, because the driver finds it under that."""
    if space == types.CONSTANT_SPACE and name and not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        body.fail(Code.UNSUPPORTED, f"constant memory cannot be named '{name}': letters, digits and '_' only", span)
    owner = body.frame.outer_instance.symbol if body.frame.outer_instance is not None else "main"
    where = span.start if span is not None else 0
    symbol = (
        name
        if name and space == types.CONSTANT_SPACE
        else f"shared${name}"
        if name
        else f"shared${owner}${where}_{len(body.refs)}".replace(".", "_")
    )
    variables = body.elab.instances.state.shared
    known = variables.get(symbol)
    align = max(align, known.align) if known is not None else align
    variables[symbol] = nodes.Global(symbol, type, None, False, space, align)
    body.refer(symbol)
    return nodes.GlobalAddress(symbol, space)
