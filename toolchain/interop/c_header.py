"""The header for C11 and C++ of a library's exports.

Input: `ir.exports.Exports`. Output: text. Names are those of the program; one that is a word of C, or that another
argument or field has, gets a `_` after it, and what C has in no name becomes one.
"""

import re
import textwrap
from collections.abc import Iterable, Iterator

from ktc.ir.exports import CStruct, CType, Export, Exports

_WORDS = frozenset((
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch", "char",
    "class", "compl", "concept", "const", "consteval", "constexpr", "constinit", "const_cast", "continue", "co_await",
    "co_return", "co_yield", "decltype", "default", "delete", "do", "double", "dynamic_cast", "else", "enum",
    "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if", "inline", "int", "long",
    "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or", "or_eq", "private",
    "protected", "public", "register", "reinterpret_cast", "requires", "restrict", "return", "short", "signed",
    "sizeof", "static", "static_assert", "static_cast", "struct", "switch", "template", "this", "thread_local",
    "throw", "true", "try", "typedef", "typeid", "typename", "union", "unsigned", "using", "virtual", "void",
    "volatile", "wchar_t", "while", "xor", "xor_eq",
))  # fmt: skip

_STATUS = """\
#ifndef KTC_STATUS_DEFINED
#define KTC_STATUS_DEFINED
/* What a function that can fail returns. */
typedef enum ktc_status {
    KTC_OK = 0,
    KTC_RAISED = 1 /* an error was raised; the result was not written */
} ktc_status;

/* Why a call failed: UTF-8 with a zero byte at its end, cut where it is longer. NULL may be passed instead. */
typedef struct ktc_error {
    char text[512];
} ktc_error;
#endif
"""

_TEXT = """\
#ifndef KTC_TEXT_DEFINED
#define KTC_TEXT_DEFINED
/* Some bytes of UTF-8, with or without a zero byte after them. */
typedef struct ktc_text {
    const char *data;
    int64_t size;
} ktc_text;
#endif
"""


def header(exports: Exports, name: str) -> str:
    """Return the header of a library that is called `name`."""
    guard = re.sub(r"\W|^(?=\d)", "_", name, flags=re.ASCII).upper().lstrip("_") + "_H"
    guard = f"H_{guard}" if not guard[0].isalpha() else guard
    parts = [_comment(exports.doc or f"Functions of {name}."), f"#ifndef {guard}\n#define {guard}\n"]
    parts.append("#include <stdbool.h>\n#include <stdint.h>\n")
    parts.append('#ifdef __cplusplus\nextern "C" {\n#endif\n')
    if any(one.raises for one in exports.functions):
        parts.append(_STATUS)
    if any(kind.kind == "text" for kind in _all_types(exports)):
        parts.append(_TEXT)
    if exports.structs:
        parts.append("".join(f"typedef struct {one.name} {one.name};\n" for one in exports.structs))
    parts += [_struct(one) for one in exports.structs if one.fields]
    parts += [_declared(one) for one in exports.functions if not one.is_plain]
    parts.append("#ifdef __cplusplus\n}\n#endif\n")
    parts.append(f"#endif /* {guard} */\n")
    return "\n".join(parts)


def _all_types(exports: Exports) -> Iterator[CType]:
    roots = [one.result for one in exports.functions]
    roots += [argument.type for one in exports.functions for argument in one.arguments]
    roots += [kind for one in exports.structs for _, kind in one.fields]
    for kind in roots:
        inner: CType | None = kind
        while inner is not None:
            yield inner
            yield from inner.args
            inner = inner.of


def _declared(export: Export) -> str:
    if export.name in _WORDS:
        return f"/* '{export.name}' is a word of C or C++, and cannot be declared. */\n"
    return f"{_comment(export.doc)}{prototype(export)};\n"


def prototype(export: Export) -> str:
    """Return the declaration of a function, without the semicolon."""
    given = [one for one in export.arguments if one.type.kind != "void"]
    *names, result_name, error_name = names_in_c([*(one.name for one in given), "result", "error"])
    arguments = [declaration(one.type, name) for one, name in zip(given, names, strict=True)]
    result = export.result
    if export.raises:
        if result.kind != "void":
            arguments.append(declaration(CType("pointer", of=result), result_name))
        arguments.append(f"ktc_error *{error_name}")
    listed = ", ".join(arguments) or "void"
    return declaration(CType("status") if export.raises else result, f"{export.name}({listed})")


def names_in_c(names: Iterable[str]) -> list[str]:
    """Return names of arguments or fields as C can have them, all different."""
    found: list[str] = []
    for name in names:
        plain = re.sub(r"\W|^(?=\d)", "_", name, flags=re.ASCII)
        while plain in _WORDS or plain in found:
            plain += "_"
        found.append(plain)
    return found


def declaration(kind: CType, name: str) -> str:
    """Return how C declares something of a type."""
    match kind.kind:
        case "pointer":
            assert kind.of is not None
            if kind.writes:
                return declaration(kind.of, f"*{name}")
            if kind.of.kind in ("pointer", "function"):
                return declaration(kind.of, f"const *{name}")
            return f"const {declaration(kind.of, f'*{name}')}"
        case "array":
            assert kind.of is not None
            return f"{declaration(kind.of, name)}[{kind.count}]"
        case "function":
            assert kind.of is not None
            taken = ", ".join([declaration(one, "").rstrip() for one in kind.args]) or "void"
            return declaration(kind.of, f"(*{name})({taken})")
    return f"{type_name(kind)} {name}"


def type_name(kind: CType) -> str:
    """Return the name of a type that has one."""
    match kind.kind:
        case "int" | "uint":
            return kind.name or f"{kind.kind}{kind.bits}_t"
        case "float":
            return {16: "_Float16", 32: "float", 64: "double"}[kind.bits]
        case "struct":
            return kind.name
        case "object":
            return "void *"
        case "text" | "status":
            return f"ktc_{kind.kind}"
    return kind.kind


def _struct(one: CStruct) -> str:
    names = names_in_c(name for name, _ in one.fields)
    fields = "".join(f"    {declaration(kind, name)};\n" for name, (_, kind) in zip(names, one.fields, strict=True))
    listed = ",\n".join([f"    {one.name}_{name} = {number}" for name, number in one.constants])
    values = f"\nenum {{\n{listed}\n}};\n" if one.constants else ""
    return f"{_comment(one.doc)}struct {one.name} {{\n{fields}}};\n{values}"


def _comment(doc: str) -> str:
    text = clean(doc).replace("*/", "* /")
    if not text:
        return ""
    lines = text.split("\n")
    if len(lines) == 1:
        return f"/* {text} */\n"
    return "/*\n" + "".join(f" * {line}".rstrip() + "\n" for line in lines) + " */\n"


def clean(doc: str) -> str:
    """Return a docstring without the indentation of the source and without empty lines around it."""
    first, _, rest = doc.strip().partition("\n")
    return f"{first.rstrip()}\n{textwrap.dedent(rest)}".rstrip() if rest else first
