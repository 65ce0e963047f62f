"""Whole numbers: divisors that are zero, and signed arithmetic that leaves its type on the way to an index."""

from ktc.emit.checks.body import Body
from ktc.emit.checks.check_locations import CheckLocations
from ktc.emit.checks.pointers import step_of
from ktc.emit.checks.source_locations import Place, PlaceOf
from ktc.emit.llvm_text.instructions import Instruction

SHIFT = "ktc.check.shift"
"""A function that the elaborator calls with whether a shift count is out of range; LLVM merges the masks of counts."""
_DIVISIONS = ("sdiv", "udiv", "srem", "urem")
_CHECKED = {"add": "sadd", "sub": "ssub", "mul": "smul"}
_MOST_FACTOR, _MOST_OF_I64 = (1 << 31) - 1, (1 << 63) - 1
_PASSED = ("phi", "select", "sdiv", "srem", "freeze", "sext", "trunc")
_BOUNDED = tuple(f"llvm.{name}.i" for name in ("abs", "smax", "smin", "umax", "umin"))


def check_divisors(body: Body, place_of: PlaceOf, sites: CheckLocations) -> None:
    """Put a check before each division of whole numbers whose divisor is not constant."""
    seen: set[tuple[str, Place, int]] = set()
    for one in body.instructions:
        place = place_of(one) if one.op in _DIVISIONS else None
        if place is None:
            continue
        kind = one.type
        divisor = _plain_divisor(body, one.values[1])
        if divisor[0] != "%" or (divisor, place, one.block) in seen:
            continue
        seen.add((divisor, place, one.block))
        is_zero, wide = body.fresh(), body.fresh()
        zero = "zeroinitializer" if kind[0] == "<" else "0"
        body.put_before(one, f"{is_zero} = icmp eq {kind} {divisor}, {zero}")
        if kind[0] == "<":
            lanes, some = kind[1:].split()[0], body.fresh()
            bits = body.fresh()
            body.put_before(one, f"{bits} = bitcast <{lanes} x i1> {is_zero} to i{lanes}")
            body.put_before(one, f"{some} = icmp ne i{lanes} {bits}, 0")
            is_zero = some
        body.put_before(
            one,
            f"{wide} = zext i1 {is_zero} to i64",
            f"call void @__ktc_check_zero(i64 {wide}, ptr {sites.at(place)})",
        )


def _plain_divisor(body: Body, divisor: str) -> str:
    """Return the divisor as the program gave it: the library divides by 1 where it is 0."""
    one = body.defined.get(divisor)
    if one is None or one.op != "select":
        return divisor
    _, yes, no = one.values
    if one.type[0] == "<":
        given = [value for value in (yes, no) if value[0] == "%"]
        return given[0] if len(given) == 1 else divisor
    if no == "1":
        return yes
    return no if yes == "1" else divisor


