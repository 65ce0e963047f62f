"""Entry points for C: functions that take arguments as C passes them and call the program's own.

Input: `ir.exports.Export`. Output: `FunctionText` of a function that C can call. One that raises gives a status and
writes its result where the caller says, and the error's text likewise; both addresses may be null.
"""

from ktc.codegen.context import Context, Uses
from ktc.codegen.foreign import c_abi
from ktc.codegen.functions import FunctionText
from ktc.codegen.values.constants import symbol
from ktc.ir.exports import CType, Export, ExportedArgument
from ktc.ir.nodes import Function
from ktc.ir.types import BOOL, PTR, VOID, Type, align_of, size_of

RAISED = 1
"""The status of a call that has raised an error; 0 of any other."""


def entry_point(context: Context, export: Export) -> FunctionText:
    """Return the function that C calls."""
    context.uses = uses = Uses()
    text = _Plain(context, export) if export.is_plain else _EntryPoint(context, export)
    context.use(export.body)
    if export.report:
        context.use(export.report)
    lines, back, parameters = text.write()
    function = Function(export.name, export.name, (), VOID, (), "export", span=export.span)
    return FunctionText(function, back, tuple(parameters), (), "", "\n".join(["entry:", *lines]), uses)


def unloading(name: str) -> str:
    """Return the table entry by which the system calls a function when the library is unloaded."""
    return (
        "@llvm.global_dtors = appending global [1 x { i32, ptr, ptr }] "
        f"[{{ i32, ptr, ptr }} {{ i32 65535, ptr {symbol(name)}, ptr null }}]"
    )


Written = tuple[list[str], str, list[tuple[str, str]]]
"""The lines of the body, the result's type, and the parameters."""


class _Plain:
    """An entry point with the arguments of the function itself, whose types C does not have."""

    def __init__(self, context: Context, export: Export) -> None:
        self._context, self._export = context, export

    def write(self) -> Written:
        context = self._context
        function = context.unit.functions[self._export.body]
        kinds = [kind for _, kind in function.params if not context.types.is_empty(kind)]
        words = [f"{context.types.value(kind)}{' zeroext' if kind == BOOL else ''}" for kind in kinds]
        passed = ", ".join([f"{word} %a{index}" for index, word in enumerate(words)])
        back = "void" if context.types.is_empty(function.result) else context.types.value(function.result)
        back = f"zeroext {back}" if function.result == BOOL else back
        call = f"call {back} {symbol(function.symbol)}({passed})"
        gives = back != "void"
        lines = [
            f"  {'%r = ' if gives else ''}{call}",
            f"  ret {back.removeprefix('zeroext ')}{' %r' if gives else ''}",
        ]
        parameters = [
            (context.types.value(kind), f"{'zeroext ' if kind == BOOL else ''}%a{index}")
            for index, kind in enumerate(kinds)
        ]
        return lines, back, parameters


