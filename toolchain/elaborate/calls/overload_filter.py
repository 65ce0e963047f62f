"""Rejects overloads that cannot take an argument, from the struct of its type alone.

Input: overloads of the library, and arguments by position. Output: the overloads that remain. The struct of
`UnsafePointer[T, origin]` is `UnsafePointer`. Structs are read from the syntax, so that for most overloads of `SIMD` or
`LayoutTensor` no parameter is inferred and no message is built in vain.
"""

from collections.abc import Sequence

from ktc.diag.codes import Code
from ktc.elaborate.model.declarations import AliasInfo, FunctionInfo, ModuleInfo, OverloadSet, StructInfo
from ktc.elaborate.model.elaboration import Elaboration
from ktc.elaborate.model.errors import Mismatch
from ktc.elaborate.model.types import ConstValue, StructTy
from ktc.elaborate.model.values import Arg, Place, Result, RValue
from ktc.elaborate.resolve import modules
from ktc.elaborate.types import well_known
from ktc.syntax import ast

ArgumentStructs = tuple[StructInfo | None, ...]


MOST_IN_PACK = 4_096
"""Arguments for `*args: *Ts`. Each has a type and an address of its own in one function, and LLVM takes the square of
their number, in time and memory: 2 GB for 10,000."""


def check_length_of_pack(fn: FunctionInfo, formal: ast.Param, pos: Sequence[Arg], first: int) -> None:
    """Refuse more arguments than one call may give for `*args: *Ts`.

    Args:
        first: the first of them among the arguments by position.

    Raises:
        Mismatch: there are more.
    """
    if formal.splat and len(pos) - first > MOST_IN_PACK:
        text = f"{fn.title} takes at most {MOST_IN_PACK:,} arguments for '*{formal.name}', but {len(pos) - first:,} "
        hint = "put values of one type in a list, or call it several times"
        raise Mismatch(Code.TOO_MANY_ARGUMENTS, f"{text}are given", pos[first + MOST_IN_PACK].span, 1, hint=hint)


def may_match(
    elab: Elaboration, functions: Sequence[FunctionInfo], pos: Sequence[Arg], receiver: bool, strict: bool
) -> list[FunctionInfo]:
    """Return the functions that may take arguments of these structs.

    Args:
        receiver: the first argument is the object, which static methods do not take.
        strict: nothing but a literal is converted.
    """
    given = [_given(elab, arg.value) for arg in pos]
    if not any(given):
        return list(functions)
    return [fn for fn in functions if _may_take(elab, fn, given[1:] if receiver and fn.static else given, strict)]


def _given(elab: Elaboration, value: Result) -> ArgumentStructs:
    """The struct of a value's type, and for a literal the one that it has at run time; nothing if there is none."""
    if not isinstance(value, (RValue, Place, ConstValue)) or not isinstance(value.ty, StructTy):
        return ()
    plain = well_known.materialized(elab, value.ty, False) if value.ty.info.materialized is not None else None
    return (value.ty.info, plain.info) if isinstance(plain, StructTy) else (value.ty.info,)


def _may_take(elab: Elaboration, fn: FunctionInfo, given: Sequence[ArgumentStructs], strict: bool) -> bool:
    for expected, have in zip(_argument_structs(elab, fn), given, strict=False):
        if (
            expected is not None
            and have
            and expected not in have
            and (strict or not _may_convert(elab, have, expected))
        ):
            return False
    return True


def _may_convert(elab: Elaboration, have: ArgumentStructs, expected: StructInfo) -> bool:
    """Return whether an implicit constructor of `expected` may take the argument."""
    if expected.fieldwise_implicit:
        return True
    memo = elab.instances.state.memo
    key = ("may convert", have, expected)
    found: bool | None = memo.get(key)
    if found is None:
        inits = expected.members.get("__init__")
        functions = [fn for fn in inits.functions if fn.implicit] if isinstance(inits, OverloadSet) else []
        found = memo[key] = any(_may_take(elab, fn, (have,), True) for fn in functions)
    return found


def _argument_structs(elab: Elaboration, fn: FunctionInfo) -> ArgumentStructs:
    """Return the struct of each argument by position, None where the syntax does not show it."""
    if not fn.module.is_library or fn.parent is not None:
        return ()
    memo = elab.instances.state.memo
    key = ("argument structs", fn)
    found: ArgumentStructs | None = memo.get(key)
    if found is None:
        formals = [arg for arg in fn.node.args if arg.convention != "out" and arg.kind in ("pos", "any")]
        found = memo[key] = tuple(_named_struct(elab, arg.type, fn) for arg in formals)
    return found


def _named_struct(elab: Elaboration, node: ast.Expr | None, fn: FunctionInfo) -> StructInfo | None:
    name = _name(node)
    owner = fn.owner
    if not name or any(param.name == name for param in fn.node.params):
        return None
    if isinstance(owner, StructInfo):
        if name == "Self":
            return owner
        if name in owner.members or any(param.name == name for param in owner.node.params):
            return None
    return _struct_of_name(elab, name, fn.module) if not isinstance(node, ast.Name) or name != "Self" else None


def _struct_of_name(elab: Elaboration, name: str, module: ModuleInfo) -> StructInfo | None:
    """Return the struct that a name of a module refers to, through aliases."""
    found = modules.module_name(elab, module, name)
    if found is None and elab.modules.prelude_scope is not None:
        found = modules.prelude_name(elab, name, module.edition)
    if isinstance(found, AliasInfo):
        inner = _name(found.node.value)
        if not inner or inner == found.name or any(param.name == inner for param in found.node.params):
            return None
        return _struct_of_name(elab, inner, found.module) if found.scope is found.module.scope else None
    return found if isinstance(found, StructInfo) else None


def _name(node: ast.Expr | None) -> str:
    """The name in front of a type's parameters; "" if there is none."""
    while isinstance(node, ast.Subscript):
        node = node.base
    return node.id if isinstance(node, ast.Name) else ""
