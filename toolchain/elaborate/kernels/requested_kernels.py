"""Kernels of other targets: their images, tables of images, and the values that they capture."""

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.builder import call_locations, ir_values, variables
from ktc.elaborate.closures import captures
from ktc.elaborate.instances import function_instances, instance_table, work_queue
from ktc.elaborate.kernels import kernel_signatures
from ktc.elaborate.model.declarations import FunctionInfo, Ty
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.instance import Instance, UnitState
from ktc.elaborate.model.types import FunctionValue, StructTy
from ktc.elaborate.model.values import RValue, Val, Var
from ktc.elaborate.types import struct_types, type_printer
from ktc.ir import nodes, ops, types
from ktc.ir.nodes import Value
from ktc.targets.target import Target

IMAGE_KINDS = ("asm", "llvm", "llvm-opt", "object", "image")


def _kernel(
    body: Body, target: Target, fn: FunctionValue, span: Span | None, shown: bool = False
) -> tuple[UnitState, Instance]:
    """Ask for a kernel; `shown`: its code is only looked at, so that it may be any function."""
    state, instance = _kernel_instance(body, target, fn, span)
    shown = shown and not kernel_signatures.is_kernel(body, instance, target)
    if not shown:
        kernel_signatures.check_kernel(body, instance, target, span)
    kernel = nodes.Kernel(instance.symbol, instance.title, instance.fn.span(), shown)
    state.kernels.setdefault(instance.symbol, kernel)
    work_queue.request(body.elab, instance)
    return state, instance


def _kernel_instance(body: Body, target: Target, fn: FunctionValue, span: Span | None) -> tuple[UnitState, Instance]:
    elab = body.elab
    state = instance_table.device_state(elab, target)
    outer = elab.instances.enter_state(state)
    try:
        instance = function_instances.instance_of(elab, fn, span, body, kernel=True)
    finally:
        elab.instances.enter_state(outer)
    return state, instance


def offload(
    body: Body, target: Target, kind: int, option: str, fn: FunctionValue, info: StructTy, span: Span | None
) -> Val:
    """Ask for a function's device code; the result names constants that the back end fills in."""
    state, instance = _kernel(body, target, fn, span, kind != IMAGE_KINDS.index("image"))
    name = _image_global(body, state, instance, kind)
    body.refer(name)
    values: list[Value] = [
        _image(body, name),
        ir_values.string_global(body, instance.symbol),
        nodes.Const(types.I64, len(kernel_captures(body, target, fn, span, True)) if instance.environments else 0),
    ]
    parts = {}
    fields = struct_types.fields_of(body.elab, info)
    if len(fields) != len(values):
        text = f"'{info}' has {len(fields)} fields, and a kernel's code has {len(values)}: image, name, captures"
        body.fail(Code.TYPE_MISMATCH, text, span)
    for (field, _), value in zip(fields, values, strict=True):
        parts[field] = value
    return RValue(info, ir_values.build_struct(body, info, parts))


def _image_global(body: Body, state: UnitState, instance: Instance, kind: int) -> str:
    name = f"image${instance.symbol}${state.target.name.replace('-', '_')}${kind}"
    if name not in body.elab.instances.globals:
        content = nodes.ImageRef(state.index, instance.symbol, IMAGE_KINDS[kind])
        body.elab.instances.add_global(nodes.Global(name, types.ArrayType(types.I8, 1), content, True))
    return name


def _image(body: Body, name: str) -> Value:
    """Return address and size of an image; the size is read from memory, so that the code need not wait for it."""
    pair = types.StructType((types.PTR, types.I64))
    size = nodes.ImageSize(name)
    if body.frame.comptime:
        return nodes.Const(pair, (nodes.Address(name), size))
    held = f"{name}$size"
    body.elab.instances.add_global(nodes.Global(held, types.I64, nodes.Const(types.I64, size), True))
    body.refer(held)
    read = body.let(nodes.Load(nodes.GlobalAddress(held), types.I64), types.I64)
    return ops.build("make", (nodes.Const(types.PTR, nodes.Address(name)), read), None, pair)


