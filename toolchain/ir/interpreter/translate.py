"""Turns one IR function into the source text of one Python function, for the interpreter.

Input: a `Function` and an `Environment` that gives names to constants, callees and helpers. Output: `Translation`, the
text and the span of each of its lines. Running the text is `ir.interpret`'s business.

Python is the fastest thing at hand: an operation on integers is one Python expression. A local that is only loaded and
stored as a whole is a Python variable; every other one lies in the interpreter's memory. Jumps to an outer loop set the
variable `j` and break out of the loops between. Addresses are split inline into block and offset (see `ir.memory`);
a bad one raises KeyError or struct.error, which the interpreter turns into its own error at the right span.
"""

import marshal
import re
from collections.abc import Mapping, Set
from dataclasses import field
from types import CodeType

from ktc.base.records import entity, record
from ktc.diag.source import Span
from ktc.ir import nodes as ir
from ktc.ir.interpreter.memory import Failure, scalar_letter
from ktc.ir.interpreter.translate_values import DEEPEST, Environment, Values
from ktc.ir.types import Type, size_of
from ktc.ir.walk import leaves, locals_of, operands, shared, statements

_MAX_NESTED_LOOPS = 18  # CPython's compiler allows 20 nested loops and try blocks in one function
_MAX_NESTED_BLOCKS = 90  # and 100 levels of indentation
_FILE = "<compile time>"
_NAME = re.compile(r"\b[kf]\d+\b")
"""Names that the interpreter gives to the objects that it binds."""


@record
class Translation:
    """Python text of `def function(…)`; `spans[i]` belongs to line i + 1."""

    text: str
    spans: tuple[Span | None, ...]


class Shapes:
    """Code of translated functions by the shape of their text: Python compiles each shape once.

    Args:
        kept: shapes of earlier runs, as `dump` gave them.
    """

    def __init__(self, kept: Mapping[str, bytes]) -> None:
        self._kept = kept
        self._made: dict[str, CodeType] = {}
        self._users: dict[str, set[str]] = {}

    def code(self, shape: str, symbol: str = "") -> CodeType:
        """Return the code of a text with one function; `symbol`: the function that it is translated from."""
        if shape not in self._kept:
            self._users.setdefault(shape, set()).add(symbol)
        code = self._made.get(shape)
        if code is None:
            kept = self._kept.get(shape)
            if kept is not None:
                code = marshal.loads(kept)
            else:
                module = compile(shape, _FILE, "exec", dont_inherit=True)
                code = next(const for const in module.co_consts if isinstance(const, CodeType))
            self._made[shape] = code
        return code

    def dump(self, symbols: Set[str]) -> dict[str, bytes]:
        """Return the new shapes of these functions, for later runs of the same Python."""
        return {shape: marshal.dumps(self._made[shape]) for shape, users in self._users.items() if users & symbols}


def compiled(text: str, shapes: Shapes, symbol: str = "") -> CodeType:
    """Return the code of a translated function, an object of its own.

    Parameters compute the same few lines again and again, about other names: Python compiles such lines once.
    """
    names: dict[str, str] = {}
    shape = _NAME.sub(lambda found: names.setdefault(found[0], f"g{len(names)}"), text)
    code = shapes.code(shape, symbol)
    own = {short: name for name, short in names.items()}
    return code.replace(co_names=tuple([own.get(name, name) for name in code.co_names]))


@entity
class _Scope:
    """An enclosing loop or block while its body is written; `escapes`: jumps that leave it for an outer one."""

    label: int
    escapes: set[tuple[int, str]] = field(default_factory=set)


def translate(function: ir.Function, environment: Environment, once: bool = False) -> Translation:
    """Return the Python text of a function; `once`: it runs only once, and making its code is what it costs.

    Raises:
        Failure: it is nested more deeply than Python allows.
    """
    writer = _Writer(function, environment, once)
    return writer.run()


