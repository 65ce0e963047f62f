"""The canonical text of the IR, for `ktc emit --kind ir`, goldens, and the keys of the cache.

Input: a unit, function or value. Output: text that depends on the meaning alone: no object identities, no spans, no
paths. Functions and globals are sorted by name.

    func @sum(%0 n: i64) -> i64 internal "sum" {
        declare %total.1: i64
        store %total.1, i64 0
        loop 0 {
            %t2 = load i64 %total.1
            if sge(%t2, %0) {
                break 0
            }
"""

import math
from collections.abc import Iterable
from typing import Any

from ktc.diag.source import Span
from ktc.ir import nodes as ir
from ktc.ir.arithmetic import float_to_bits
from ktc.ir.ops import ROWS
from ktc.ir.types import ArrayType, FloatType, IntType, PointerType, StructType, Type, VectorType
from ktc.ir.walk import operands, shared

_TYPED = frozenset({"fptosi", "fptoui", "splat", "make"})
"""Operations besides casts whose result type does not follow from their operands."""

_DEEPEST = 40
_LARGEST = 200  # a statement with more operations than this is printed with its shared operations named


def print_unit(unit: ir.Unit, *, with_spans: bool = False) -> str:
    """Return the text of a unit."""
    parts = [f"unit {getattr(unit.target, 'name', '')}\n"]
    kernels = sorted(unit.kernels, key=lambda kernel: kernel.symbol)
    parts.append("".join(f"kernel @{kernel.symbol} {_quoted(kernel.title)}\n" for kernel in kernels))
    parts.append("".join(print_global(unit.globals[name]) for name in sorted(unit.globals)))
    parts += [print_function(unit.functions[name], with_spans=with_spans) for name in sorted(unit.functions)]
    return "\n".join(part for part in parts if part)


def print_function(function: ir.Function, *, with_spans: bool = False) -> str:
    """Return the text of a function."""
    params = ", ".join(f"%{at} {name}: {kind}" for at, (name, kind) in enumerate(function.params))
    marks = [function.linkage, function.inline and f"inline_{function.inline}", function.noreturn and "noreturn"]
    marks += [] if function.traced else ["untraced"]
    marks += ["unchecked"] if function.unchecked else []
    marks += ["_".join([name, *map(str, numbers)]) for name, numbers in function.bounds.items()]
    words = " ".join(str(mark) for mark in marks if mark)
    printer = _Printer(with_spans)
    head = f"func @{function.symbol}({params}) -> {function.result} {words} {_quoted(function.title)} {{"
    printer.line(head, function.span)
    printer.body(function.body)
    printer.line("}")
    return "\n".join(printer.lines) + "\n"


def print_global(variable: ir.Global) -> str:
    """Return the line of a global."""
    match variable.content:
        case None:
            content = "zero"
        case bytes() as raw:
            content = _quoted_bytes(raw)
        case ir.Const(kind, plain):
            content = _plain(kind, plain)
        case ir.ImageRef(unit, kernel, kind_of_image):
            content = f"image {unit} @{kernel} {kind_of_image}"
        case ir.SourcePlace(path, row, column, title):
            file = _quoted_bytes(path.encode("utf-8", "surrogateescape"))
            content = f"place {file}:{row}:{column} {_quoted_bytes(title.encode())}"
    word = "constant" if variable.constant else "global"
    space = f" space {variable.space}" if variable.space else ""
    align = f" align {variable.align}" if variable.align else ""
    return f"{word} @{variable.name}: {variable.type} = {content}{space}{align}\n"


def print_value(value: ir.Value) -> str:
    """Return the text of a value."""
    return _value(value, {})


# ---- values -------------------------------------------------------------------------------------------


def _quoted(text: str) -> str:
    return _quoted_bytes(text.encode("utf-8", "surrogateescape"))


def _quoted_bytes(raw: bytes) -> str:
    quoted = "".join(chr(b) if 32 <= b < 127 and b not in (34, 92) else f"\\{b:02x}" for b in raw)
    return f'"{quoted}"'


def _float(kind: FloatType, value: float) -> str:
    # repr is the shortest text that reads back as the same double; NaNs differ in their bits only
    return repr(value) if math.isfinite(value) else f"0x{float_to_bits(kind, value):x}"


