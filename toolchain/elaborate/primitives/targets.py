"""The primitives about targets: their properties, and kernels that are compiled for them."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from ktc import targets
from ktc.diag.codes import Code
from ktc.elaborate.builder import global_variables
from ktc.elaborate.generics.function_types import environments
from ktc.elaborate.kernels import requested_kernels
from ktc.elaborate.model.types import ConstValue, ParameterPack, StructTy
from ktc.elaborate.model.values import Result
from ktc.elaborate.primitives.reflection import Handler, member
from ktc.elaborate.primitives.use import Use
from ktc.elaborate.types import primitive_types
from ktc.targets.target import Target


def _target(use: Use, target: Target) -> ConstValue:
    return ConstValue(primitive_types.prim(use.elab, "!kgen.target", ()), target)


def _target_current(use: Use) -> Result:
    return _target(use, use.body.target)


def _target_host(use: Use) -> Result:
    return _target(use, use.elab.config.host)


def simd_bits(target: Target) -> int:
    """Return the width in bits of one access: 16 bytes on all devices, also the CPU as a device.

    Kernels lay out their threads by it.
    """
    return 128 if target.is_device else vector_bits(target)


def vector_bits(target: Target) -> int:
    """Return the width in bits of a target's widest vector registers that plain code should use."""
    enabled = {part[1:] for part in target.features.split(",") if part.startswith("+")}
    if target.triple.startswith(("x86_64", "i686")):
        if "avx512f" in enabled:
            return 512
        return 256 if "avx" in enabled else 128
    return 128


_FACTS: Mapping[str, Callable[[Target], "str | int"]] = MappingProxyType(
    {
        "vendor": lambda target: target.vendor,
        "name": lambda target: target.name,
        "triple": lambda target: target.triple,
        "cpu": lambda target: target.cpu,
        "features": lambda target: target.features,
        "artefact": lambda target: target.artefact,
        "warp_lanes": lambda target: target.warp_lanes,
        "matrix_lanes": lambda target: target.matrix_lanes,
        "max_block_threads": lambda target: target.max_block_threads,
        "simd_bits": simd_bits,
        "vector_bits": vector_bits,
        "is_device": lambda target: int(target.is_device),
    }
)


def _target_info(use: Use) -> Result:
    target, key = use.target(), use.one_of("key", (*_FACTS, "index"))
    if key == "index":
        names = [device.name for device in use.elab.targets_of_program()]
        return use.index(names.index(target.name) if target.is_device and target.name in names else -1)
    fact = _FACTS[key](target)
    return use.string(fact) if isinstance(fact, str) else use.index(fact)


_PREFIXES = {"nvidia": "sm_", "amdgpu": "", "metal": "apple-m"}


def _plain_name(name: str) -> str:
    """Return a target's name without its vendor: `sm_90a` for `nvidia:90a` and `nvidia:sm_90a`."""
    vendor, colon, rest = name.partition(":")
    if not colon or vendor not in _PREFIXES:
        return name
    return _PREFIXES[vendor] + rest.removeprefix(_PREFIXES[vendor])


def _target_find(use: Use) -> Result:
    name, config = _plain_name(use.text("name")), use.elab.config
    devices = use.elab.targets_of_program()
    for device in devices:
        if name in (device.name, ""):
            return _target(use, device)
    if not name:
        return _target(use, config.host)
    found = targets.find(name, config.host)
    if found is None:
        near = ", ".join(f"'{likely}'" for likely in targets.nearest(name))
        use.fail(Code.UNKNOWN_TARGET, f"there is no target '{name}'" + (f"; did you mean {near}?" if near else ""))
    return _target(use, found)


def _targets_count(use: Use) -> Result:
    return use.index(len(use.elab.targets_of_program()))


def _targets_table(use: Use) -> Result:
    return use.address(global_variables.targets_table(use.body))


def _targets_get(use: Use) -> Result:
    devices, index = use.elab.targets_of_program(), use.number("index")
    if not 0 <= index < len(devices):
        use.fail(Code.UNKNOWN_TARGET, f"this build has no device target number {index}")
    return _target(use, devices[index])


def _targets_here(use: Use) -> Result:
    asking = use.elab.instances.current
    return use.index(asking.body.site.launch_targets if asking is not None and asking.body is not None else -1)


def _compile_offload(use: Use) -> Result:
    info = use.type_of()
    if not isinstance(info, StructTy):
        use.mismatch("attribute '_type' must be a struct")
    kind = use.number("emission_kind")
    if not 0 <= kind <= 4:
        use.mismatch(f"there is no emission kind {kind}")
    option = use.text("emission_option", "")
    return requested_kernels.offload(use.body, use.target("target_type"), kind, option, use.function(), info, use.span)


def _kernel_codes(use: Use) -> Result:
    return use.address(requested_kernels.kernel_codes(use.body, use.function(), use.number("targets"), use.span))


def _is_closure(use: Use) -> Result:
    return use.truth(bool(environments(use.elab, (use.function(),))))


def _kernel_captures(use: Use) -> Result:
    return use.index(len(requested_kernels.kernel_captures(use.body, use.target(), use.function(), use.span)))


def _kernel_capture(use: Use) -> Result:
    index = use.number("index")
    return use.address(requested_kernels.kernel_capture(use.body, use.target(), use.function(), index, use.span))


def _kernel_capture_size(use: Use) -> Result:
    index = use.number("index")
    return use.index(requested_kernels.kernel_capture_size(use.body, use.target(), use.function(), index, use.span))


def _kernel_arg(use: Use) -> Result:
    args = requested_kernels.kernel_args(use.body, use.function(), use.span)
    if use.name == "kgen.kernel.arg_count":
        return use.index(len(args))
    if use.name == "kgen.kernel.arg_types":
        return ParameterPack(tuple(ty for _, ty in args))
    name, ty = args[member(use, len(args))]
    return ty if use.name == "kgen.kernel.arg_type" else use.string(name)


# operation -> (what does it, number of operands, attributes)
TARGETS: Mapping[str, tuple[Handler, int, tuple[str, ...]]] = MappingProxyType(
    {
        "kgen.target.current": (_target_current, 0, ()),
        "kgen.target.host": (_target_host, 0, ()),
        "kgen.target.info": (_target_info, 0, ("target", "key")),
        "kgen.target.find": (_target_find, 0, ("name",)),
        "kgen.targets.count": (_targets_count, 0, ()),
        "kgen.targets.table": (_targets_table, 0, ()),
        "kgen.targets.get": (_targets_get, 0, ("index",)),
        "kgen.targets.here": (_targets_here, 0, ()),
        "kgen.compile_offload": (
            _compile_offload, 0, ("target_type", "emission_kind", "emission_option", "func", "_type"),
        ),
        "kgen.kernel.codes": (_kernel_codes, 0, ("func", "targets")),
        "kgen.func.is_closure": (_is_closure, 0, ("func",)),
        "kgen.kernel.captures": (_kernel_captures, 0, ("target", "func")),
        "kgen.kernel.capture": (_kernel_capture, 0, ("target", "func", "index")),
        "kgen.kernel.capture_size": (_kernel_capture_size, 0, ("target", "func", "index")),
        "kgen.kernel.arg_count": (_kernel_arg, 0, ("func",)),
        "kgen.kernel.arg_types": (_kernel_arg, 0, ("func",)),
        "kgen.kernel.arg_type": (_kernel_arg, 0, ("func", "index")),
        "kgen.kernel.arg_name": (_kernel_arg, 0, ("func", "index")),
    }
)  # fmt: skip
