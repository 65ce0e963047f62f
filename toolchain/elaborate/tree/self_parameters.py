"""Parameters of a struct named without `Self.` in its body, which edition 2026 refuses.

Input: a struct. Output: an error for each such name; the struct's head names its parameters as they are.
"""

from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic, Sink
from ktc.diag.source import Span
from ktc.elaborate.model.declarations import StructInfo
from ktc.elaborate.tree.free_variables import declared_in, parts
from ktc.syntax import ast


def check_qualified(info: StructInfo, sink: Sink) -> None:
    """Report the parameters that members of a struct name without `Self.`."""
    params = {param.name for param in info.node.params}
    for member in info.node.body if params else ():
        own = declared_in(member)
        for part in parts(member):
            if isinstance(part, ast.Name) and part.id in params and part.id not in own:
                text = f"'{part.id}', a parameter of '{info.name}', is a member of 'Self' in edition 2026"
                span = Span(info.module.source, part.start, part.end)
                sink.report(Diagnostic(Code.WRONG_EDITION, span, text, f"write 'Self.{part.id}'"))