def kernel_codes(body: Body, fn: FunctionValue, targets: int, span: Span | None) -> Value:
    """Return the address of a table with two pointers for each of the program's targets: an image and the kernel's
    name in it, or what runs blocks of it on the CPU and its name (null with `-g0`). Null is what a target has
    that is not wanted.

    Args:
        targets: a bit for each target that the kernel is compiled for.
    """
    rows: list[tuple[nodes.Plain, nodes.Plain]] = []
    symbol = ""
    for index, target in enumerate(body.elab.targets_of_program()):
        if not targets >> index & 1:
            rows.append((0, 0))
            continue
        state, instance = _kernel(body, target, fn, span)
        symbol = symbol or instance.symbol
        if target.artefact == "native":
            title = _text_address(body, instance.title) if body.elab.config.places else 0
            rows.append((nodes.Address(instance.symbol), title))
        else:
            image = _image_global(body, state, instance, IMAGE_KINDS.index("image"))
            rows.append((nodes.Address(image), _text_address(body, instance.symbol)))
    name = f"codes${symbol}${targets & (1 << len(rows)) - 1}"
    if name not in body.elab.instances.globals:
        pair = types.StructType((types.PTR, types.PTR))
        table = types.ArrayType(pair, len(rows))
        body.elab.instances.add_global(nodes.Global(name, table, nodes.Const(table, tuple(rows)), True))
    body.refer(name)
    return nodes.GlobalAddress(name)


def _text_address(body: Body, text: str) -> nodes.Plain:
    pair = ir_values.string_global(body, text).value
    assert isinstance(pair, tuple)
    return pair[0]


def kernel_args(body: Body, fn: FunctionValue, span: Span | None) -> list[tuple[str, Ty]]:
    """Return names and types of a kernel's declared arguments."""
    asking, targets = call_locations.calling_span(body, -1) or span, body.elab.targets_of_program()
    if targets:  # the instance that the launch wants anyhow
        _, instance = _kernel_instance(body, targets[0], fn, asking)
    else:
        instance = function_instances.instance_of(body.elab, fn, asking, body)
    return [(sig.name, sig.ty) for sig in instance.signature.args if sig.convention != "out"]


CapturePath = tuple[FunctionValue, tuple[int, ...]]
"""A closure, and the places in the environments that lead on from its own."""


def kernel_captures(
    body: Body, target: Target, fn: FunctionValue, span: Span | None, shown: bool = False
) -> list[tuple[CapturePath, Var]]:
    """Return the variables that become arguments of a kernel, each with the way to it."""
    _, instance = _kernel(body, target, fn, span, shown)
    if not instance.environments:
        return []
    body.elab.api.elaborate_instance(body.elab, instance)
    work_queue.drain_closures(body.elab)
    found: list[tuple[CapturePath, Var]] = []
    seen: set[FunctionInfo] = set()

    def collect(path: CapturePath, closure: FunctionInfo) -> None:
        if closure in seen:
            return
        seen.add(closure)
        for i, item in enumerate(variables.captures_of(closure.parent, closure)):
            if isinstance(item, FunctionInfo):
                collect((path[0], (*path[1], i)), item)
            elif types.size_of(struct_types.ir_type(body.elab, item.ty)):
                _check_capture(body, instance, item, target, span)
                found.append(((path[0], (*path[1], i)), item))

    for env in instance.environments:
        collect((env, ()), env.overloads.functions[0])
    return found


def _check_capture(body: Body, instance: Instance, var: Var, target: Target, span: Span | None) -> None:
    kernel_signatures.check_closure(body, var.ty, span)
    if not struct_types.fits_registers(body.elab, var.ty) and not (
        kernel_signatures.is_its_bytes(body, var.ty) and target.value_argument
    ):
        kind = type_printer.type_name(body.elab, var.ty)
        text = f"'{instance.fn.name}' cannot be a kernel: it captures '{var.name}' of type '{kind}'"
        body.fail(Code.INVALID_KERNEL, text + ", which a kernel cannot take", span)


def kernel_capture(body: Body, target: Target, fn: FunctionValue, index: int, span: Span | None) -> Value:
    """Return the address of a value that a kernel captures."""
    path, _ = kernel_captures(body, target, fn, span)[index]
    pointer = captures.environment(body, path[0], span)
    for slot in path[1]:
        at = ops.build("offset", (pointer, nodes.Const(types.I64, slot)), None, types.PTR)
        pointer = body.let(nodes.Load(at, types.PTR), types.PTR)
    return pointer


def kernel_capture_size(body: Body, target: Target, fn: FunctionValue, index: int, span: Span | None) -> int:
    """Return how many bytes a value has that a kernel captures."""
    _, var = kernel_captures(body, target, fn, span)[index]
    return types.size_of(struct_types.ir_type(body.elab, var.ty))