class _EntryPoint:
    """An entry point with the arguments that the header declares."""

    def __init__(self, context: Context, export: Export) -> None:
        self._context, self._export, self._types = context, export, context.types
        self._triple = context.target.triple
        self._by_address = (
            not export.raises and export.result_kind != VOID and c_abi.in_memory(export.result_kind, self._triple)
        )
        self._convention = c_abi.Convention(self._triple, self._by_address)
        self._lines: list[str] = []
        self._stack: list[str] = []
        self._parameters: list[tuple[str, str]] = []
        self._passed: list[str] = []

    def write(self) -> Written:
        export = self._export
        if self._by_address:
            kind = self._types.memory(export.result_kind)
            self._parameters.append(("ptr", f"sret({kind}) align {align_of(export.result_kind)} %result"))
        taken = [self._argument(index, one) for index, one in enumerate(export.arguments)]
        self._passed = [word for word in taken if word]
        back = self._raising() if export.raises else self._returning()
        return [*self._stack, *self._lines], back, self._parameters

    # ---- arguments ----

    def _argument(self, index: int, argument: ExportedArgument) -> str:
        """Take an argument; return it as the program's function wants it, "" for nothing."""
        name, kind = f"%a{index}", argument.kind
        if argument.passing == "none" or self._types.is_empty(kind):
            return ""
        passed = self._convention.argument(PTR if argument.passing == "address" else kind)
        if passed.is_scalar:
            word = self._types.value(kind)
            mark = "zeroext " if kind == BOOL else ""
            self._parameters.append((word, f"{mark}{name}"))
            if argument.passing != "memory":
                return f"{word} {mark}{name}"
            return f"ptr {self._kept(name, kind, name)}"
        place = self._from_pieces(name, argument, passed)
        if argument.passing == "memory":
            return f"ptr {place}"
        word = self._types.memory(kind)
        self._lines.append(f"  {name}.v = load {word}, ptr {place}, align {align_of(kind)}")
        return f"{self._types.value(kind)} {name}.v"

    def _kept(self, name: str, kind: Type, value: str) -> str:
        """Put a scalar into memory; return its address."""
        place = self._room(f"{name}.at", kind)
        if kind == BOOL:
            self._lines.append(f"  {name}.b = zext i1 {value} to i8")
            value = f"{name}.b"
        self._lines.append(f"  store {self._types.memory(kind)} {value}, ptr {place}, align {align_of(kind)}")
        return place

    def _from_pieces(self, name: str, argument: ExportedArgument, passed: c_abi.Passed) -> str:
        """Return the address of an aggregate that comes in pieces or through memory."""
        kind = argument.kind
        if not passed.pieces:
            mark = ""
            if passed.is_on_stack:
                mark = f"byval({self._types.memory(kind)}) align {c_abi.alignment(kind)} "
            self._parameters.append(("ptr", f"{mark}{name}"))
            return name
        place = self._room(f"{name}.at", kind)
        if passed.group:
            self._parameters.append((passed.group, name))
            self._lines.append(f"  store {passed.group} {name}, ptr {place}, align 8")
            return place
        for number, (offset, word) in enumerate(passed.pieces):
            piece = f"{name}.{number}"
            self._parameters.append((word, piece))
            at = self._at(place, offset, f"{piece}.at")
            self._lines.append(f"  store {word} {piece}, ptr {at}, align 8")
        return place

    def _room(self, name: str, kind: Type) -> str:
        """Make room for a value, rounded up to whole words: pieces may be longer than its rest."""
        words = (size_of(kind) + 7) // 8
        self._stack.append(f"  {name} = alloca [{words} x i64], align {max(align_of(kind), 8)}")
        return name

    def _at(self, place: str, offset: int, name: str) -> str:
        if not offset:
            return place
        self._lines.append(f"  {name} = getelementptr i8, ptr {place}, i64 {offset}")
        return name

    # ---- results ----

    def _call(self, back: str, extra: tuple[str, ...], name: str) -> None:
        words = ", ".join([*extra[:1], *self._passed, *extra[1:]])
        given = f"{name} = " if back != "void" else ""
        self._lines.append(f"  {given}call {back} {symbol(self._export.body)}({words})")

    def _returning(self) -> str:
        export, kind = self._export, self._export.result_kind
        if kind == VOID or self._types.is_empty(kind):
            self._call("void", (), "")
            self._lines.append("  ret void")
            return "void"
        passed = self._convention.result(kind)
        word = self._types.value(kind)
        if export.result_passing == "memory":
            place = "%result" if self._by_address else self._room("%r.at", kind)
            self._passed.insert(0, f"ptr {place}")
            self._call("void", (), "")
        else:
            self._call(f"zeroext {word}" if kind == BOOL else word, (), "%r")
            if passed.is_scalar:
                self._lines.append(f"  ret {word} %r")
                return _extended(export.result, word)
            place = "%result" if self._by_address else self._room("%r.at", kind)
            self._lines.append(f"  store {self._types.memory(kind)} %r, ptr {place}, align {align_of(kind)}")
        if self._by_address:
            self._lines.append("  ret void")
            return "void"
        group = passed.group or self._types.memory(kind)
        if passed.is_scalar and kind == BOOL:
            self._lines += [f"  %b = load i8, ptr {place}", "  %t = trunc i8 %b to i1", "  ret i1 %t"]
            return "zeroext i1"
        self._lines += [f"  %v = load {group}, ptr {place}, align 8", f"  ret {group} %v"]
        return group

    def _raising(self) -> str:
        export, kind = self._export, self._export.result_kind
        gives = kind != VOID and not self._types.is_empty(kind)
        error = self._room("%error.at", export.error_kind)
        if gives:
            self._parameters.append(("ptr", "%result"))
            self._passed.insert(0, f"ptr {self._room('%r.at', kind)}")
        self._parameters.append(("ptr", "%error"))
        self._passed.append(f"ptr {error}")
        self._call("zeroext i1", (), "%raised")
        self._lines += [
            "  br i1 %raised, label %failed, label %done",
            "failed:",
            f"  call void {symbol(export.report)}(ptr {error}, ptr %error)",
            f"  ret i32 {RAISED}",
            "done:",
        ]
        if gives:
            self._lines += [
                "  %asked = icmp ne ptr %result, null",
                "  br i1 %asked, label %give, label %end",
                "give:",
                f"  call void @llvm.memcpy.p0.p0.i64(ptr %result, ptr %r.at, i64 {size_of(kind)}, i1 false)",
                "  br label %end",
                "end:",
            ]
        self._lines.append("  ret i32 0")
        return "i32"


def _extended(kind: CType, word: str) -> str:
    """Return the type of a scalar result with C's attributes of a narrow one."""
    if kind.kind == "bool":
        return f"zeroext {word}"
    if kind.bits in (8, 16) and kind.kind in ("int", "uint"):
        return f"{'signext' if kind.kind == 'int' else 'zeroext'} {word}"
    return word
