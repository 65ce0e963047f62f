"""Global variables as LLVM definitions, images among them.

Input: globals of a unit and the images that device units gave. Output: lines.
"""

from collections.abc import Mapping

from ktc.codegen.context import SHARED_SPACE, Context, Uses
from ktc.codegen.source_places import place_definition
from ktc.codegen.values.constants import quoted, symbol
from ktc.diag.diagnostic import Bug
from ktc.ir.nodes import Const, Global, ImageRef, ImageSize, SourcePlace, Unit
from ktc.ir.types import CONSTANT_SPACE, align_of, size_of

Images = Mapping[tuple[int, str, str], bytes]
"""By (index of the device unit, kernel, kind)."""

_IMAGE_ALIGN = 64
"""A code object is an ELF file whose descriptors are aligned to 64 bytes; the driver reads it in place."""
_DYNAMIC_ALIGN = 16


def image_sizes(unit: Unit, images: Images | None) -> dict[str, int] | None:
    """Return the size of each image global in bytes, without the NUL that ends it; None if there are none yet."""
    sizes: dict[str, int] = {}
    if images is None:
        return None
    for held in unit.globals.values():
        if isinstance(held.content, ImageRef):
            sizes[held.name] = len(image_data(held.content, images))
    return sizes


def image_data(reference: ImageRef, images: Images) -> bytes:
    """Return the bytes that an image global stands for."""
    data = images.get((reference.unit, reference.kernel, reference.kind))
    if data is None:
        raise Bug(f"there is no image '{reference.kind}' of kernel '{reference.kernel}'", "codegen")
    return data


def image_constants(unit: Unit, images: Images) -> dict[str, bytes]:
    """Return the constants that an object beside the host's must define: the images by symbol."""
    return {
        held.name: image_data(held.content, images)
        for held in unit.globals.values()
        if isinstance(held.content, ImageRef)
    }


def has_images(unit: Unit) -> bool:
    """Return whether a host's unit holds images of kernels."""
    return any(isinstance(held.content, ImageRef) for held in unit.globals.values())


def _is_size(content: object) -> bool:
    return isinstance(content, Const) and isinstance(content.value, ImageSize)


def lower_global(context: Context, held: Global, images: Images | None) -> tuple[str, Uses]:
    """Return a global's definition and the symbols that its content refers to."""
    context.uses = uses = Uses()
    space = context.global_space(held)
    where = f"addrspace({space}) " if space else ""
    align = held.align or align_of(held.type)
    name = symbol(held.name)
    if held.space == SHARED_SPACE and context.target.is_device:
        kind = context.types.memory(held.type)
        if size_of(held.type) == 0:
            # Its size is the launch's business.
            return f"{name} = external {where}global [0 x i8], align {max(align, _DYNAMIC_ALIGN)}", uses
        if held.space == SHARED_SPACE and size_of(held.type) >= _DYNAMIC_ALIGN:
            align = max(align, _DYNAMIC_ALIGN)  # neighbours are loaded together
        return f"{name} = internal {where}global {kind} poison, align {align}", uses
    if held.space == CONSTANT_SPACE and held.content is None and context.target.is_device:
        kind = context.types.memory(held.type)
        return f"{name} = {where}externally_initialized constant {kind} zeroinitializer, align {align}", uses
    if held.linkage == "external":
        return f"{name} = external hidden global {context.types.memory(held.type)}, align {align}", uses
    linkage = "internal" if context.target.is_device or not held.constant else "private"
    if held.linkage == "hidden":
        linkage = "hidden"
    how = f"{linkage} unnamed_addr {where}constant" if held.constant else f"{linkage} {where}global"
    content = held.content
    if images is None and (isinstance(content, (ImageRef, SourcePlace)) or _is_size(content)):
        kind = "i64" if _is_size(content) else "[0 x i8]"
        return f"{name} = external hidden constant {kind}, align {align}", uses
    if isinstance(content, SourcePlace):
        return place_definition(held.name, content, "private"), uses
    if isinstance(content, ImageRef):
        assert images is not None
        data = image_data(content, images)
        text = f'[{len(data) + 1} x i8] c"{quoted(data)}\\00"'
        align = max(align, _IMAGE_ALIGN)
    elif isinstance(content, bytes):
        text = f'[{len(content)} x i8] c"{quoted(content)}"'
    elif isinstance(content, Const):
        text = context.constants.typed(content.type, content.value)
    else:
        text = f"{context.types.memory(held.type)} zeroinitializer"
    return f"{name} = {how} {text}, align {align}", uses
