"""A stub file (`.pyi`) for an extension module, so that type checkers and editors know its functions.

Input: `ir.exports.Exports`. Output: text.
"""

from ktc.codegen.foreign.python_structs import classes
from ktc.interop.c_header import clean
from ktc.ir.exports import CStruct, CType, Export, ExportedArgument, Exports

_NUMBERS = {"bool": "bool", "int": "int", "uint": "int", "float": "float", "text": "str", "object": "object"}


def stub(exports: Exports) -> str:
    """Return the text of the stub file."""
    parts = [_doc(exports.doc, "")] if exports.doc else []
    kinds = [argument.type for one in exports.functions for argument in one.arguments]
    found = {kind.kind for kind in kinds}
    if found & {"pointer", "struct", "function"} or exports.structs:
        parts.append("from typing import Any, TypeAlias\n")
    if found & {"pointer", "struct"}:
        parts.append(
            "Array: TypeAlias = Any  # of numpy, torch, cupy: a buffer, DLPack or the CUDA Array Interface; or None\n"
        )
    if "function" in found:
        parts.append("Callback: TypeAlias = Any  # a function of ctypes or numba (`cfunc`), or an address\n")
    structs = classes(exports)
    if structs:
        parts.insert(bool(exports.doc), "import ctypes")
    parts += [_class(one) for one in structs]
    known = frozenset(one.name for one in structs)
    return "\n".join([*parts, *(_function(one, known) for one in exports.functions)])


def _class(struct: CStruct) -> str:
    lines = [f"    {name}: {_field(kind)}" for name, kind in struct.fields]
    lines += [f"    {name}: {struct.name}" for name, _ in struct.constants]
    taken = ", ".join([f"{name}: {_field(kind)} = ..." for name, kind in struct.fields])
    lines.append(f"    def __init__(self, {taken}) -> None: ...")
    doc = [_doc(struct.doc, "    ").rstrip()] if struct.doc else []
    return "\n".join([f"class {struct.name}(ctypes.Structure):", *doc, *lines, ""])


def _field(kind: CType) -> str:
    match kind.kind:
        case "array":
            return "ctypes.Array[Any]"
        case "struct":
            return kind.name
        case "pointer" | "function":
            return "int | None"
    return _NUMBERS[kind.kind]


def _function(export: Export, structs: frozenset[str]) -> str:
    arguments = ", ".join([_argument(one) for one in export.arguments])
    head = f"def {export.name}({arguments}) -> {_given(export.result, structs)}:"
    return f"{head}\n{_doc(export.doc, '    ')}" if export.doc else f"{head} ...\n"


def _argument(one: ExportedArgument) -> str:
    if one.default is None:
        return f"{one.name}: {_taken(one.type)}"
    shown = bool(one.default) if one.type.kind == "bool" else one.default
    return f"{one.name}: {_taken(one.type)} = {shown}"


def _taken(kind: CType) -> str:
    return "Callback" if kind.kind == "function" else _NUMBERS.get(kind.kind, "Array")


def _given(kind: CType, structs: frozenset[str]) -> str:
    if kind.kind == "struct":
        return kind.name if kind.name in structs else "bytes"
    return {"void": "None", "pointer": "int", "function": "int"}.get(kind.kind) or _NUMBERS[kind.kind]


def _doc(doc: str, indent: str) -> str:
    text = clean(doc).replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    lines = [f"{indent}{line}".rstrip() for line in f'"""{text}'.split("\n")]
    return "\n".join(lines) + (f'\n{indent}"""\n' if len(lines) > 1 else '"""\n')