class _Writer(Values):
    """Writes one function, statement by statement."""

    def __init__(self, function: ir.Function, environment: Environment, once: bool) -> None:
        super().__init__(environment, once)
        self.function = function
        self.registers = _registers(function)
        self.lines: list[str] = []
        self.spans: list[Span | None] = []
        self.span: Span | None = function.span
        self.indent = 0
        self.scopes: list[_Scope] = []

    def line(self, text: str) -> None:
        """Write one line."""
        self.lines.append("    " * self.indent + text)
        self.spans.append(self.span)

    def run(self) -> Translation:
        """Write the whole function."""
        function = self.function
        self.line(f"def function({', '.join(f'a{at}' for at in range(len(function.params)))}):")
        self.indent += 1
        self.count_steps(function.body)
        self.line("j = 0")
        in_memory = False
        for local in locals_of(function):
            if local in self.registers:
                self.line(f"v{local.id} = {self.zero(local.type)}")
            else:
                self.line(f"L{local.id} = 0")
                in_memory = True
        if in_memory:
            self.line("frame = []")
            self.line("try:")
            self.indent += 1
        self.body(function.body)
        if in_memory:
            self.indent -= 1
            self.line("finally:")
            self.indent += 1
            self.line("for number in frame: release(number)")
        return Translation("\n".join(self.lines) + "\n", tuple(self.spans))

    def count_steps(self, body: tuple[ir.Statement, ...]) -> None:
        """Write the line that charges one run through `body`, without the turns of its loops."""
        self.line(f"steps[0] -= {_cost(body) + 1}")
        self.line("if steps[0] < 0: out_of_steps()")

    def body(self, body: tuple[ir.Statement, ...]) -> None:
        """Write statements at the current indentation."""
        if self.indent > _MAX_NESTED_BLOCKS:
            raise Failure("unsupported", "statements are nested too deeply for compile time")
        before = len(self.lines)
        for statement in body:
            self.statement(statement)
        if len(self.lines) == before:
            self.line("pass")

    def statement(self, statement: ir.Statement) -> None:
        """Write one statement."""
        outer = self.span
        self.span = getattr(statement, "span", None) or outer
        match statement:
            case ir.Let():
                self.let(statement)
            case ir.Store(pointer, value):
                self.store(pointer, value)
            case ir.MemCopy(target, origin, size):
                self.use(target, origin, size)
                self.line(f"copy_bytes({self.text(target)}, {self.text(origin)}, {self.text(size)})")
            case ir.MemSet(target, byte, size):
                self.use(target, byte, size)
                self.line(f"set_bytes({self.text(target)}, {self.text(byte)}, {self.text(size)})")
            case ir.Declare(local):
                if local not in self.registers:
                    align = local.align or 16
                    new = f"new_local(frame, {size_of(local.type)}, {align})"
                    self.line(f"if not L{local.id}: L{local.id} = {new}")
            case ir.Mark():
                pass
            case ir.If():
                self.branch(statement)
            case ir.Loop(label, body) | ir.Block(label, body):
                self.repeat(label, body, isinstance(statement, ir.Loop))
            case ir.Break(label):
                self.jump(label, "break")
            case ir.Continue(label):
                self.jump(label, "continue")
            case ir.Return(value):
                if value is None:
                    self.line("return None")
                else:
                    self.use(value)
                    self.line(f"return {self.text(value)}")
            case ir.Unreachable():
                self.line("unreachable()")
        self.span = outer

    # ---- control flow ----------------------------------------------------------------------------------

    def branch(self, statement: ir.If, keyword: str = "if") -> None:
        """Write if/elif/else."""
        self.use(statement.condition)
        self.line(f"{keyword} {self.condition(statement.condition)}:")
        self.indent += 1
        self.body(statement.then)
        self.indent -= 1
        orelse = statement.orelse
        if len(orelse) == 1 and isinstance(orelse[0], ir.If) and self.is_plain(orelse[0].condition):
            self.branch(orelse[0], "elif")
        elif orelse:
            self.line("else:")
            self.indent += 1
            self.body(orelse)
            self.indent -= 1

    def repeat(self, label: int, body: tuple[ir.Statement, ...], is_loop: bool) -> None:
        """Write a loop, or a block as a loop of one turn, and after it the jumps that go on outwards."""
        if len(self.scopes) >= _MAX_NESTED_LOOPS:
            raise Failure("unsupported", "loops are nested too deeply for compile time")
        scope = _Scope(label)
        self.scopes.append(scope)
        self.line("while True:")
        self.indent += 1
        if is_loop:
            self.count_steps(body)
        self.body(body)
        if not is_loop:
            self.line("break")
        self.indent -= 1
        self.scopes.pop()
        if not scope.escapes or not self.scopes:
            return
        outer = self.scopes[-1]
        for target, keyword in sorted(scope.escapes):
            code = self.jump_code(target, keyword)
            if target == outer.label:
                self.line(f"if j == {code}: j = 0; {keyword}")
            else:
                outer.escapes.add((target, keyword))
                self.line(f"if j == {code}: break")

    def jump(self, label: int, keyword: str) -> None:
        """Write a break or continue."""
        inner = self.scopes[-1]
        if inner.label == label:
            self.line(keyword)
            return
        inner.escapes.add((label, keyword))
        self.line(f"j = {self.jump_code(label, keyword)}; break")

    def jump_code(self, label: int, keyword: str) -> int:
        """Return the value of `j` that stands for a jump; never 0."""
        return 2 * label + 2 + (keyword == "continue")

    # ---- actions ---------------------------------------------------------------------------------------

    def let(self, statement: ir.Let) -> None:
        """Write `temp = action`."""
        action = statement.value
        into = f"t{statement.temp.id} = " if statement.temp is not None else ""
        match action:
            case ir.Op():
                self.use(action)
                value = self.text(action)
            case ir.Load(pointer, kind):
                value = self.load(pointer, kind)
            case ir.Call(symbol, args):
                self.use(*args)
                value = f"{self.environment.function(symbol)}({self.texts(args)})"
            case ir.CallExternal(symbol, args, kind):
                self.use(*args)
                value = self.foreign("external", symbol, args, kind)
            case ir.CallIntrinsic(name, args, kind):
                self.use(*args)
                value = self.foreign("intrinsic", name, args, kind)
            case ir.CallIndirect(pointer, args, _):
                self.use(pointer, *args)
                value = f"callee({self.text(pointer)})({self.texts(args)})"
            case ir.InlineAsm():
                value = "unsupported('inline assembly cannot run at compile time')"
            case ir.AtomicRmw(op, pointer, operand, kind):
                self.use(pointer, operand)
                bound = self.environment.bind(kind)
                value = f"atomic({op!r}, {bound}, {self.text(pointer)}, {self.text(operand)})"
            case ir.CompareExchange(pointer, expected, desired, _):
                self.use(pointer, expected, desired)
                bound = self.environment.bind(expected.type)
                value = f"exchange({bound}, {self.texts((pointer, expected, desired))})"
            case ir.Fence():
                value = "None"
        self.line(into + value)

    def foreign(self, which: str, name: str, args: tuple[ir.Value, ...], kind: object) -> str:
        """Return the call of a C function or intrinsic."""
        types = self.environment.bind(tuple(arg.type for arg in args))
        operands = "".join(self.text(arg) + ", " for arg in args)
        runner = self.environment.foreign(which, name)
        return f"{runner}(memory, {types}, ({operands}), {self.environment.bind(kind)})"

    def load(self, pointer: ir.Value, kind: Type) -> str:
        """Return the text of a load."""
        if isinstance(pointer, ir.LocalAddress) and pointer.local in self.registers:
            return f"v{pointer.local.id}"
        self.use(pointer)
        letter = scalar_letter(kind)
        if not letter:
            return f"read({self.environment.bind(kind)}, {self.text(pointer)})"
        block, offset = self.place(pointer)
        return f"get_{letter}({block}, {offset})[0]"

    def store(self, pointer: ir.Value, value: ir.Value) -> None:
        """Write a store."""
        if isinstance(pointer, ir.LocalAddress) and pointer.local in self.registers:
            self.use(value)
            self.line(f"v{pointer.local.id} = {self.text(value)}")
            return
        self.use(pointer, value)
        letter = scalar_letter(value.type)
        if not letter:
            bound = self.environment.bind(value.type)
            self.line(f"write({bound}, {self.text(pointer)}, {self.text(value)})")
            return
        block, offset = self.place(pointer)
        self.line(f"put_{letter}({block}, {offset}, {self.text(value)})")

    def place(self, pointer: ir.Value) -> tuple[str, str]:
        """Return the texts of the block and the offset that a pointer names."""
        text = self.text(pointer)
        if text.isidentifier():
            return f"blocks[{text} >> 32]", f"{text} & 4294967295"
        return f"blocks[(p := {text}) >> 32]", "p & 4294967295"

    # ---- values that need a statement of their own -------------------------------------------------------

    def use(self, *values: ir.Value) -> None:
        """Prepare a statement's values: each that occurs twice, or is nested too deeply, gets a line of its own."""
        self.spilled.clear()
        for op in shared(values, DEEPEST):
            text = self.text(op)
            name = f"s{len(self.spilled)}"
            self.line(f"{name} = {text}")
            self.spilled[id(op)] = name

    def is_plain(self, value: ir.Value) -> bool:
        """Tell whether a value needs no line before its statement."""
        return not shared((value,), DEEPEST)


def _cost(body: tuple[ir.Statement, ...]) -> int:
    """Count the statements that one run through `body` may pass, without the bodies of loops."""
    total = 0
    for statement in body:
        total += 1
        if isinstance(statement, ir.If):
            total += max(_cost(statement.then), _cost(statement.orelse))
        elif isinstance(statement, ir.Block):
            total += _cost(statement.body)
    return total


def _registers(function: ir.Function) -> set[ir.Local]:
    """Return the locals whose address is only ever the whole pointer of a load or store of their own type."""
    own = locals_of(function)
    if not own:
        return set()
    taken: set[ir.Local] = set()
    for statement in statements(function.body):
        values = operands(statement)
        match statement:
            case ir.Let(_, ir.Load(ir.LocalAddress(local), kind)) if local.type == kind:
                continue
            case ir.Store(ir.LocalAddress(local), value) if local.type == value.type:
                values = (value,)
        taken.update(leaf.local for leaf in leaves(values) if isinstance(leaf, ir.LocalAddress))
    return {local for local in own if local not in taken}
