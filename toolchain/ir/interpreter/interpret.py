"""The interpreter of the IR: compile-time evaluation, and the reference that compiled code is tested against.

Input: functions and globals by name, a symbol and plain arguments. Output: the plain result; pointers are integers into
the interpreter's own memory, which `freeze` turns into constants again. Each function is translated to Python text once
(`ir.translate`) and run by CPython. Marks are ignored: passes have made destructor calls of them.
"""

import builtins
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, FunctionType, TracebackType
from typing import Any

from ktc.diag.diagnostic import Bug
from ktc.diag.source import Span
from ktc.ir import nodes as ir
from ktc.ir.arithmetic import ROUND
from ktc.ir.interpreter.external_functions import EXTERNALS, Foreign, intrinsic
from ktc.ir.interpreter.freeze import Freezer
from ktc.ir.interpreter.memory import OFFSET_MASK, Failure, Memory
from ktc.ir.interpreter.translate import Shapes, Translation, compiled, translate
from ktc.ir.interpreter.translate_values import evaluator
from ktc.ir.ops import evaluate
from ktc.ir.types import PTR, Type, size_of

MAX_FRAMES = 2000
"""How deep calls may be nested at compile time."""


class EvaluationError(Exception):
    """Compile-time evaluation failed.

    Args:
        kind: "limit" (steps, memory, depth), "fault" (bad memory access), "unsupported" (cannot run at compile time) or
            "trap" (the program stopped itself).
        span: the innermost place that is known.
        stack: (function title, span of the call or of the failure) from the outermost to the innermost.
    """

    def __init__(
        self, kind: str, message: str, span: Span | None = None, stack: tuple[tuple[str, Span | None], ...] = ()
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.span = span
        self.stack = stack


class Interpreter:
    """Runs functions; memory and translations live as long as it does.

    Args:
        functions: gives a function of the unit by its symbol; may raise KeyError.
        globals: gives a global, or None.
        max_steps: statements that one `call` may run.
        max_bytes: memory that may be live at a time.
    """

    def __init__(
        self,
        functions: Callable[[str], ir.Function],
        globals: Callable[[str], ir.Global | None],
        max_steps: int = 50_000_000,
        max_bytes: int = 256 << 20,
        shapes: Mapping[str, bytes] | None = None,
    ) -> None:
        self.functions = functions
        self.globals = globals
        self.max_steps = max_steps
        self.memory = Memory(max_bytes)
        self._steps = [0]
        self._addresses: dict[str, int] = {}
        self._symbols: dict[int, str] = {}
        self._names: dict[object, str] = {}
        # by the identity of the code, since equal texts make equal code objects; the code is kept alive here
        self.shapes = Shapes(shapes or {})
        self._translations: dict[int, tuple[CodeType, ir.Function, Translation]] = {}
        self._running = False
        self._namespace = self._helpers()

    # ---- running -----------------------------------------------------------------------------------------

    def call(self, symbol: str, args: Sequence[ir.Plain]) -> Any:
        """Call a function of the unit and return its plain result (None if it has none).

        Raises:
            EvaluationError: it cannot run, or fails.
        """
        return self._run(lambda: self._namespace[self.function(symbol)], args)

    def run(self, function: ir.Function, args: Sequence[ir.Plain] = ()) -> Any:
        """Run a function that is in no unit, as `call`; it is translated for each call."""
        return self._run(lambda: self._translate(function, once=True), args)

    def prepare(self, function: ir.Function) -> Callable[[Sequence[ir.Plain]], Any]:
        """Translate a function that is in no unit once, and return what runs it, as `run` does."""
        made = self._translate(function)
        return lambda args: self._run(lambda: made, args)

    def _run(self, find: Callable[[], Any], args: Sequence[ir.Plain]) -> Any:
        outer_limit, outer = sys.getrecursionlimit(), self._running
        if not outer:
            self._steps[0] = self.max_steps
        self._running = True
        # one IR call is one Python frame; helpers and first translations need a few more
        sys.setrecursionlimit(_depth() + MAX_FRAMES + 50)
        try:
            return find()(*[self._resolve(arg) for arg in args])
        except EvaluationError:
            raise
        except (Failure, RecursionError, KeyError, struct.error, TypeError) as error:
            sys.setrecursionlimit(max(outer_limit, _depth() + 1000))
            raise self._failure(error) from None
        finally:
            self._running = outer
            sys.setrecursionlimit(outer_limit)

    def _failure(self, error: Exception) -> Exception:
        """Return the error to raise for an exception of translated code; others are mistakes of ours."""
        stack, innermost = self._stack(error.__traceback__)
        span = next((span for _, span in reversed(stack) if span is not None), None)
        if isinstance(error, Failure):
            return EvaluationError(error.kind, str(error), span, stack)
        if isinstance(error, RecursionError):
            message = f"calls are nested more than {MAX_FRAMES} deep at compile time"
            return EvaluationError("limit", message, span, _shortened(stack))
        if not innermost:
            return error
        text = str(error)
        if isinstance(error, KeyError) and isinstance(error.args[0], int):
            return EvaluationError("fault", self.memory.explain(error.args[0]), span, stack)
        if isinstance(error, struct.error) and "buffer of at least" in text:
            return EvaluationError("fault", "memory access outside of its allocation", span, stack)
        if isinstance(error, TypeError) and "read-write" in text:
            return EvaluationError("fault", "constant memory is written", span, stack)
        return Bug(f"interpreter: {type(error).__name__}: {text}", stack[-1][0] if stack else "ir.interpret", span)

    def _stack(self, trace: TracebackType | None) -> tuple[tuple[tuple[str, Span | None], ...], bool]:
        """Return the titles and spans of the translated frames, and whether the last frame is one of them."""
        stack, innermost = [], False
        while trace is not None:
            found = self._translations.get(id(trace.tb_frame.f_code))
            innermost = found is not None
            if found is not None:
                _, function, translation = found
                stack.append((function.title, translation.spans[trace.tb_lineno - 1]))
            trace = trace.tb_next
        return tuple(stack), innermost

    def _translate(self, function: ir.Function, once: bool = False) -> Callable[..., Any]:
        translation = translate(function, self, once)
        code = compiled(translation.text, self.shapes, function.symbol)
        self._translations[id(code)] = (code, function, translation)
        return FunctionType(code, self._namespace, function.symbol)

    # ---- names for translated code (`translate_values.Environment`) ----------------------------------------

    def bind(self, value: object) -> str:
        """Return a name for any object."""
        name = f"k{len(self._namespace)}"
        self._namespace[name] = value
        return name

    def _bound(self, key: object, make: Callable[[], object]) -> str:
        name = self._names.get(key)
        if name is None:
            name = self._names[key] = self.bind(make())
        return name

    def function(self, symbol: str) -> str:
        """Return the name of a function of the unit; it is translated at its first call."""
        known = self._names.get(("function", symbol))
        if known is not None:
            return known
        name = f"f{len(self._namespace)}"

        def first(*args: object) -> object:
            # finding a function may elaborate it, which needs frames that are not the program's
            limit = sys.getrecursionlimit()
            sys.setrecursionlimit(limit + 20_000)
            try:
                function = self._function(symbol)
                if function is None:
                    raise Failure("unsupported", f"function '{symbol}' is not known at compile time")
                run = self._namespace[name] = self._translate(function)
            finally:
                sys.setrecursionlimit(limit)
            return run(*args)

        self._names[("function", symbol)] = name
        self._namespace[name] = first
        return name

    def foreign(self, which: str, name: str) -> str:
        """Return the name of the function that runs a C function or an intrinsic."""

        def fail(*_: object) -> None:
            raise Failure("unsupported", f"'{name}' cannot be called at compile time")

        def find() -> Foreign:
            return (EXTERNALS.get(name) if which == "external" else intrinsic(name)) or fail

        return self._bound((which, name), find)

    def address(self, name: str) -> int | None:
        """Return the address of a global or function, or None if it has none at compile time."""
        try:
            return self._address_of(name)
        except Failure as failure:
            if failure.kind == "unsupported":
                return None
            raise

    def row(self, op: ir.Op) -> str:
        """Return the name of a function of the plain operands that evaluates `op`."""
        key = (op.name, tuple(arg.type for arg in op.args), op.type, op.attr)
        return self._bound(key, lambda: evaluator(op))

    def _helpers(self) -> dict[str, Any]:
        memory = self.memory
        names: dict[str, Any] = {
            "__builtins__": vars(builtins),  # where Python's C code finds `import`, for whoever has called it
            "memory": memory,
            "blocks": memory.blocks,
            "release": memory.release,
            "read": memory.read,
            "write": memory.write,
            "steps": self._steps,
            "out_of_steps": self._out_of_steps,
            "copy_bytes": lambda target, origin, size: memory.write_bytes(target, memory.read_bytes(origin, size)),
            "set_bytes": lambda target, byte, size: EXTERNALS["memset"](memory, (), (target, byte, size), PTR),
            "new_local": self._new_local,
            "callee": self._callee,
            "atomic": self._atomic,
            "exchange": self._exchange,
            "unsupported": _unsupported,
            "unreachable": _unreachable,
        }
        for letter in "BHIQefd":
            packer = struct.Struct("<" + letter)
            names[f"get_{letter}"], names[f"put_{letter}"] = packer.unpack_from, packer.pack_into
        for name, rounding in ROUND.items():
            names[f"round_{name}"] = rounding
        return names

    def _out_of_steps(self) -> None:
        raise Failure("limit", f"compile-time evaluation takes more than {self.max_steps} steps")

    def _new_local(self, frame: list[int], size: int, align: int) -> int:
        address = self.memory.allocate(size, align)
        frame.append(address >> 32)
        return address

    def _callee(self, address: int) -> Callable[..., Any]:
        symbol = self._symbols.get(address >> 32)
        if symbol is None or address & OFFSET_MASK or self._is_global(symbol):
            raise Failure("fault", "something that is not a function is called through a pointer")
        foreign = EXTERNALS.get(symbol)
        if foreign is not None and self._function(symbol) is None:
            raise Failure("unsupported", f"'{symbol}' cannot be called through a pointer at compile time")
        return self._namespace[self.function(symbol)]  # type: ignore[no-any-return]

    def _atomic(self, op: str, kind: Type, pointer: int, operand: Any) -> Any:
        old = self.memory.read(kind, pointer)
        new: Any = operand if op == "xchg" else evaluate(op, (kind, kind), (old, operand), kind)
        self.memory.write(kind, pointer, new)
        return old

    def _exchange(self, kind: Type, pointer: int, expected: ir.Plain, desired: ir.Plain) -> tuple[ir.Plain, int]:
        old = self.memory.read(kind, pointer)
        if old != expected:
            return old, 0
        self.memory.write(kind, pointer, desired)
        return old, 1

    # ---- memory and globals ----------------------------------------------------------------------------------

    def allocate(self, size: int, align: int = 16) -> int:
        """Return the address of new zero bytes; the program may free them."""
        address: int = self._guard(lambda: self.memory.allocate(size, align, heap=True))
        return address

    def read(self, kind: Type, address: int) -> Any:
        """Return the plain value at an address; pointers are integers."""
        return self._guard(lambda: self.memory.read(kind, address))

    def write(self, kind: Type, address: int, value: ir.Plain) -> None:
        """Write a plain value, which may hold `Address`es."""
        self._guard(lambda: self.memory.write(kind, address, self._resolve(value)))

    def describe(self, address: int) -> tuple[int, int]:
        """Return (allocation number, offset) of an address into live memory."""
        self._guard(lambda: self.memory.check(address, 0))
        return address >> 32, address & OFFSET_MASK

    def freeze(self, kind: Type, value: Any) -> tuple[ir.Const, list[ir.Global]]:
        """Return a run-time value as a constant, with new constant globals for the memory that it points to.

        Names follow from the content, so the same value always gives the same globals.
        """
        freezer = Freezer(self.memory, self._symbols)
        plain: ir.Plain = self._guard(lambda: freezer.plain(kind, value))
        return ir.Const(kind, plain), freezer.globals()

    def address_of_global(self, name: str) -> int:
        """Return the address of a global, laid out in memory now if it was not, or of a function of the unit.

        Raises:
            EvaluationError: it has no address at compile time.
        """
        address: int = self._guard(lambda: self._address_of(name))
        return address

    def _address_of(self, name: str) -> int:
        found = self._addresses.get(name)
        if found is not None:
            return found
        variable = self.globals(name)
        if variable is not None and isinstance(variable.content, ir.ImageRef):
            raise Failure("unsupported", f"the device image '{name}' does not exist at compile time")
        number = self.memory.reserve()
        self._addresses[name] = number << 32
        if variable is None or not variable.is_table:
            self._symbols[number] = name
        if variable is None:
            return number << 32  # a function: an address with no memory behind it
        block = bytearray(size_of(variable.type))
        if isinstance(variable.content, bytes):
            block[: len(variable.content)] = variable.content
        elif isinstance(variable.content, ir.Const):
            plain = self._resolve(variable.content.value)
            self.memory.codec(variable.type).write(block, 0, plain)
        self.memory.place(number, bytes(block) if variable.constant else block, variable.align or 16)
        return number << 32

    def forget(self) -> None:
        """Drop all memory that programs have allocated; globals and translations stay. Addresses of it are void."""
        for number in tuple(self.memory.heap):
            self.memory.release(number)

    def symbol_at(self, address: int) -> ir.Address | None:
        """Return the global or function that an address lies in, or None."""
        symbol = self._symbols.get(address >> 32)
        return ir.Address(symbol, address & OFFSET_MASK) if symbol is not None else None

    def _resolve(self, value: Any) -> Any:
        """Return a plain value with all symbolic addresses made numbers."""
        if isinstance(value, ir.Address):
            return self._address_of(value.name) + value.offset
        if isinstance(value, ir.ImageSize):
            raise Failure("unsupported", "the size of a device image is not known at compile time")
        return tuple(map(self._resolve, value)) if isinstance(value, tuple) else value

    def _is_global(self, name: str) -> bool:
        return self.globals(name) is not None

    def _function(self, symbol: str) -> ir.Function | None:
        try:
            return self.functions(symbol)
        except KeyError as error:
            if error.args != (symbol,):
                raise
            return None

    def _guard(self, action: Callable[[], Any]) -> Any:
        try:
            return action()
        except Failure as failure:
            raise EvaluationError(failure.kind, str(failure)) from None


def _unsupported(message: str) -> None:
    raise Failure("unsupported", message)


def _unreachable() -> None:
    raise Failure("trap", "it raises an error that nothing catches, or ends the program")


def _depth() -> int:
    frame, depth = sys._getframe(), 0
    while frame.f_back is not None:
        frame, depth = frame.f_back, depth + 1
    return depth


def _shortened(stack: tuple[tuple[str, Span | None], ...]) -> tuple[tuple[str, Span | None], ...]:
    """A runaway recursion's stack is the same over and over: keep its two ends."""
    return stack if len(stack) <= 40 else (*stack[:20], *stack[-20:])
