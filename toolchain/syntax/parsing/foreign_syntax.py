"""Forms of other languages, and of other versions of this one: their names, and the forms to write instead.

Input: a place where the grammar goes no further. Output: an error if such a form stands there, else None.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

from ktc.syntax.lexing.lex_error import LexError
from ktc.syntax.lexing.lexer import FOREIGN
from ktc.syntax.parsing.parse_failure import Failure, error_at

_CAST: Mapping[str, str] = MappingProxyType({
    "int": "Int", "long": "Int", "float": "Float32", "double": "Float64", "bool": "Bool", "char": "UInt8",
    "unsigned": "UInt", "size_t": "UInt", "string": "String", "str": "String", "i32": "Int32", "f32": "Float32",
})  # fmt: skip
"""Types by their names in conversions of C."""


_KEYWORDS: Mapping[str, tuple[str, str]] = MappingProxyType({
    "lambda": ("lambda expressions are not supported", "declare a nested function with 'fn'"),
    "class": ("classes are not supported", "use 'struct'"),
    "assert": ("'assert' is not a statement", "call 'debug_assert', or write 'comptime assert' for compile time"),
    "del": ("'del' is not a statement", "a value is destroyed after its last use; nothing needs to be written"),
    "global": ("'global' is not a statement", "there are no global variables; pass the value as an argument"),
    "nonlocal": ("'nonlocal' is not a statement", "a nested function sees the variables around it"),
    "yield": ("generators are not supported", "write a struct with '__iter__' and '__next__'"),
    "let": ("'let' is not a statement", "write 'var'"),
})  # fmt: skip
_TYPED = "write 'var name: {} = …'"
FOREIGN_STATEMENTS: Mapping[str, str] = MappingProxyType({
    "function": "write 'fn' or 'def'", "func": "write 'fn' or 'def'", "fun": "write 'fn' or 'def'",
    "sub": "write 'fn' or 'def'", "void": "write 'fn' or 'def'", "elseif": "write 'elif'", "elsif": "write 'elif'",
    "const": "write 'alias'", "constexpr": "write 'alias'", "static": "write 'alias'", "mut": "write 'var'",
    "auto": "write 'var'", "int": _TYPED.format("Int"), "long": _TYPED.format("Int"), "float": _TYPED.format("Float64"),
    "double": _TYPED.format("Float64"), "bool": _TYPED.format("Bool"), "char": _TYPED.format("UInt8"),
    "string": _TYPED.format("String"), "unsigned": _TYPED.format("UInt"), "size_t": _TYPED.format("UInt"),
    "switch": "write 'if' and 'elif'", "goto": "leave loops with 'break', functions with 'return'",
    "include": "write 'import'", "using": "names are imported: 'from module import name'",
    "namespace": "a file is a module; its name is the file's", "throw": "write 'raise'", "catch": "write 'except'",
    "foreach": "write 'for'", "do": "write 'while True:', and leave it with 'break'", "loop": "write 'while True:'",
    "interface": "write 'trait'", "protocol": "write 'trait'", "enum": "write a struct with aliases",
    "impl": "name the trait in the struct's declaration: 'struct S(Trait):'", "unless": "write 'if not'",
    "until": "write 'while not'", "echo": "write 'print(...)'", "final": "write 'alias'", "elif_": "write 'elif'",
    "repeat": "write 'for _ in range(…):'", "begin": "blocks are made by ':' and indentation",
    "end": "blocks are made by ':' and indentation", "package": "a folder with '__init__.kpy' is a package",
    **dict.fromkeys(("public", "pub"), "everything is public; leave it out"),
    "export": "everything is public; write '@export' above a function that C calls",
    "inline": "leave it out; '@always_inline' above a function forces it",
    "virtual": "a trait declares what its structs must have", "abstract": "write 'trait'",
    "override": "leave it out: a struct with a trait defines the trait's methods", "unsafe": "leave it out",
    "use": "write 'from module import name'", "mod": "a file is a module; its name is the file's",
    "macro": "write a function; its parameters, in '[]', are known at compile time",
    "defer": "a value is destroyed after its last use; 'with' closes files",
    "__host__": "write 'fn'; host and kernels can call it",
    "private": "everything is public; leave it out", "type": "write 'alias'", "typedef": "write 'alias'",
    "template": "parameters follow the name: 'fn f[T: …](…)'", "extern": "use 'external_call', from 'sys.ffi'",
    "__global__": "write 'fn'; the launch makes it a kernel", "__device__": "write 'fn'; kernels can call it",
    "__shared__": "memory that a block shares is a LayoutTensor's 'stack_allocation()', with an 'address_space'",
})  # fmt: skip


_C_VECTOR = re.compile(r"(float|double|int|uint|half)([234])$")
_C_VECTOR_TYPES: Mapping[str, str] = MappingProxyType({
    "float": "float32", "double": "float64", "int": "int32", "uint": "uint32", "half": "float16",
})  # fmt: skip
_TYPE_FIRST = re.compile(r"(\w+)[ \t]+(\w+)[ \t]*=(?!=)")
_ANGLES = re.compile(r"(\w+)\s*<\s*([\w, ]+)>\s*$")
_LAUNCH = "write 'ctx.enqueue_function_checked[kernel, kernel](…, grid_dim=…, block_dim=…)'"
_DELETED = re.compile(r"del\s+([\w.]+)\[([^\]\n]*)\]\s*(?:#.*)?$", re.MULTILINE)


def foreign_keyword(failure: Failure) -> LexError | None:
    """A statement of another language."""
    if failure.word in FOREIGN and failure.before() != ".":
        if found := _DELETED.match(failure.text, failure.start):
            return error_at(failure, _KEYWORDS["del"][0], f"write '_ = {found[1]}.pop({found[2]})'")
        return error_at(failure, *_KEYWORDS[failure.word])
    return None


def _operator(failure: Failure, text: str, help: str, back: int = 0) -> LexError:
    error = error_at(failure, f"'{text}' is not an operator", help)
    start = error.start - back
    error.start, error.end = start, start + len(text)
    return error


def _foreign_place(failure: Failure) -> LexError | None:
    """Pointers, ranges, generators and loops of other languages, where an expression or a type may stand."""
    text, word, previous = failure.text, failure.word, failure.before()
    if word == "*" and previous == "," and failure.head().isidentifier() and not failure.brackets:
        return error_at(failure, "'*' cannot collect the rest here", "name each item, or slice: 'rest = x[1:]'")
    if word == "*" and previous in (":", "->") and failure.head() in ("fn", "def"):
        return error_at(
            failure, "'*' makes no pointer type", "write 'UnsafePointer[T, …]' with an origin: 'MutAnyOrigin'"
        )
    if word == "*" and failure.head() in ("fn", "def") and failure.before(2) in ("(", ",") and previous.isidentifier():
        named, found = re.compile(r"\*+\s*(\w+)").match(text, failure.start), _CAST.get(previous, previous)
        written = f"{named[1]}: UnsafePointer[{found}, MutAnyOrigin]" if named else f"name: UnsafePointer[{found}, …]"
        return error_at(failure, "'*' makes no pointer type", f"write '{written}'")
    if previous == "*" and word in (",", ")", "=") and failure.head() in ("fn", "def", "var"):
        kind = _CAST.get(failure.before(2), failure.before(2))
        return error_at(failure, "'*' makes no pointer type", f"write 'UnsafePointer[{kind}, MutAnyOrigin]'")
    if previous == ">" and (angles := _ANGLES.search(text, text.rfind("\n", 0, failure.start) + 1, failure.start)):
        error = error_at(failure, "parameters are written in '[]', not in '<>'", f"write '{angles[1]}[{angles[2]}]'")
        error.start, error.end = angles.span()
        return error
    if word == "*" and failure.index == failure.first and re.match(r"\*\s*\w+\s*[-+*/]?=", text[failure.start :]):
        help = "write 'p[] = …' for what a pointer points to; a 'mut' argument needs only its name"
        return error_at(failure, "'*' reads no pointer", help)
    if failure.kind() == "FLOAT" and word.startswith(".") and previous.isidentifier():
        return error_at(failure, "an item of a tuple is not a member", f"write '{previous}[{word[1:]}]'")
    if (
        word == "*"
        and previous in ("=", "(", ",", "return", "+", "-")
        and "NAME" in failure.fitting
        and failure.head() not in ("fn", "def")
    ):
        return error_at(failure, "'*' reads no pointer", "write 'p[]' for what a pointer points to")
    if failure.kind() == "FLOAT" and previous == "." and word.startswith("."):
        return error_at(failure, "'..' makes no range", "write 'range(start, …)'")
    if word == "for" and failure.brackets and text[failure.brackets[-1]] == "(":
        return error_at(failure, "a generator is not in the language", "write a list: '[… for item in x]'")
    if word == ";" and previous[:1].isupper() and failure.brackets:
        return error_at(failure, "an array type is not written so", f"write 'InlineArray[{previous}, …]' with its size")
    if failure.head() == "for" and re.match(r"for\s*\([\w ]+:", text[failure.tokens.starts[failure.first] :]):
        error = error_at(failure, "a loop of this form is not in the language", "write 'for x in xs:'")
        error.start = failure.tokens.starts[failure.first]
        error.end = error.start + 3
        return error
    if word == "&" and previous == ":" and failure.head() in ("fn", "def"):
        return error_at(
            failure,
            "'&' makes no reference type",
            "an argument is a reference; write 'mut' before its name to change it",
        )
    return None


def foreign_operator(failure: Failure) -> LexError | None:
    """Operators of other languages: `&&`, `||`, `++`, `--`, `=>`, `->`, `::`, `<>`, `===`, `&x`, `new`, `/*`."""
    text, start, word, previous = failure.text, failure.start, failure.word, failure.before()
    if text.startswith("=>", start):
        return _operator(failure, "=>", "write '->'")
    if text.startswith("/*", start):
        return error_at(failure, "'/*' begins no comment", "a comment begins with '#'")
    if text.startswith("::", start) and failure.head() not in ("fn", "def", "struct"):
        return _operator(failure, "::", "write '.'")
    if text.startswith("<<<", start - 2) and word == "<":
        error = _operator(failure, "<<<", _LAUNCH, 2)
        return error
    if text.startswith(">>>", start - 2) and word == ">":
        return _operator(failure, ">>>", "write '>>'; of a 'UInt' it shifts in zeros", 2)
    if text.startswith("::", start - 1) and word == ":":
        line = text[start : (text + "\n").index("\n", start)]
        return _operator(failure, "::", "write 'print(...)'" if line.startswith(":cout") else "write '.'", 1)
    foreign = _foreign_place(failure)
    if foreign is not None:
        return foreign
    joined = failure.index and failure.tokens.ends[failure.index - 1] == start
    if joined and word == previous and previous in ("&", "|"):
        return _operator(failure, previous * 2, f"write '{'and' if previous == '&' else 'or'}'", 1)
    if joined and previous + word in ("<>", "===", "!=="):
        return _operator(failure, previous + word, f"write '{'==' if previous == '==' else '!='}'", len(previous))
    if previous in ("+", "-") and failure.before(2) == previous and failure.kind() in ("_NEWLINE", "RPAR", "SEMICOLON"):
        error = _operator(failure, previous * 2, f"write '{previous}= 1'", 2)
        return error
    if word == "->" and failure.head() not in ("fn", "def", "async"):
        return _operator(failure, "->", "write '.' for a member; 'p[]' is what a pointer points to")
    if word == "&" and "NAME" in failure.fitting:
        return error_at(
            failure, "'&' does not take an address", "write 'UnsafePointer(to=x)'; a reference is passed as it is"
        )
    if previous == "new" and failure.kind() == "NAME":
        error = _operator(failure, "new", f"write '{word}(...)'")
        error.start = failure.tokens.starts[failure.index - 1]
        error.end = error.start + 3
        return error
    return None


def foreign_form(failure: Failure) -> LexError | None:
    """Declarations and casts as other languages write them."""
    head, word, previous, at = failure.head(), failure.word, failure.before(), failure.index - failure.first
    is_name = failure.kind() == "NAME"
    if (head == "template" and not failure.brackets) or (head == "switch" and word == "{"):
        error = error_at(failure, f"'{head}' begins no statement", FOREIGN_STATEMENTS[head])
        error.start, error.end = failure.tokens.starts[failure.first], failure.tokens.ends[failure.first]
        return error
    if head in ("fn", "def", "struct") and word == "<" and at == 2:
        return error_at(failure, "parameters are written in '[]', not in '<>'", f"write '{head} {previous}[T: …]'")
    if head in ("fn", "def") and failure.brackets and is_name and failure.before(2) in ("(", ","):
        is_type_first = previous[:1].isupper() or word[:1].islower()
        help = f"the name comes first: '{word}: {previous}'" if is_type_first else f"write '{previous}: {word}'"
        return error_at(failure, f"expected ':' after '{previous}'", help)
    if head in ("fn", "def") and failure.kind() == "_NEWLINE" and re.match(r"\)\s*:$", _behind(failure)):
        error = error_at(failure, "the result type follows '->'", "write '->' in place of this ':'")
        error.start = failure.tokens.starts[failure.index - 3]
        error.end = error.start + 1
        return error
    if head == "var" and at == 2 and is_name:
        name, kind = (word, previous) if previous[:1].isupper() or word[:1].islower() else (previous, word)
        name, kind = (previous, word) if word in _CAST else (name, kind)
        kind = _CAST.get(kind, kind)
        return error_at(failure, f"expected the end of the line, found '{word}'", f"write 'var {name}: {kind}'")
    if head == "var" and word == "==":
        return error_at(failure, "'==' compares", "write '=' to give a value")
    if at == 1 and word == ":=":
        return error_at(failure, "':=' is not a statement", f"write '{head} ='")
    if head == "for" and word in ("=", "of") and not failure.brackets:
        return error_at(failure, f"expected 'in' after the loop variable, found '{word}'", "write 'for i in range(…):'")
    if head == "for" and re.match(r"for\s*\([^\n]*;[^\n]*;", failure.text[failure.tokens.starts[failure.first] :]):
        error = error_at(
            failure, "a loop of this form is not in the language", "write 'for i in range(start, end, step):'"
        )
        error.start = failure.tokens.starts[failure.first]
        error.end = error.start + len(head)
        return error
    if is_name and failure.brackets and previous in ("mut", "ref", "out", "inout", "read", "owned", "borrowed", "var"):
        help = f"write '{word}': the function's declaration says how it uses an argument"
        return error_at(failure, f"'{previous}' is not written in a call", help)
    if word == "as" and head not in ("import", "from", "with", "except"):
        found = re.compile(r"as\s+(\w+)").match(failure.text, failure.start)
        kind = _CAST.get(found[1], found[1]) if found else "Int"
        return error_at(failure, "'as' converts nothing", f"write '{kind}({previous if previous.isalnum() else '…'})'")
    if at == 1 and is_name and (found := _TYPE_FIRST.match(failure.text, failure.tokens.starts[failure.first])):
        lanes = _C_VECTOR.match(found[1])
        kind = f"SIMD[DType.{_C_VECTOR_TYPES[lanes[1]]}, {lanes[2]}]" if lanes else found[1]
        if head not in FOREIGN_STATEMENTS:
            return error_at(failure, f"the type '{head}' does not come first", f"write 'var {word}: {kind} = …'")
    if head == "import" and word == "from":
        return error_at(failure, "'from' comes first", "write 'from module import name'")
    is_value = is_name or failure.kind() in ("INT", "FLOAT")
    if is_value and previous == ")" and failure.before(3) == "(" and failure.before(2).isidentifier():
        kind = _CAST.get(failure.before(2), failure.before(2))
        return error_at(failure, f"'({failure.before(2)})' converts nothing", f"write '{kind}({word})'")
    if failure.index > failure.first and failure.text[failure.start - 1] in "\"'" and word.isidentifier():
        return error_at(failure, "a string ends before this", "write '\\' before a quote that belongs to it")
    return None


def _behind(failure: Failure) -> str:
    """Return `):` if the signature of the function ended in `): T:`."""
    return failure.before(4) + failure.before(3) if failure.before() == ":" else ""


_C_FUNCTION = re.compile(r"(\w+)\s+(\w+)\s*\(")


def foreign_function(failure: Failure) -> str:
    """Return the help for a function as C declares it, `int main() {`; "" if none stands there."""
    found = _C_FUNCTION.match(failure.text, failure.tokens.starts[failure.first])
    if found is None or FOREIGN_STATEMENTS.get(found[1], "").startswith("write 'var name") is (found[1] == "void"):
        return ""
    return (
        "write 'def main():'" if found[2] == "main" else f"write 'fn {found[2]}(…):', with '-> T' for what it returns"
    )
