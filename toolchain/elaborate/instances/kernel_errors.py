"""Help for errors about raising in functions that are kernels: a kernel cannot raise.

Input: the function that is elaborated. Output: the help of a diagnostic.
"""

from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.tree.free_variables import parts
from ktc.syntax import ast

_IN_KERNEL = "a kernel cannot raise: write a code to a buffer that the host reads, or stop it with 'abort', from 'os'"

_LAUNCHERS = ("enqueue_function", "compile_function")
"""Prefixes of the methods that take a kernel as their parameter."""


def help_for(body: Body) -> str:
    """Return the help for a call that may raise where nothing may."""
    return _IN_KERNEL if is_kernel(body) else "declare this function with 'raises'"


def is_kernel(body: Body) -> bool:
    """Return whether a function runs on a device, or is launched somewhere in its own file."""
    if body.elab.instances.state.index > 0:
        return True
    instance = body.frame.outer_instance
    if instance is None:
        return False
    name = instance.fn.node.name
    return any(name in _launched(node) for node in parts(body.frame.module.node) if isinstance(node, ast.Subscript))


def _launched(node: ast.Subscript) -> list[str]:
    """Return the names of the kernels in `context.enqueue_function[kernel, kernel]`."""
    if not _last_name(node.base).startswith(_LAUNCHERS):
        return []
    return [_last_name(one) for one in (*node.args, *(given.value for given in node.keywords))]


def _last_name(node: ast.Node) -> str:
    """Return `c` for `c`, `a.b.c` and `a.c[d]`, otherwise ""."""
    match node:
        case ast.Name(id=name) | ast.Attribute(name=name):
            return name
        case ast.Subscript(base=base):
            return _last_name(base)
    return ""
