"""Checks of the signatures of kernels, and of the captures of closures that are started as kernels.

Input: an instance for a device. Output: errors at its launch or at its declaration.
"""

from collections.abc import Mapping
from types import MappingProxyType

from ktc.base.editions import Edition
from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.comptime import evaluation
from ktc.elaborate.model.declarations import AliasInfo, Ty
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.instance import ArgumentSignature, Instance
from ktc.elaborate.model.spelling import TEXTS
from ktc.elaborate.model.types import OpenTy, StructTy
from ktc.elaborate.model.values import Var
from ktc.elaborate.types import struct_types, type_printer, well_known
from ktc.targets.target import Target

_FIXED: Mapping[str, str] = MappingProxyType({"Int": "Int32' or 'Int64", "UInt": "UInt32' or 'UInt64"})
"""Types whose width depends on the machine, and types of fixed width."""


def is_kernel(body: Body, instance: Instance, target: Target) -> bool:
    """Return whether a function's signature is that of a kernel."""
    signature = instance.signature
    return not signature.raises and signature.result == "none" and all(
        not sig.left_open and (sig.passing != "memory" or _is_passed_whole(body, sig, target))
        for sig in signature.args
    )  # fmt: skip


def check_kernel(body: Body, instance: Instance, target: Target, span: Span | None) -> None:
    """Report a signature that no kernel may have, at the launch; the types that its edition lacks, at the argument."""
    name, signature = instance.fn.name, instance.signature
    if signature.raises:
        is_raising_def = instance.fn.node.is_def and instance.fn.module.edition is Edition.Y2025
        reason = "it is a 'def'" if is_raising_def else "it may raise"
        form = "a 'def'" if instance.fn.module.edition is Edition.Y2026 else "an 'fn'"
        text = f"'{name}' cannot be a kernel: {reason}"
        body.fail(Code.INVALID_KERNEL, text, span, f"a kernel is {form} without 'raises'")
    if signature.result != "none":
        help = "let it write its result to a buffer: a pointer or a tensor is an argument"
        body.fail(Code.INVALID_KERNEL, f"'{name}' cannot be a kernel: it returns a value", span, help)
    for sig in signature.args:
        _check_width(body, instance, sig)
        check_closure(body, sig.ty, span)
        if sig.left_open or (sig.passing == "memory" and not _is_passed_whole(body, sig, target)):
            kind = type_printer.type_name(body.elab, sig.ty)
            text = f"argument '{sig.name}' of kernel '{name}' has the type '{kind}', which a kernel cannot take"
            help = _other_argument(body, sig.ty)
            if sig.convention in ("mut", "ref"):
                text = f"argument '{sig.name}' of kernel '{name}' is '{sig.convention}', and a kernel gets copies"
                help = ""
            if sig.left_open or isinstance(sig.ty, OpenTy):
                text = f"the type of argument '{sig.name}' of kernel '{name}' leaves parameters open"
                help = "write all of them: a launch infers none"
            body.fail(Code.INVALID_KERNEL, text, span, help)


def _other_argument(body: Body, ty: Ty) -> str:
    """Return the help for a type whose values stay on the host."""
    if not isinstance(ty, StructTy):
        return ""
    if ty.info.name in TEXTS:
        return "put its bytes into a buffer: a kernel takes a pointer to them and their number"
    if ty.info.module.is_library:
        return "put its elements into a buffer: 'enqueue_create_buffer' makes one, and a kernel takes a pointer to it"
    for name, kind in struct_types.fields_of(body.elab, ty):
        if not struct_types.is_trivial(body.elab, kind):
            shown = type_printer.type_name(body.elab, kind)
            reason = f"its field '{name}' of type '{shown}' stays on the host"
            return f"{reason}; a struct of numbers and pointers can be passed"
    return "a struct of numbers and pointers, without a destructor and a copy constructor of its own, can be passed"


def _check_width(body: Body, instance: Instance, sig: ArgumentSignature) -> None:
    """Report a number whose width depends on the machine: kernels of edition 2026 take none."""
    module, written = instance.fn.module, sig.node.type
    if module.edition is Edition.Y2025 or module.is_library or written is None:
        return
    kind = type_printer.type_name(body.elab, sig.ty)
    if kind in _FIXED:
        text = f"argument '{sig.name}' of kernel '{instance.fn.name}' is of type '{kind}', not of fixed width"
        help = f"write '{_FIXED[kind]}', and '{kind}({sig.name})' where an index or a count is needed"
        body.fail(Code.INVALID_KERNEL, text, Span(module.source, written.start, written.end), help)


def check_closure(body: Body, ty: Ty, span: Span | None) -> None:
    """Report a closure that is started as a kernel, or given to one, with captures that a kernel cannot have."""
    closure = ty.info.closure if isinstance(ty, StructTy) else None
    if closure is None or not isinstance(ty, StructTy):
        return
    for name, kind in struct_types.fields_of(body.elab, ty):
        captured = ty.info.scope.names.get(name)
        if isinstance(captured, Var) and captured.kind != "capture":
            text = f"'{closure.name}' captures '{name}' by reference, and a kernel cannot reach variables of the host"
            body.fail(Code.INVALID_KERNEL, text, span, f"write 'var {name}' in its list of captures")
        if not is_its_bytes(body, kind):
            shown = type_printer.type_name(body.elab, kind)
            text = f"'{closure.name}' captures '{name}' of type '{shown}', which a kernel cannot take"
            body.fail(Code.INVALID_KERNEL, text, span)
        check_closure(body, kind, span)


def _is_passed_whole(body: Body, sig: ArgumentSignature, target: Target) -> bool:
    """Return whether a launch can pass the value of an argument that the kernel gets the address of."""
    by_value = sig.convention in ("read", "var") and not sig.variadic and isinstance(sig.ty, StructTy)
    return by_value and is_its_bytes(body, sig.ty) and bool(target.value_argument)


def is_its_bytes(body: Body, ty: Ty) -> bool:
    """Return whether a value is no more than its bytes.

    It is trivial, or of a library type with a true `__is_trivial__`, or made of such.

    The copies of such a type are functions all the same, for with other parameters they do more. A `DevicePassable`
    type of the program may define how it is copied: a kernel gets the bytes that `_to_device_type` wrote.
    """
    if struct_types.is_trivial(body.elab, ty):
        return True
    if not isinstance(ty, StructTy):
        return False
    if not ty.info.module.is_library:
        own = {name for name in ("__copyinit__", "__moveinit__", "__del__") if name in ty.info.members}
        if "_to_device_type" in ty.info.members:
            own &= {"__del__"}
        return not own and all(is_its_bytes(body, kind) for _, kind in struct_types.fields_of(body.elab, ty))
    said = ty.info.members.get("__is_trivial__")
    return isinstance(said, AliasInfo) and evaluation.alias_value(body.elab, said, ty) == well_known.bool_constant(
        body.elab, True
    )
