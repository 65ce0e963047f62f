"""The functions that a program exports: `@export` in the main file, or in a module whose names it imports.

Input: a program before or after its bodies are made. Output: `ir.exports.Exports`: what `codegen` makes C's entry
points of.
"""

import re
from collections.abc import Iterator

from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic
from ktc.diag.source import Span
from ktc.elaborate.comptime import default_arguments
from ktc.elaborate.functions.c_types import CTypes, number_of, written_as_char
from ktc.elaborate.instances import function_instances, instance_table, work_queue
from ktc.elaborate.instances.instance_table import Specialisation
from ktc.elaborate.model.declarations import FunctionInfo, OverloadSet, StructInfo
from ktc.elaborate.model.elaboration import Elaboration
from ktc.elaborate.model.errors import ErrorReported, Mismatch
from ktc.elaborate.model.instance import ArgumentSignature, Instance
from ktc.elaborate.types import struct_types, type_printer, well_known
from ktc.ir import types
from ktc.ir.exports import C_VOID, CType, Export, ExportedArgument, Exports

_PYTHON = ("__ktc_py_take__", "__ktc_py_done__", "__ktc_py_raise__")
_EXTENSION = "std.python._extension"
_UNLOAD, _REPORT = "__ktc_unload__", "__ktc_report_error__"
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_RESULT = "what it returns"


def request(elab: Elaboration) -> None:
    """Request the bodies of all exported functions."""
    found = list(_exported(elab))
    if not found:
        text = "the library is empty: no function of the main file has '@export'"
        _report(elab, Span(elab.modules.main.source, 0, 0), text, "write '@export' above what others are to call")
        raise ErrorReported
    names: dict[str, FunctionInfo] = {}
    for fn in found:
        if names.setdefault(fn.export, fn) is not fn:
            text = f"two functions are exported as '{fn.export}'"
            elab.reporter.sink.report(Diagnostic(Code.DUPLICATE_DEFINITION, fn.span(), text))
        elif not _NAME.fullmatch(fn.export):
            _report(elab, fn.span(), f"'{fn.export}' is not a valid name in C", "use letters, digits and '_'")
        elif fn.owner is not None or fn.node.params:
            what = "a method" if fn.owner is not None else "a function with parameters"
            _report(
                elab, fn.span(), f"'{fn.name}' is {what}, which cannot be exported", "export a function that calls it"
            )
        else:
            _request(elab, fn)
    _helper(elab, _UNLOAD)
    _helper(elab, _REPORT)
    if _is_extension(elab):
        for name in _PYTHON:
            _helper(elab, name, _EXTENSION)


def _request(elab: Elaboration, fn: FunctionInfo) -> None:
    try:
        made = instance_table.instance(elab, Specialisation(fn, None, {}, [None] * len(fn.node.args)), None, fn.span())
    except ErrorReported:
        return
    except Mismatch as reason:
        elab.reporter.sink.report(Diagnostic(reason.code, reason.span or fn.span(), reason.message))
        return
    if instance_table.open_arguments(elab, made):
        text = f"'{fn.name}' takes values of any type, so it cannot be exported"
        _report(elab, fn.span(), text, "export a function that calls it")
        return
    work_queue.request(elab, made)


def _is_extension(elab: Elaboration) -> bool:
    return elab.config.emit == "python-extension"


def _helper(elab: Elaboration, name: str, module: str = "std.builtin._runtime.startup") -> Instance:
    """Request a function of the library that entry points call."""
    fn = well_known.startup_function(elab, name, module)
    made = function_instances.instance_of(elab, fn, elab.main_span(), None)
    work_queue.request(elab, made)
    return made


def _exported(elab: Elaboration) -> Iterator[FunctionInfo]:
    for value in list(elab.modules.main.scope.names.values()):
        if isinstance(value, OverloadSet):
            yield from (fn for fn in value.functions if fn.export and not fn.module.is_library)


def describe(elab: Elaboration, is_library: bool) -> Exports:
    """Return the exported functions that have bodies; in a library, a type without a C equivalent is an error."""
    c_types, found = CTypes(elab), list[Export]()
    report = ""
    for instance in list(elab.instances.states["host"].by_symbol.values()):
        if not instance.fn.export or instance.function is None or instance.failed or instance.fn.module.is_library:
            continue
        if instance.signature.raises and not report:
            report = _helper(elab, _REPORT).symbol
        made = _describe(elab, c_types, instance, report, is_library)
        if made is not None:
            found.append(made)
    if is_library:
        _describe_structs(elab, c_types)
    work_queue.drain(elab, elab.instances.states["host"])
    unload = _helper(elab, _UNLOAD).symbol if is_library else ""
    module = elab.config.module if _is_extension(elab) else ""
    python = tuple([_helper(elab, name, _EXTENSION).symbol for name in _PYTHON]) if module else ()
    doc = elab.modules.main.node.doc
    return Exports(tuple(found), tuple(c_types.structs.values()), unload, doc, module, python)


