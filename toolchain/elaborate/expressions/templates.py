"""f-strings of edition 2025, which are texts, and t-strings of edition 2026, which are written when asked to."""

from ktc.base.editions import Edition
from ktc.diag.source import Span
from ktc.elaborate.calls import call_lowering
from ktc.elaborate.expressions import names, operands
from ktc.elaborate.generics import function_types
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.values import Arg, Place, Result
from ktc.elaborate.resolve import modules
from ktc.elaborate.types import well_known
from ktc.syntax import ast


def formatted_string(body: Body, node: ast.FString) -> Result:
    """Elaborate an f-string or t-string; what runs at compile time needs a text in either edition."""
    if body.frame.module.edition is Edition.Y2026 and not body.frame.comptime:
        return _template(body, node)
    args = []
    for part in node.parts:
        if isinstance(part, ast.FField):
            value = operands.arg(body, part.value)
            if part.conversion == "r":
                value = Arg(
                    call_lowering.call(body, names.find_fn(body, "repr"), [value], [], body.at(part)), body.at(part)
                )
            args.append(_formatted(body, value, part) if part.spec else value)
        else:
            args.append(Arg(body.api.expr(body, part), body.at(node)))
    return call_lowering.call(body, well_known.library_type(body.elab, "String"), args, [], body.at(node))


def _formatted(body: Body, value: Arg, part: ast.FField) -> Arg:
    """Return the text of a field; the library reads the specification, errors lie at it."""
    end = part.end - 1
    span = Span(body.at(part).source, end - len(part.spec), end)
    spec = well_known.literal(body.elab, "StringLiteral", "!kgen.string", part.spec)
    function = function_types.with_parameters(body.elab, names.find_fn(body, "__format_value"), (spec,), ())
    outer = body.frame.set_span(span)
    try:
        return Arg(call_lowering.call(body, function, [value], [], span), span)
    finally:
        body.frame.set_span(outer)


def _template(body: Body, node: ast.FString) -> Result:
    """Make a t-string: values in memory are referred to, others and the texts between them are parts of it."""
    text, reference, template = (
        names.resolve(body, modules.prelude_name(body.elab, name, Edition.Y2026), node)
        for name in ("StaticString", "__Referenced", "__TString")
    )
    pieces = []
    for part in node.parts:
        if isinstance(part, ast.FField):
            value = operands.arg(body, part.value)
            maker = reference if isinstance(value.value, Place) else None
        else:
            value, maker = Arg(body.api.expr(body, part), body.at(node)), text
        if maker is not None:
            value = Arg(call_lowering.call(body, maker, [value], [], value.span), value.span)
        pieces.append(value)
    return call_lowering.call(body, template, pieces, [], body.at(node))
