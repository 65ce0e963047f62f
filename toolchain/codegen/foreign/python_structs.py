"""The structs of an extension module as classes of Python: subclasses of `ctypes.Structure`.

Input: `ir.exports.Exports`. Output: the text of a Python module, which the extension runs when it is imported.
"""

from collections.abc import Iterator

from ktc.ir.exports import CStruct, CType, Exports

_BASE = """\
import ctypes as _ctypes


class _Struct(_ctypes.Structure):
    def __repr__(self):
        fields = ", ".join([f"{name}={value!r}" for name, value in self._values()])
        return f"{type(self).__name__}({fields})"

    def __eq__(self, other):
        return self._values() == other._values() if type(self) is type(other) else NotImplemented

    __hash__ = None

    def _values(self):
        return [(name, _listed(getattr(self, name))) for name, _ in self._fields_]


def _listed(value):
    return [_listed(one) for one in value] if isinstance(value, _ctypes.Array) else value

"""


def classes(exports: Exports) -> tuple[CStruct, ...]:
    """Return the structs that Python has as classes: those that ctypes can describe."""
    known: dict[str, CStruct] = {}
    for one in exports.structs:
        if one.fields and all(_is_known(kind, known) for _, kind in one.fields):
            known[one.name] = one
    return tuple(known.values())


def _is_known(kind: CType, known: dict[str, CStruct]) -> bool:
    match kind.kind:
        case "int" | "uint":
            return kind.bits in (8, 16, 32, 64)
        case "float":
            return kind.bits in (32, 64)
        case "array":
            return kind.of is not None and _is_known(kind.of, known)
        case "struct":
            return kind.name in known
    return kind.kind in ("bool", "pointer", "function")


def module_source(exports: Exports) -> str:
    """Return the text of the classes, "" if there are none."""
    found = classes(exports)
    return "\n".join([_BASE, *(line for one in found for line in _class(one)), ""]) if found else ""


def _class(struct: CStruct) -> Iterator[str]:
    fields = ", ".join([f"({name!r}, {_type(kind)})" for name, kind in struct.fields])
    yield f"\nclass {struct.name}(_Struct):"
    if struct.doc:
        yield f"    __doc__ = {struct.doc.strip()!r}"
    yield f"    _fields_ = [{fields}]\n"
    for name, number in struct.constants:
        yield f"setattr({struct.name}, {name!r}, {struct.name}({number}))"


def _type(kind: CType) -> str:
    match kind.kind:
        case "int" | "uint":
            return f"_ctypes.c_{kind.kind}{kind.bits}"
        case "float":
            return "_ctypes.c_float" if kind.bits == 32 else "_ctypes.c_double"
        case "bool":
            return "_ctypes.c_bool"
        case "array":
            assert kind.of is not None
            return f"{_type(kind.of)} * {kind.count}"
        case "struct":
            return kind.name
    return "_ctypes.c_void_p"