def _describe(elab: Elaboration, c_types: CTypes, instance: Instance, report: str, is_library: bool) -> Export | None:
    fn, signature = instance.fn, instance.signature
    is_plain = Export(fn.export, instance.symbol, doc=fn.node.doc, span=fn.span(), is_plain=True)
    arguments = []
    for sig in signature.args:
        if sig.convention == "out":
            continue
        made = _argument(elab, c_types, instance, sig)
        if made is None:
            if not is_library:
                return is_plain
            at = Span(fn.module.source, sig.node.start, sig.node.end)
            _refuse(elab, fn, at, f"its argument '{sig.name}'", sig)
            return None
        arguments.append(made)
    result = c_types.of(signature.result_ty)
    if result is not None:
        result = written_as_char(result, fn.node.result)
    if result is not None and signature.result == "ref":
        result = CType("pointer", of=result, writes=signature.result_mutable)
    if result is None or result.kind == "array":
        if not is_library:
            return is_plain
        node = fn.node.result
        at = Span(fn.module.source, node.start, node.end) if node is not None else fn.span()
        _refuse(elab, fn, at, _RESULT, None, type_printer.type_name(elab, signature.result_ty))
        return None
    kind: types.Type = types.VOID
    if result != C_VOID:
        kind = types.PTR if signature.result == "ref" else struct_types.ir_type(elab, signature.result_ty)
    error = struct_types.ir_type(elab, well_known.error_type(elab)) if signature.raises else types.VOID
    return Export(
        fn.export, instance.symbol, tuple(arguments), result, kind, signature.result, error,
        report if signature.raises else "", fn.node.doc, fn.span(),
    )  # fmt: skip


def _describe_structs(elab: Elaboration, c_types: CTypes) -> None:
    """Describe the structs that are exported themselves, whether a function names them or not."""
    for info in list(elab.modules.main.scope.names.values()):
        if not isinstance(info, StructInfo) or not info.is_exported or info.module.is_library:
            continue
        kind = None if info.node.params else c_types.of(struct_types.struct_type(elab, info, ()))
        if kind is None:
            text = f"the struct '{info.name}' cannot be exported: C has no struct like it"
            _report(elab, info.span(), text, "its fields can be numbers, pointers and structs of these; no parameters")


def _default(elab: Elaboration, instance: Instance, sig: ArgumentSignature, made: CType) -> int | float | None:
    """Return the number that stands for an argument that is left out."""
    if sig.node.default is None or made.kind not in ("bool", "int", "uint", "float"):
        return None
    at = Span(instance.fn.module.source, sig.node.default.start, sig.node.default.end)
    found = default_arguments.constant_default(elab, instance, sig, at)
    return number_of(found, made) if found is not None else None


def _argument(
    elab: Elaboration, c_types: CTypes, instance: Instance, sig: ArgumentSignature
) -> ExportedArgument | None:
    if sig.variadic or sig.ty is None:
        return None
    made, kind = c_types.of(sig.ty), struct_types.ir_type(elab, sig.ty)
    if made is None:
        return None
    made = written_as_char(made, sig.node.type)
    if sig.convention in ("mut", "ref"):
        return ExportedArgument(sig.name, CType("pointer", of=made), types.PTR, "address")
    if made.kind == "array":
        return None
    default = _default(elab, instance, sig, made) if _is_extension(elab) else None
    return ExportedArgument(sig.name, made, kind, sig.passing, default)


def _refuse(
    elab: Elaboration, fn: FunctionInfo, span: Span, what: str, sig: ArgumentSignature | None, kind: str = ""
) -> None:
    if sig is not None and not sig.variadic and sig.ty is not None:
        kind = type_printer.type_name(elab, sig.ty)
    is_what = f"is a '{kind}'" if kind else "is variadic"
    text = f"'{fn.name}' cannot be exported: {what} {is_what}, which C does not have"
    _report(elab, span, text, "numbers, pointers, StringSlice, and structs of these can be exchanged with C")


def _report(elab: Elaboration, span: Span, text: str, help: str) -> None:
    elab.reporter.sink.report(Diagnostic(Code.CANNOT_EXPORT, span, text, help))
