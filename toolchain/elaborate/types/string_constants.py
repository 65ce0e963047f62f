"""String constants."""

import hashlib

from ktc.diag.diagnostic import Bug
from ktc.elaborate.model.elaboration import Elaboration
from ktc.ir import nodes, types


def string_constant(elab: Elaboration, text: str) -> nodes.Const:
    """Return the {address, length} of a constant text; the same text is the same global."""
    data = text.encode("utf-8", "surrogateescape")
    name = "str$" + hashlib.sha256(data).hexdigest()[:16]
    if name not in elab.instances.globals:
        kind = types.ArrayType(types.I8, len(data) + 1)
        elab.instances.add_global(nodes.Global(name, kind, data + b"\0", True, 0, 1))
    return nodes.Const(types.StructType((types.PTR, types.I64)), (nodes.Address(name), len(data)))


def string_of(elab: Elaboration, value: object) -> str:
    """Return the text of a constant {address, length}."""
    if isinstance(value, str):
        return value
    address, size = value[:2] if isinstance(value, tuple) else (None, None)
    if isinstance(address, int):
        return ""
    if not isinstance(address, nodes.Address) or not isinstance(size, int):
        raise Bug(f"no text is {value}", "elaborate")
    content = elab.instances.globals[address.name].content
    if isinstance(content, nodes.Const):
        content = bytes(content.value if isinstance(content.value, tuple) else ())  # type: ignore[arg-type]
    if not isinstance(content, bytes):
        raise Bug(f"the text at {address.name} is not known at compile time", "elaborate")
    return content[address.offset : address.offset + size].decode("utf-8", "surrogateescape")