def _plain(kind: Type, plain: Any) -> str:
    match plain:
        case ir.Address(name, offset):
            return f"&{name}{f'{offset:+d}' if offset else ''}"
        case ir.ImageSize(name):
            return f"sizeof({name})"
    match kind:
        case PointerType():
            return "null" if plain == 0 else f"0x{plain:x}"
        case FloatType():
            return _float(kind, plain)
        case IntType(1):
            return "true" if plain else "false"
        case VectorType(element, _):
            return "<" + ", ".join(_plain(element, part) for part in plain) + ">"
        case ArrayType(element, _):
            return "[" + ", ".join(_plain(element, part) for part in plain) + "]"
        case StructType(fields):
            return "{" + ", ".join(map(_plain, fields, plain)) + "}"
        case _:
            return str(plain)


def _attr(attr: object) -> str:
    if attr is None:
        return ""
    if isinstance(attr, tuple):
        return "[" + ", ".join(map(str, attr)) + "]"
    return f"[{attr}]"


def _local(local: ir.Local) -> str:
    return f"%{local.name}.{local.id}"


def _value(value: ir.Value, names: dict[int, str]) -> str:
    match value:
        case ir.Const(kind, plain):
            return f"{kind} {_plain(kind, plain)}"
        case ir.Temp(number):
            return f"%t{number}"
        case ir.Argument(index):
            return f"%{index}"
        case ir.LocalAddress(local):
            return _local(local)
        case ir.GlobalAddress(name, space):
            return f"@{name}" if space == 0 else f"@{name}({space})"
        case ir.Op():
            return names.get(id(value)) or _operation(value, names)


def _operation(op: ir.Op, names: dict[int, str]) -> str:
    args = ", ".join([_value(arg, names) for arg in op.args])
    kind = f": {op.type}" if op.name in _TYPED or ROWS[op.name].kind == "cast" else ""
    return f"{op.name}{_attr(op.attr)}({args}{kind})"


def _tree_size(values: Iterable[ir.Value]) -> int:
    """Return how many operations the text of these values has, each counted as often as it is written."""
    sizes: dict[int, int] = {}
    total = 0
    for value in values:
        work: list[tuple[ir.Value, bool]] = [(value, False)]
        while work:
            node, done = work.pop()
            if not isinstance(node, ir.Op) or (id(node) in sizes and not done):
                continue
            if done:
                sizes[id(node)] = 1 + sum(sizes[id(arg)] for arg in node.args if isinstance(arg, ir.Op))
            else:
                work.append((node, True))
                work += [(arg, False) for arg in node.args]
        total += sizes.get(id(value), 0)
    return total


# ---- statements ---------------------------------------------------------------------------------------