class Overflows:
    """Indices that were computed with numbers that did not fit: each number has a companion, the place or null.

    Args:
        is_doubtful: factors of 64 bits are doubted from 32 bits on, with operations that become those of vectors.
    """

    def __init__(self, body: Body, place_of: PlaceOf, sites: CheckLocations, is_doubtful: bool = False) -> None:
        self._body, self._place_of, self._sites, self._is_doubtful = body, place_of, sites, is_doubtful
        self._companions: dict[str, str] = {}
        self._is_narrow: dict[str, bool] = {}
        self.intrinsics: set[str] = set()

    def check(self) -> None:
        """Put checks before the places that are computed with such indices."""
        for one in self._body.instructions:
            place = self._place_of(one) if one.op == "getelementptr" else None
            step = step_of(one) if place is not None else None
            if step is None or place is None or step.distance is not None:
                continue
            for index in step.indices:
                if index.value[0] == "%":
                    companion = self._companion(index.value, False)
                    if companion != "null":
                        site = self._sites.at(place)
                        self._body.put_before(one, f"call void @__ktc_check_overflow(ptr {companion}, ptr {site})")

    def _companion(self, value: str, is_narrow: bool) -> str:
        one = self._body.defined.get(value)
        if one is None:
            return "null"
        if value in self._companions:
            return self._companions[value]
        if not self._leads_to_one(value, is_narrow, set()):
            return "null"
        # known before it is defined: a phi of a loop leads back to it
        self._companions[value] = name = self._body.fresh()
        self._define(one, name, is_narrow)
        return name

    def _leads_to_one(self, value: str, is_narrow: bool, seen: set[str]) -> bool:
        """Return whether arithmetic that is checked comes into a value."""
        one = self._body.defined.get(value)
        if one is None or value in seen:
            return False
        seen.add(value)
        if self._is_checked(one, is_narrow):
            return True
        return any(self._leads_to_one(part, is_narrow or one.op == "sext", seen) for part in self._sources(one))

    def _is_checked(self, one: Instruction, is_narrow: bool) -> bool:
        if one.op not in _CHECKED or self._place_of(one) is None:
            return False
        if one.type not in ("i8", "i16", "i32", "i64"):
            return False
        # of 64 bits only products: sums of indices do not come near 2 ** 63 unless a product has
        return (one.op == "mul" and "1" not in one.values) if one.type == "i64" else is_narrow

    def _sources(self, one: Instruction) -> list[str]:
        """Return the values that a companion is taken over from."""
        is_bounded = one.callee.startswith(_BOUNDED)
        if one.op not in _CHECKED and one.op not in _PASSED and not is_bounded:
            return []
        return [value for value in one.values[one.op == "select" :] if value[0] == "%"]

    def _define(self, one: Instruction, name: str, is_narrow: bool) -> None:
        body = self._body
        narrow = is_narrow or one.op == "sext"
        if one.op == "phi":
            arms = [
                f"[ {self._companion(value, narrow) if value[0] == '%' else 'null'}, {label} ]"
                for value, label in one.incoming
            ]
            body.put_after(one, f"{name} = phi ptr {', '.join(arms)}")
            return
        if one.op == "select":
            both = [self._companion(value, narrow) if value[0] == "%" else "null" for value in one.values[1:]]
            body.put_after(one, f"{name} = select {one.operands[0]}, ptr {both[0]}, ptr {both[1]}")
            return
        known = [companion for value in self._sources(one) if (companion := self._companion(value, narrow)) != "null"]
        total = known[0] if known else "null"
        for other in known[1:]:
            is_set, chosen = body.fresh(), body.fresh()
            body.put_after(
                one, f"{is_set} = icmp ne ptr {total}, null", f"{chosen} = select i1 {is_set}, ptr {total}, ptr {other}"
            )
            total = chosen
        self._finish(one, name, total, narrow)

    def _finish(self, one: Instruction, name: str, total: str, is_narrow: bool) -> None:
        body = self._body
        place = self._place_of(one)
        if not self._is_checked(one, is_narrow) or place is None:
            body.put_after(one, f"{name} = getelementptr i8, ptr {total}, i64 0")  # LLVM's text has no plain copy
            return
        kind, (left, right) = one.type, one.values
        if self._is_doubtful:
            over = self._doubted(one, kind, left, right)
            body.put_after(one, f"{name} = select i1 {over}, ptr {self._sites.at(place)}, ptr {total}")
            return
        intrinsic = f"@llvm.{_CHECKED[one.op]}.with.overflow.{kind}"
        self.intrinsics.add(f"declare {{ {kind}, i1 }} {intrinsic}({kind}, {kind})")
        pair, over = body.fresh(), body.fresh()
        body.put_after(
            one,
            f"{pair} = call {{ {kind}, i1 }} {intrinsic}({kind} {left}, {kind} {right})",
            f"{over} = extractvalue {{ {kind}, i1 }} {pair}, 1",
            f"{name} = select i1 {over}, ptr {self._sites.at(place)}, ptr {total}",
        )

    def _doubted(self, one: Instruction, kind: str, left: str, right: str) -> str:
        """Return whether a result may not fit, without an operation of two results."""
        body = self._body
        if kind == "i64":
            constant = next((int(part) for part in (left, right) if part.lstrip("-").isdigit()), 0)
            most = _MOST_OF_I64 // abs(constant) if constant else _MOST_FACTOR
            over = "false"
            for factor in (left, right):
                if factor[0] != "%":
                    continue
                moved, is_large, either = body.fresh(), body.fresh(), body.fresh()
                body.put_after(
                    one,
                    f"{moved} = add i64 {factor}, {most}",
                    f"{is_large} = icmp ugt i64 {moved}, {2 * most}",
                    f"{either} = or i1 {over}, {is_large}",
                )
                over = either
            return over
        first, second, wide, short, again, over = (body.fresh() for _ in range(6))
        body.put_after(
            one,
            f"{first} = sext {kind} {left} to i64",
            f"{second} = sext {kind} {right} to i64",
            f"{wide} = {one.op} i64 {first}, {second}",
            f"{short} = trunc i64 {wide} to {kind}",
            f"{again} = sext {kind} {short} to i64",
            f"{over} = icmp ne i64 {again}, {wide}",
        )
        return over
