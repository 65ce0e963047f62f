"""Arithmetic with intervals, as LLVM's text: code that computes with the least and the most of a value."""

BOUND = 1 << 61
"""A bound as far as this from 0 is unknown."""
Interval = tuple[str, str]
"""The least and the most, numbers or values of 64 bits."""


class Arithmetic:
    """Lines of a function without branches; equal ones are one."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._names: dict[str, str] = {}
        self.is_right = "true"
        """Whether all is right so far."""

    def finite(self, interval: Interval, low: int = -BOUND + 1, high: int = BOUND) -> None:
        """Doubt what may be less than `low`, or `high` and more."""
        above = self.new(f"icmp sge i64 {interval[0]}, {low}")
        below = self.new(f"icmp slt i64 {interval[1]}, {high}")
        both = self.new(f"and i1 {above}, {below}")
        self.is_right = self.new(f"and i1 {self.is_right}, {both}")

    def new(self, text: str) -> str:
        if text not in self._names:
            self._names[text] = f"%r{len(self._names)}"
            self.lines.append(f"{self._names[text]} = {text}")
        return self._names[text]

    def extreme(self, which: str, left: str, right: str) -> str:
        return left if left == right else self.new(f"call i64 @llvm.s{which}.i64(i64 {left}, i64 {right})")

    def union(self, arms: list[Interval]) -> Interval:
        low, high = arms[0]
        for arm in arms[1:]:
            low, high = self.extreme("min", low, arm[0]), self.extreme("max", high, arm[1])
        return low, high

    def held(self, value: str) -> str:
        return self.extreme("min", self.extreme("max", value, str(-BOUND)), str(BOUND))

    def add(self, left: Interval, right: Interval) -> Interval:
        return self.held(self.new(f"add i64 {left[0]}, {right[0]}")), self.held(
            self.new(f"add i64 {left[1]}, {right[1]}")
        )

    def times(self, interval: Interval, by: int) -> Interval:
        return interval if by == 1 else self.mul(interval, (str(by), str(by)))

    def mul(self, left: Interval, right: Interval) -> Interval:
        products = [self.product(one, other) for one in left for other in right]
        products = list(dict.fromkeys(products))
        return self.union([(one, one) for one in products])

    def product(self, left: str, right: str) -> str:
        wide = [self.new(f"sext i64 {value} to i128") for value in (left, right)]
        product = self.new(f"mul i128 {wide[0]}, {wide[1]}")
        least = self.new(f"call i128 @llvm.smax.i128(i128 {product}, i128 {-BOUND})")
        held = self.new(f"call i128 @llvm.smin.i128(i128 {least}, i128 {BOUND})")
        return self.new(f"trunc i128 {held} to i64")

    def fitting(self, interval: Interval, bits: int) -> Interval:
        """Doubt what does not fit a type."""
        if bits < 64:
            above = self.new(f"icmp sge i64 {interval[0]}, {-(1 << bits - 1)}")
            below = self.new(f"icmp slt i64 {interval[1]}, {1 << bits - 1}")
            both = self.new(f"and i1 {above}, {below}")
            self.is_right = self.new(f"and i1 {self.is_right}, {both}")
        return interval


NEEDED = (
    "declare i64 @llvm.smin.i64(i64, i64)",
    "declare i64 @llvm.smax.i64(i64, i64)",
    "declare i128 @llvm.smin.i128(i128, i128)",
    "declare i128 @llvm.smax.i128(i128, i128)",
)
