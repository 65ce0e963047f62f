"""Names in expressions: the lookup of a name at its place.

Input: a name and its place. Output: a value, or what the name is of (a type, a function, a module).
"""

from ktc.diag.codes import Code
from ktc.elaborate.builder import type_warnings, variables
from ktc.elaborate.comptime import evaluation
from ktc.elaborate.model.declarations import AliasInfo, ImportRef, OverloadSet, StructInfo, TraitInfo
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.errors import ErrorReported
from ktc.elaborate.model.types import FunctionValue, PartialTy, StructTy
from ktc.elaborate.model.values import Binding, Result, Var
from ktc.elaborate.resolve import edition_imports, modules
from ktc.elaborate.resolve.suggestions import suggest_name
from ktc.elaborate.types import lookup, struct_members, struct_types
from ktc.syntax import ast

_SPECIAL_FORMS = (
    "__mlir_type", "__mlir_op", "__mlir_attr", "__type_of", "type_of", "__origin_of", "origin_of", "Some",
)  # fmt: skip


def name(body: Body, node: ast.Name) -> Result:
    """Elaborate a name."""
    found = lookup.find(body.elab, node.id, body.frame.scope, body.frame.module)
    if found is None:
        return unknown(body, node)
    return resolve(body, found, node)


def unknown(body: Body, node: ast.Name) -> Result:
    """Handle the few names that the language itself defines, else report."""
    if node.id in _SPECIAL_FORMS:
        body.fail(Code.SYNTAX_ERROR, f"'{node.id}' cannot be used on its own", body.at(node))
    if node.id == "_":
        return None
    names: list[str] = []
    for scope in body.frame.scope.chain():
        if node.id in scope.names or "*" in scope.names:
            raise ErrorReported  # a failed import, which was reported
        names += scope.names
    prelude = modules.prelude_of(body.elab, body.frame.module.edition)
    if prelude is not None:
        names += (name for name in prelude.names if not name.startswith("__"))
    fn = body.frame.instance.fn if body.frame.instance is not None else None
    around = next((scope.struct.info for scope in body.frame.scope.chain() if isinstance(scope.struct, StructTy)), None)
    if around is not None and isinstance(around.members.get(node.id), AliasInfo):
        help = f"write 'Self.{node.id}'"
    elif fn is not None and isinstance(fn.owner, StructInfo) and node.id in fn.owner.members:
        help = f"write '{fn.owner.name if fn.static else 'self'}.{node.id}'"
    elif fn is not None and fn.static and node.id == "self":
        help = "a static method has no 'self'"
    else:
        text = body.frame.module.source.text
        from ktc.elaborate.tree.older_names import defined_hint, path_hint  # late: only for errors

        help = edition_imports.help_for_name(body.elab, body.frame.module, node.id)
        help = help or path_hint(text[node.start : node.start + 80]) or defined_hint(text, node.id)
        help = help or suggest_name(node.id, names, body.elab.config.stdlib, body.elab.reporter.homes)
        help = edition_imports.help_for(body.frame.module, help)
    body.fail(Code.UNDEFINED_NAME, f"'{node.id}' is not defined", body.at(node), help)


def resolve(body: Body, found: Binding, node: ast.Node) -> Result:
    """Turn a binding into what an expression gives."""
    match found:
        case Var():
            return variables.variable(body, found, node)
        case OverloadSet():
            return FunctionValue(found, env=found.functions[0].parent)
        case StructInfo():
            if found.deprecated and not body.frame.module.is_library:
                type_warnings.warn_deprecated(body.elab, found, body.at(node))
            return (
                struct_types.struct_type(body.elab, found, ())
                if not found.node.params
                else PartialTy(found, (None,) * len(found.node.params), is_bare=True)
            )
        case TraitInfo():
            return struct_members.trait_type(body.elab, (found,))
        case AliasInfo():
            return evaluation.alias_value(body.elab, found, None)
        case _:
            assert not isinstance(found, ImportRef)  # they are followed where names are looked up
            return found


def find_fn(body: Body, name: str) -> FunctionValue:
    """Return a function of the prelude."""
    found = modules.prelude_name(body.elab, name)
    assert isinstance(found, OverloadSet)
    return FunctionValue(found)