class _Printer:
    """Collects the lines of one function."""

    def __init__(self, with_spans: bool) -> None:
        self.with_spans = with_spans
        self.lines: list[str] = []
        self.indent = 0
        self.names: dict[int, str] = {}

    def line(self, text: str, span: Span | None = None) -> None:
        """Write one line."""
        comment = f"  ; {span.location()}" if span is not None and self.with_spans else ""
        self.lines.append("    " * self.indent + text + comment)

    def body(self, body: tuple[ir.Statement, ...]) -> None:
        """Write statements one level deeper."""
        self.indent += 1
        for statement in body:
            self.statement(statement)
        self.indent -= 1

    def block(self, head: str, body: tuple[ir.Statement, ...], span: Span | None = None) -> None:
        """Write `head { body }`."""
        self.line(head + " {", span)
        self.body(body)
        self.line("}")

    def value(self, value: ir.Value) -> str:
        """Return the text of a value of the statement that is being written."""
        return _value(value, self.names)

    def values(self, values: Iterable[ir.Value]) -> str:
        """Return values separated by commas."""
        return ", ".join([_value(value, self.names) for value in values])

    def prepare(self, statement: ir.Statement) -> None:
        """Name what a large statement would repeat."""
        self.names.clear()
        values = operands(statement)
        if _tree_size(values) <= _LARGEST:
            return
        for op in shared(values, _DEEPEST):
            text = self.value(op)
            name = f"#{len(self.names)}"
            self.line(f"where {name} = {text}")
            self.names[id(op)] = name

    def statement(self, statement: ir.Statement) -> None:
        """Write one statement."""
        self.prepare(statement)
        span = getattr(statement, "span", None)
        match statement:
            case ir.Let(temp, action):
                into = f"%t{temp.id} = " if temp is not None else ""
                self.line(into + self.action(action), span)
            case ir.Store(pointer, value, align, volatile):
                self.line(f"store{_flags(align, volatile)} {self.values((pointer, value))}", span)
            case ir.MemCopy(target, origin, size, align, may_overlap):
                word = "memmove" if may_overlap else "memcpy"
                self.line(f"{word} {self.values((target, origin, size))} align {align}", span)
            case ir.MemSet(target, byte, size, align):
                self.line(f"memset {self.values((target, byte, size))} align {align}", span)
            case ir.Declare(local):
                self.declare(local)
            case ir.Mark(kind, local, path):
                self.line(f"mark {kind} {_local(local)}{''.join(f'.{part}' for part in path)}", span)
            case ir.If(condition, then, orelse):
                self.line(f"if {self.value(condition)} {{", span)
                self.body(then)
                if orelse:
                    self.line("} else {")
                    self.body(orelse)
                self.line("}")
            case ir.Loop(label, body):
                self.block(f"loop {label}", body, span)
            case ir.Block(label, body):
                self.block(f"block {label}", body)
            case ir.Break(label):
                self.line(f"break {label}")
            case ir.Continue(label):
                self.line(f"continue {label}")
            case ir.Return(value_or_none):
                self.line("return" if value_or_none is None else f"return {self.value(value_or_none)}", span)
            case ir.Unreachable():
                self.line("unreachable")

    def declare(self, local: ir.Local) -> None:
        """Write a declaration with all that its local says."""
        text = f"declare {_local(local)}: {local.type}"
        if local.align:
            text += f" align {local.align}"
        if local.drop:
            text += f" drop @{local.drop}"
        if local.points_to:
            text += f" points_to {', '.join(map(_local, local.points_to))}"
        self.line(text + (" points_to_all" if local.points_to_all else ""), local.span)

    def action(self, action: ir.Action) -> str:
        """Return the text of the right-hand side of a Let."""
        match action:
            case ir.Op():
                return self.value(action)
            case ir.Load(pointer, kind, align, volatile, invariant):
                how = " invariant" if invariant else ""
                return f"load{how}{_flags(align, volatile)} {kind} {self.value(pointer)}"
            case ir.Call(symbol, args, kind):
                return f"call @{symbol}({self.values(args)}): {kind}"
            case ir.CallExternal(symbol, args, kind, fixed):
                variadic = f" variadic {fixed}" if fixed >= 0 else ""
                return f"external @{symbol}({self.values(args)}): {kind}{variadic}"
            case ir.CallIndirect(pointer, args, kind):
                return f"indirect {self.value(pointer)}({self.values(args)}): {kind}"
            case ir.CallIntrinsic(name, args, kind, pure):
                return f"intrinsic{' pure' if pure else ''} {name}({self.values(args)}): {kind}"
            case ir.InlineAsm(text, constraints, args, kind, pure):
                quoted = f"{_quoted(text)}, {_quoted(constraints)}"
                return f"asm{' pure' if pure else ''} {quoted}({self.values(args)}): {kind}"
            case ir.AtomicRmw(op, pointer, value, kind, ordering, scope):
                order = _order(ordering, scope)
                return f"atomic {op}{order}({self.values((pointer, value))}): {kind}"
            case ir.CompareExchange(pointer, expected, desired, kind, ordering, scope):
                order = _order(ordering, scope)
                return f"cmpxchg{order}({self.values((pointer, expected, desired))}): {kind}"
            case ir.Fence(_, ordering, scope):
                return f"fence{_order(ordering, scope)}"


def _flags(align: int, volatile: bool) -> str:
    return (" volatile" if volatile else "") + (f" align {align}" if align else "")


def _order(ordering: str, scope: str) -> str:
    return f" {ordering}{f' scope {scope}' if scope else ''} "
