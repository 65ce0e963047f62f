"""A text of edition 2025 as one of edition 2026: the entry of this folder.

Input: a text, its tree, and what its elaboration told. Output: its changes, and the places that need a look.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from ktc.migration.plan import Plan
from ktc.migration.rules import (
    closures,
    declarations,
    displays,
    elementwise,
    indices,
    kernels,
    members,
    names,
    numbers,
    pointers,
    statements,
)
from ktc.syntax import ast

Rule = Callable[[Plan, Any], None]

RULES: Mapping[type[ast.Node], tuple[Rule, ...]] = MappingProxyType({
    ast.Module: (names.names, declarations.destructors, elementwise.calls),
    ast.FunctionDecl: (declarations.function, closures.captures, statements.implicit_variables),
    ast.Param: (declarations.argument,),
    ast.FunctionType: (declarations.function_type,),
    ast.StructDecl: (declarations.struct, declarations.parameters_of_struct),
    ast.Alias: (statements.alias,),
    ast.If: (statements.at_compile_time,),
    ast.For: (statements.at_compile_time, indices.characters),
    ast.ForClause: (indices.characters,),
    ast.ExprStmt: (statements.constrained,),
    ast.FromImport: (names.from_import,),
    ast.Import: (names.plain_import,),
    ast.Binary: (numbers.quotient, numbers.difference, pointers.offset),
    ast.Subscript: (indices.subscript, pointers.index, pointers.pointer_type, members.sized_type),
    ast.Attribute: (members.attribute,),
    ast.ListLit: (displays.operand,),
    ast.SetLit: (displays.operand,),
    ast.Call: (
        members.method, members.otherwise, pointers.writes, indices.length, displays.list_call, closures.passed,
        numbers.signed_id, members.shown, members.open_pack, statements.materialized,
    ),
    ast.VarDecl: (displays.display,),
    ast.Assign: (displays.display,),
    ast.AugAssign: (numbers.quotient_in_place,),
    ast.FString: (members.template, members.escapes),
    ast.StrLit: (members.escapes,),
})  # fmt: skip
"""The rules by the kind of node that they look at."""


def fill(plan: Plan) -> None:
    """Find all changes of a text."""
    for number, node in enumerate(plan.read.nodes):
        plan.changes.group = number
        for rule in RULES.get(type(node), ()):
            rule(plan, node)
        if plan.facts.implicit:
            numbers.conversion(plan, node)
    plan.changes.group += 1
    kernels.launches(plan)  # last: what it puts around a name stands inside all else
