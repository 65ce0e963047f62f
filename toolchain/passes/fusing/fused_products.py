"""On processors that multiply and add in one instruction, products become parts of sums, at all levels alike.

Input: the functions of a unit. Output: functions in which a product that is used once, in a sum or a difference, is an
`fma`. LLVM's code generator would do the same from -O1 on, but not at -O0, and not for the numbers of a loop that it
unrolls and computes while compiling. Products of constants stay (`known_values`), and so do those that several sums
use (`value_numbers`). A product is found in the same expression, in a variable that is read once, in what is added
with `+=`, and in what a function gives that only multiplies. In a loop it depends on the iteration: others are computed
before the loop.

    store x, fadd(fmul(a, b), c)                      store x, fma(a, b, c)
    store t, fmul(a, b)                               store t, fmul(a, b)
    t1 = load t; return fsub(t1, c)              ->   t1 = load t; return fma(a, b, fneg(c))
    call __iadd__(s, fmul(a, b))                      t2 = load s; store s, fma(a, b, t2)
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from ktc.base.records import replace
from ktc.ir import ops, walk
from ktc.ir.nodes import (
    Argument,
    Block,
    Call,
    Const,
    Declare,
    Function,
    If,
    Let,
    Load,
    Local,
    LocalAddress,
    Loop,
    Op,
    Return,
    Statement,
    Store,
    Temp,
    Value,
)
from ktc.ir.types import FloatType, PointerType, VectorType
from ktc.passes.fusing.known_values import UnitValues
from ktc.passes.fusing.value_numbers import Products

_BITS = (32, 64)
"""Narrower numbers are computed as Float32 and rounded after each operation."""


def run(functions: Mapping[str, Function]) -> dict[str, Function]:
    """Fuse the products of the functions of a unit."""
    unit, made = UnitValues(functions), dict(functions)
    for symbol in unit.concerned():
        fuser = _Fuser(functions[symbol], unit)
        body = fuser.arm(functions[symbol].body)
        if fuser.has_fused:
            made[symbol] = replace(functions[symbol], body=body)
    return made


class _Fuser:
    """Rewrites a body. Facts about variables hold within a list of statements: LLVM fuses within a block.

    Attributes:
        products: the values of variables, loads and calls that are products.
        known: variables that hold a constant here, and what loads and calls have given, where it is one.
    """

    def __init__(self, function: Function, unit: UnitValues) -> None:
        self.unit, self.functions, self.has_fused = unit, unit.functions, False
        self.last = max(walk.numbers(function.body), default=0)
        self.reads: Counter[Local] = Counter()
        self.uses: Counter[Value] = Counter()
        stored: dict[Local, list[Value]] = {}
        for statement in walk.statements(function.body):
            if isinstance(statement, Let) and isinstance(statement.value, Load):
                self.reads.update(_local(statement.value.pointer))
            elif isinstance(statement, Store):
                for local in _local(statement.pointer):
                    stored.setdefault(local, []).append(statement.value)
            self.uses.update(one for one in _parts(walk.operands(statement)) if isinstance(one, (Op, Temp)))
            for local in _reached(statement):
                stored.setdefault(local, []).append(LocalAddress(local))
                self.reads[local] += 0 if self.gives_product(statement) else 2
        self.depth = 0
        self.depths: dict[Value | Local, int] = {}
        self.stored_once = {
            one for one, values in stored.items() if len(values) == 1 and not isinstance(values[0], LocalAddress)
        }
        self.known: set[Value | Local] = set()
        self.known_arguments = unit.known_arguments(function)
        self.quiet: set[Value] = set()
        """Results of calls that could raise and do not."""
        self.doubts = 0
        """How many conditions so far were no constants."""
        self.products: dict[Local | Temp, Op] = {}
        self.numbers = Products(function, unit.is_folded) if function.symbol in unit.summing else None
        self.path: tuple[int, ...] = ()

    def arm(self, body: Sequence[Statement]) -> tuple[Statement, ...]:
        """Return the new statements of a list."""
        outer, self.products = self.products, {}
        path, self.path = self.path, (*self.path, id(body))
        out: list[Statement] = []
        for statement in body:
            for one in self.opened(statement):
                out.append(self.statement(one))
        self.products, self.path = outer, path
        return tuple(out)

    def opened(self, statement: Statement) -> tuple[Statement, ...]:
        """Return the two statements of `x += y` where they are a call."""
        match statement:
            case Let(None, Call(symbol, (pointer, value)), span):
                function = self.functions.get(symbol)
                if function is None or function.inline != "always":
                    return (statement,)
                match function.body:
                    case (
                        Let(Temp() as old, Load(Argument(0))),
                        Store(Argument(0), Op(("fadd" | "fsub") as name, (first, Argument(1)))),
                        Return(None),
                    ) if first == old:
                        self.last += 1
                        new = Temp(self.last, old.type)
                        for local in _local(pointer):
                            product = self.products.get(local)
                            if product is not None:  # which is replaced right after it is read
                                self.products[new] = product
                        self.uses[new] = 1
                        made = ops.build(name, (new, value), None, None)
                        return Let(new, Load(pointer, old.type), span), Store(pointer, made, span=span)
        return (statement,)

    def statement(self, statement: Statement) -> Statement:
        """Return a statement with its products fused, and note what it gives."""
        for local in _reached(statement):
            self.products.pop(local, None)
        if not isinstance(statement, (If, Loop, Block)):
            self.known -= self.written(statement)
        match statement:
            case If():
                return self.branch(statement)
            case Loop() | Block():
                return self.nested(statement)
            case Declare(local):
                self.depths[local] = self.depth
            case Store(pointer, value):
                self.note_known(_local(pointer), value)
                value = self.value(value)
                for local in _local(pointer):
                    self.note(local, value)
                return Store(pointer, value, statement.align, statement.volatile, statement.span)
            case Let(Temp() as temp, Load(pointer)):
                self.depths[temp] = self.depth
                for local in _local(pointer):
                    if local in self.stored_once:
                        self.depths[temp] = self.depths.get(local, 0)
                    if local in self.known:
                        self.known.add(temp)
                    elif local in self.products and self.reads[local] == 1:
                        self.products[temp] = self.products[local]
            case Let(temp, Call() as call):
                return Let(temp, self.call(temp, call), statement.span)
            case Let(Temp() as temp, Op() as value):
                self.note_known((temp,), value)
            case Return(Op() as value):
                return Return(self.value(value), statement.span)
        return statement

    def call(self, temp: Temp | None, call: Call) -> Call:
        """Return a call with the products in its arguments fused, and note what it gives."""
        symbol, unit = call.function, self.unit
        are_known = tuple(map(self.is_constant, call.args))
        unit.note_call(symbol, are_known)
        args = tuple(map(self.value, call.args))
        product = self.result(symbol, args)
        given: list[Local | Temp] = [temp] if temp is not None else []
        given += _local(args[0]) if args else ()
        is_number = [not isinstance(one.type, PointerType) for one in args]
        if unit.is_folded(symbol) and all(known for known, is_one in zip(are_known, is_number, strict=True) if is_one):
            self.known.update(given)
        if temp is not None:
            self.depths[temp] = self.depth
            if unit.never_raises(symbol):
                self.quiet.add(temp)
        for place in given:
            self.note(place, product)
        return replace(call, args=args)

    def branch(self, statement: If) -> If:
        """Return a condition with the products of its arms fused."""
        if statement.condition in self.quiet:  # an error that never comes
            known, products = set(self.known), dict(self.products)
            then = self.arm(statement.then)
            self.known, self.products = known, products
            return replace(statement, then=then, orelse=self.arm(statement.orelse))
        is_known, before = self.is_constant(statement.condition), set(self.known)
        self.doubts += not is_known
        then = self.arm(statement.then)
        after, self.known = self.known, before
        made = replace(
            statement, condition=self.value(statement.condition), then=then, orelse=self.arm(statement.orelse)
        )
        self.known &= after
        if not is_known:
            self.known -= self.written(statement)
        self.products.clear()
        return made

    def nested(self, statement: Loop | Block) -> Statement:
        """Return a loop or a block with its products fused."""
        is_loop, doubts = isinstance(statement, Loop), self.doubts
        if is_loop:
            self.known -= self.written(statement)
        self.depth += is_loop
        nested = replace(statement, body=self.arm(statement.body))
        self.depth -= is_loop
        if is_loop or self.doubts > doubts:
            self.known -= self.written(statement)
        self.products.clear()
        return nested

    def written(self, statement: Statement) -> set[Value | Local]:
        """Return the variables that a statement may write, with those in it."""
        found: set[Value | Local] = set()
        for one in walk.statements((statement,)):
            match one:
                case Store(LocalAddress(local)):
                    found.add(local)
                case Let(_, Call(symbol, args)):
                    passed = [(at, local) for at, arg in enumerate(args) for local in _locals(arg)]
                    kept = self.unit.read_only(symbol) if passed else ()
                    found.update(local for at, local in passed if at not in kept)
                    continue
            found.update(_reached(one))
        return found

    def note_known(self, places: Sequence[Local | Temp], value: Value) -> None:
        """Note whether what gets a value holds a constant now."""
        (self.known.update if self.is_constant(value) else self.known.difference_update)(places)

    def note(self, place: Local | Temp, value: Value | None) -> None:
        """Note the value of a variable or the result of a call."""
        if isinstance(value, Op) and value.name == "fmul":
            self.products[place] = value
        else:
            self.products.pop(place, None)

    def gives_product(self, statement: Statement) -> bool:
        """Return whether a statement is a call that stores a product in the variable whose address it gets."""
        match statement:
            case Let(_, Call(symbol, args)) if args and isinstance(args[0], LocalAddress):
                return isinstance(self.result(symbol, args), Op)
        return False

    def result(self, symbol: str, args: tuple[Value, ...]) -> Value | None:
        """Return the product that a call gives, if that is all that the function does and it is always inlined."""
        function = self.functions.get(symbol)
        if function is not None and function.inline != "never":
            match function.body:
                case (Return(Op("fmul", (Argument(first), Argument(second)))),):
                    return ops.build("fmul", (args[first], args[second]), None, None)
                case (Store(Argument(0), Op("fmul", (Argument(first), Argument(second)))), Return(Const())):
                    return ops.build("fmul", (args[first], args[second]), None, None)
        return None

    def value(self, value: Value) -> Value:
        """Return a value with its products fused."""
        if not isinstance(value, Op):
            return value
        args = tuple(map(self.value, value.args))
        if value.name in ("fadd", "fsub") and _is_fused(value):
            made = self.fused(value.name == "fsub", value.args, args)
            if made is not None:
                self.has_fused = True
                return made
        return value if args == value.args else replace(value, args=args)

    def fused(self, is_difference: bool, old: tuple[Value, ...], args: tuple[Value, ...]) -> Value | None:
        """Return a sum or difference as one operation, None if neither operand is a product; the first one is taken."""
        for at in (0, 1):
            found = self.product(old[at], args[at])
            if found is None:
                continue
            (first, second), is_negative = found
            other = args[1 - at]
            if is_difference and at == 0:
                other = ops.build("fneg", (other,), None, None)
            if is_negative != (is_difference and at == 1):
                first = ops.build("fneg", (first,), None, None)
            return ops.build("fma", (first, second, other), None, None)
        return None

    def product(self, old: Value, new: Value) -> tuple[tuple[Value, ...], bool] | None:
        """Return the factors of a product that is used once, and whether it is negated; `new`: with its parts fused."""
        if self.uses[old] > 1:
            return None
        match old, new:
            case Op(), Op("fneg", (inner,)):
                found = self.product(old.args[0], inner)
                return None if found is None else (found[0], not found[1])
            case _, Op("fmul", factors):
                return (factors, False) if self.is_computed_once(old, factors) else None
            case _, Temp() if new in self.products:
                factors = self.products[new].args
                return (factors, False) if self.is_computed_once(self.products[new], factors) else None
        return None

    def is_computed_once(self, product: Value, factors: tuple[Value, ...]) -> bool:
        """Return whether a product is computed for one sum, and where the sum is."""
        is_repeated = self.numbers is not None and self.numbers.count(product, self.path) > 1
        return not is_repeated and self.is_computed_here(factors)

    def is_computed_here(self, factors: tuple[Value, ...]) -> bool:
        """Return whether a product is neither known while compiling nor the same in each iteration of a loop."""
        if all(map(self.is_constant, factors)):
            return False
        return not self.depth or any(self.depth_of(one) == self.depth for one in factors)

    def depth_of(self, value: Value) -> int:
        """Return in how many loops a value is computed."""
        if isinstance(value, Op):
            return max(map(self.depth_of, value.args), default=0)
        return self.depths.get(value, self.depth) if isinstance(value, Temp) else 0

    def is_constant(self, value: Value) -> bool:
        """Return whether every level knows a value while compiling."""
        if isinstance(value, Op):
            return all(map(self.is_constant, value.args))
        return isinstance(value, Const) or value in self.known or self._is_known_argument(value)

    def _is_known_argument(self, value: Value) -> bool:
        return isinstance(value, Argument) and value.index in self.known_arguments


def _local(pointer: Value) -> tuple[Local, ...]:
    return (pointer.local,) if isinstance(pointer, LocalAddress) else ()


def _locals(value: Value) -> list[Local]:
    return [one.local for one in _parts((value,)) if isinstance(one, LocalAddress)]


def _reached(statement: Statement) -> list[Local]:
    """Return the variables whose address a statement uses for something else than to read or write the whole."""
    match statement:
        case Let(_, Load(LocalAddress())):
            return []
        case Store(LocalAddress(), value):
            values: tuple[Value, ...] = (value,)
        case _:
            values = walk.operands(statement)
    return [one.local for one in _parts(values) if isinstance(one, LocalAddress)]


def _is_fused(op: Op) -> bool:
    kind = op.type.element if isinstance(op.type, VectorType) else op.type
    return isinstance(kind, FloatType) and kind.bits in _BITS


def _parts(values: tuple[Value, ...]) -> list[Value]:
    found, stack = [], list(values)
    while stack:
        value = stack.pop()
        found.append(value)
        if isinstance(value, Op):
            stack += value.args
    return found
