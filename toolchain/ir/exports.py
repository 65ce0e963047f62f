"""A program's interface for C: exported functions, and the types in their signatures.

Input: nothing. Output: records that `elaborate` makes, `codegen` makes entry points of, and `interop` writes headers
from.
"""

from collections.abc import Iterator

from ktc.base.records import record
from ktc.diag.source import Span
from ktc.ir.types import VOID, Type


@record
class CType:
    """A type as C has it.

    Args:
        kind: "void", "bool", "int", "uint", "float", "pointer", "array", "struct", "function" (the address of one),
            "text" (an address and a length) or "object" (of Python).
        bits: of a number.
        of: a pointer's target (void where C has no name for it), the element of an array, or the result of a
            function.
        args: of a function.
        count: of an array.
        name: of a struct; `Exports.structs` has its fields. Of a number a name that C has for it ("char").
        writes: whether a pointer's target may be changed.
    """

    kind: str
    bits: int = 0
    of: "CType | None" = None
    count: int = 0
    name: str = ""
    writes: bool = True
    args: "tuple[CType, ...]" = ()


C_VOID = CType("void")


@record
class CStruct:
    """A struct of the program as C has it.

    Args:
        fields: in order, without those that take no memory; none of a struct that C only points to.
        constants: the numbers that the struct's own names stand for, of one that holds a single whole number.
    """

    name: str
    fields: tuple[tuple[str, CType], ...]
    doc: str = ""
    constants: tuple[tuple[str, int], ...] = ()


@record
class ExportedArgument:
    """One argument of an exported function.

    Args:
        type: as C passes it. kind: in the IR.
        passing: how the function takes it: "none", "direct", "memory" (the address of a copy) or "address" (C's own).
        default: the number that stands for it where a caller in Python leaves it out.
    """

    name: str
    type: CType
    kind: Type
    passing: str
    default: int | float | None = None


@record
class Export:
    """One exported function.

    Args:
        name: its symbol for C. body: the symbol of the function that does the work.
        result: as C sees it. result_kind: in the IR; VOID for none.
        result_passing: how the function gives it: "none", "direct", "memory" or "ref".
        error_kind: the representation of errors; VOID if it raises none.
        report: the symbol of the function that writes an error's text for the caller, "" if it raises none.
        is_plain: it has types that C lacks: its entry point takes what the function takes.
    """

    name: str
    body: str
    arguments: tuple[ExportedArgument, ...] = ()
    result: CType = C_VOID
    result_kind: Type = VOID
    result_passing: str = "none"
    error_kind: Type = VOID
    report: str = ""
    doc: str = ""
    span: Span | None = None
    is_plain: bool = False

    @property
    def raises(self) -> bool:
        """Whether it gives a status, and its result through an address."""
        return bool(self.report)


@record
class Exports:
    """All that a program exports.

    Args:
        structs: the structs passed by value or pointed to; each after those that it holds.
        unload: the symbol of the function that ends what the library has begun, "" in an executable.
        module: the name of an extension module of Python, "" for what is none.
        python: the symbols of the functions that take its arguments, give them back, and raise an exception.
    """

    functions: tuple[Export, ...] = ()
    structs: tuple[CStruct, ...] = ()
    unload: str = ""
    doc: str = ""
    module: str = ""
    python: tuple[str, ...] = ()

    def roots(self) -> Iterator[str]:
        """Give the symbols of the functions that entry points call."""
        for one in self.functions:
            yield one.body
            if one.report:
                yield one.report
        yield from self.python
        if self.unload:
            yield self.unload
