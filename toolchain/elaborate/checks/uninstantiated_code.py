"""Uninstantiated code: arms of `@parameter if` that no instance took, nested functions that none called.

Input: a function, and what was elaborated. Output: where something was not looked at.
"""

from ktc.elaborate.model.declarations import FunctionInfo, StructInfo
from ktc.elaborate.model.elaboration import Elaboration
from ktc.elaborate.tree.free_variables import parts
from ktc.syntax import ast


def uninstantiated_spans(elab: Elaboration, fn: FunctionInfo) -> list[tuple[int, int]]:
    """Return the spans of the function's code that no instance elaborated."""
    candidates = fn.patterns.get("hides")
    if candidates is None:
        candidates = fn.patterns["hides"] = tuple(filter(_may_hide, parts(fn.node.body)))
    is_open = bool(fn.node.params) or (isinstance(fn.owner, StructInfo) and bool(fn.owner.node.params))
    found: list[tuple[int, int]] = []
    for part in candidates:
        if isinstance(part, ast.If):
            for taken, arm in ((True, part.body), (False, part.orelse)):
                if arm and (part, taken) not in elab.coverage.arms:
                    found.append((arm[0].start, arm[-1].end))
        elif part not in elab.coverage.reached and (is_open or part.params):
            found.append((part.start, part.end))
    return found


def _may_hide(part: ast.Node) -> bool:
    return (isinstance(part, ast.If) and part.comptime) or isinstance(part, ast.FunctionDecl)
