"""Whole numbers: divisors that are zero, and signed arithmetic that leaves its type on the way to an index."""

import re
from collections.abc import Callable

from ktc.emit.checks.body import Body, Instruction, incoming
from ktc.emit.checks.layout import split
from ktc.emit.checks.places import Place
from ktc.emit.checks.pointers import step_of
from ktc.emit.checks.sites import Sites

Placed = Callable[[Instruction], Place | None]

_DIVISIONS = ("sdiv", "udiv", "srem", "urem")
_INTEGER = re.compile(r"(?:exact |nuw |nsw )*(i\d+|<\d+ x i\d+>) ")
_CHECKED = {"add": "sadd", "sub": "ssub", "mul": "smul"}
_MOST_FACTOR, _MOST_OF_I64 = (1 << 31) - 1, (1 << 63) - 1
_PASSED = ("sdiv", "srem", "freeze", "sext", "trunc")
_BOUNDED = re.compile(r"call i\d+ @llvm\.(?:abs|smax|smin|umax|umin)\.i\d+\((.*)\)")


def check_divisors(body: Body, place_of: Placed, sites: Sites) -> None:
    """Put a check before each division of whole numbers whose divisor is not constant."""
    seen: set[tuple[str, Place, int]] = set()
    for one in body.instructions:
        place = place_of(one) if one.code in _DIVISIONS else None
        if place is None:
            continue
        match = _INTEGER.match(one.text, len(one.code) + 1)
        if match is None:
            continue
        kind = match.group(1)
        divisor = _plain_divisor(body, split(one.text)[-1].strip())
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
    if one is None or one.code != "select":
        return divisor
    parts = [part.split()[-1] for part in split(one.text)]
    if "splat" in one.text or ">" in one.text:
        given = [part for part in parts[1:] if part[0] == "%"]
        return given[0] if len(given) == 1 else divisor
    if parts[2] == "1":
        return parts[1]
    return parts[2] if parts[1] == "1" else divisor


class Overflows:
    """Indices that were computed with numbers that did not fit: each number has a companion, the place or null.

    Args:
        is_doubtful: factors of 64 bits are doubted from 32 bits on, with operations that become those of vectors.
    """

    def __init__(self, body: Body, place_of: Placed, sites: Sites, is_doubtful: bool = False) -> None:
        self._body, self._place_of, self._sites, self._is_doubtful = body, place_of, sites, is_doubtful
        self._companions: dict[str, str] = {}
        self._is_narrow: dict[str, bool] = {}
        self.intrinsics: set[str] = set()

    def check(self) -> None:
        """Put checks before the places that are computed with such indices."""
        for one in self._body.instructions:
            place = self._place_of(one) if one.code == "getelementptr" else None
            step = step_of(one) if place is not None else None
            if step is None or place is None or step.distance is not None:
                continue
            for index in step.indices:
                value = index.split()[-1]
                if value[0] == "%":
                    companion = self._companion(value, False)
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
        return any(self._leads_to_one(part, is_narrow or one.code == "sext", seen) for part in self._sources(one))

    def _is_checked(self, one: Instruction, is_narrow: bool) -> bool:
        if one.code not in _CHECKED or self._place_of(one) is None:
            return False
        kind = one.text.removeprefix(one.code).replace("nuw ", "").replace("nsw ", "").split()[0]
        if kind not in ("i8", "i16", "i32", "i64"):
            return False
        parts = [part.split()[-1] for part in split(one.text)]
        return (one.code == "mul" and "1" not in parts) if kind == "i64" else is_narrow

    def _sources(self, one: Instruction) -> list[str]:
        """Return the values that a companion is taken over from."""
        if one.code == "phi":
            return [value for value, _ in incoming(one) if value[0] == "%"]
        parts = split(one.text[len(one.code) :])
        if one.code == "call":
            bounded = _BOUNDED.match(one.text)
            values = [part.split()[-1] for part in split(bounded.group(1))] if bounded else []
        elif one.code == "select":
            values = [part.split()[-1] for part in parts[1:]]
        elif one.code in ("sext", "trunc"):
            values = [one.cast_operand]
        elif one.code in _CHECKED or one.code in _PASSED:
            values = [part.split()[-1] for part in parts]
        else:
            values = []
        return [value for value in values if value[0] == "%"]

    def _define(self, one: Instruction, name: str, is_narrow: bool) -> None:
        body = self._body
        narrow = is_narrow or one.code == "sext"
        if one.code == "phi":
            arms = [
                f"[ {self._companion(value, narrow) if value[0] == '%' else 'null'}, {label} ]"
                for value, label in incoming(one)
            ]
            body.put_after(one, f"{name} = phi ptr {', '.join(arms)}")
            return
        if one.code == "select":
            parts = split(one.text[len("select") :])
            values = [part.split()[-1] for part in parts]
            both = [self._companion(value, narrow) if value[0] == "%" else "null" for value in values[1:]]
            body.put_after(one, f"{name} = select {parts[0].strip()}, ptr {both[0]}, ptr {both[1]}")
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
            body.put_after(one, f"{name} = getelementptr i8, ptr {total}, i64 0")
            return
        words = one.text.removeprefix(one.code).replace("nuw ", "").replace("nsw ", "").split()
        kind = words[0]
        left, right = (part.split()[-1] for part in split(" ".join(words[1:])))
        if self._is_doubtful:
            over = self._doubted(one, kind, left, right)
            body.put_after(one, f"{name} = select i1 {over}, ptr {self._sites.at(place)}, ptr {total}")
            return
        intrinsic = f"@llvm.{_CHECKED[one.code]}.with.overflow.{kind}"
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
            f"{wide} = {one.code} i64 {first}, {second}",
            f"{short} = trunc i64 {wide} to {kind}",
            f"{again} = sext {kind} {short} to i64",
            f"{over} = icmp ne i64 {again}, {wide}",
        )
        return over
