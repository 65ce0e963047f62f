"""Conditions that choose between constants become `select`s.

Input: comparisons of one value with constants, one after another, each of which returns a constant or gives the same
memory one. Output: the choice as one value. LLVM makes a `switch` of such conditions, and for constants that lie apart
a tree of jumps; a processor guesses those wrongly where the value is as good as random, as bytes of a text are. The
operation's attribute keeps LLVM from making jumps of it later.

    if eq(%0, i8 65) { return i8 84 }
    if eq(%0, i8 67) { return i8 71 }  ->  return select(eq(%0, i8 65), i8 84, select(eq(%0, i8 67), i8 71, i8 78))
    return i8 78
"""

from collections.abc import Sequence

from ktc.base.records import replace
from ktc.ir.nodes import Block, Const, Function, If, Let, Load, LocalAddress, Loop, Op, Return, Statement, Store, Value
from ktc.ir.types import FloatType, IntType

_MAX = 8
"""Comparisons; with more, a tree of jumps or a table is the better choice."""
_LEAST_RESULTS = 3
"""With two results LLVM asks for a bit of a constant."""

_Arm = tuple[Value, Const]


def run(function: Function) -> Function:
    """Rewrite the choices of a function."""
    body = _rewritten(function.body)
    return function if body is function.body else replace(function, body=body)


def _rewritten(body: tuple[Statement, ...], is_rest: bool = False) -> tuple[Statement, ...]:
    """Rewrite statements; `is_rest`: they go on with a choice that stays as it is."""
    out: list[Statement] = []
    changed = False
    at = 0
    while at < len(body):
        statement = body[at]
        found = None
        if isinstance(statement, If) and not is_rest:
            known = _trailing_loads(out)
            found = _returns(body[at:], known) or _stores(statement, known)
        if found is not None:
            taken, made = found
            out += made
            at += taken
            changed = True
            continue
        is_rest = (is_rest and isinstance(statement, Let)) or _is_arm(statement, Return)
        inner = _inside(statement)
        changed = changed or inner is not statement
        out.append(inner)
        at += 1
    return tuple(out) if changed else body


def _inside(statement: Statement) -> Statement:
    if isinstance(statement, If):
        then, orelse = _rewritten(statement.then), _rewritten(statement.orelse, _is_arm(statement, Store))
        if then is statement.then and orelse is statement.orelse:
            return statement
        return replace(statement, then=then, orelse=orelse)
    if isinstance(statement, (Loop, Block)):
        body = _rewritten(statement.body)
        return statement if body is statement.body else replace(statement, body=body)
    return statement


def _trailing_loads(body: list[Statement]) -> list[Let]:
    """Return the loads of locals at the end of statements, after which nothing has changed."""
    found: list[Let] = []
    for one in reversed(body):
        if (
            not isinstance(one, Let)
            or not isinstance(one.value, Load)
            or not isinstance(one.value.pointer, LocalAddress)
        ):
            break
        found.append(one)
    return found


def _is_arm(statement: Statement, kind: type[Return] | type[Store]) -> bool:
    if not isinstance(statement, If) or len(statement.then) != 1:
        return False
    return isinstance(statement.then[0], kind) and isinstance(statement.then[0].value, Const)


# ---- returns --------------------------------------------------------------------------------------------------


def _returns(body: Sequence[Statement], known: list[Let]) -> tuple[int, list[Statement]] | None:
    """Return how many statements a choice between returned values takes, and their replacement."""
    arms: list[_Arm] = []
    loads: list[Let] = []
    for at, statement in enumerate(body):
        match statement:
            case If(then=(Return(value=Const() as result),), orelse=()):
                arms.append((statement.condition, result))
            case Let(value=Load(pointer=LocalAddress(), volatile=False)) as load:
                loads.append(load)
            case Return(value=Const() as result):
                chosen = _chosen(arms, result, known + loads)
                if chosen is None:
                    return None
                return at + 1, [*loads, Return(chosen, statement.span)]
            case _:
                return None
    return None


# ---- stores ---------------------------------------------------------------------------------------------------


def _stores(first: If, known: list[Let]) -> tuple[int, list[Statement]] | None:
    """Return that one statement, a choice between stored values, is taken, and its replacement."""
    arms: list[_Arm] = []
    loads: list[Let] = []
    places: set[Value] = set()
    rest: tuple[Statement, ...] = (first,)
    while rest:
        match rest[0]:
            case Let(value=Load(pointer=LocalAddress(), volatile=False)) as load:
                loads.append(load)
                rest = rest[1:]
            case If(then=(Store(pointer=LocalAddress() as place, value=Const() as result, volatile=False),)) as choice:
                if len(rest) > 1:
                    return None
                places.add(place)
                arms.append((choice.condition, result))
                rest = choice.orelse
            case Store(pointer=LocalAddress() as place, value=Const() as result, volatile=False) as last:
                chosen = _chosen(arms, result, known + loads) if len(rest) == 1 and places == {place} else None
                return None if chosen is None else (1, [*loads, Store(place, chosen, last.align, span=last.span)])
            case _:
                return None
    return None


# ---- the choice -----------------------------------------------------------------------------------------------


def _chosen(arms: list[_Arm], otherwise: Const, loads: list[Let]) -> Value | None:
    """Return the choice as a value, or None if it is not one between constants by one whole number."""
    results = {repr(result.value) for _, result in arms} | {repr(otherwise.value)}
    if (
        not 1 < len(arms) <= _MAX
        or len(results) < _LEAST_RESULTS
        or not isinstance(otherwise.type, (IntType, FloatType))
    ):
        return None
    origins: dict[object, object] = {one.temp: one.value.pointer for one in loads if isinstance(one.value, Load)}
    compared: set[object] = set()
    for condition, _ in arms:
        match condition:
            case Op(name="eq", args=(value, Const())) | Op(name="eq", args=(Const(), value)):
                compared.add(origins.get(value, value))
            case _:
                return None
    if len(compared) > 1:
        return None
    chosen: Value = otherwise
    for condition, result in reversed(arms):
        chosen = Op("select", (condition, result, chosen), otherwise.type, "unpredictable")
    return chosen
