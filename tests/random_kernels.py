"""Random kernels: branches and loops that threads take alike or not, nested, with barriers and exchanges between them.

Each thread writes only elements of its own, so that a kernel gives the same however its threads are run.
"""

import random

_HEAD = """\
from gpu import barrier, block_dim, block_idx, lane_id, thread_idx, warp, warp_id
from gpu.host import DeviceContext
from gpu.memory import AddressSpace
from memory import stack_allocation

alias Floats = UnsafePointer[Float32, MutAnyOrigin]

"""
_BEGIN = """\
fn {name}(a: Floats, b: Floats, n: Int):
    var s = stack_allocation[1024, Int, address_space = AddressSpace.SHARED]()
    var t = Int(thread_idx.x)
    var q = (Int(thread_idx.z) * Int(block_dim.y) + Int(thread_idx.y)) * Int(block_dim.x) + t
    var g = Int(block_idx.x) * Int(block_dim.x * block_dim.y * block_dim.z) + q
    if q == 0:
        for i in range(1024):
            s[i] = i
    barrier()
    var x = t
    var y = Int(thread_idx.y)
    var z = q * 3
    var w = 0
    var v = 0
    var u = n & 7
    var f: Float32 = 1"""
_END = """\
    b[g * 4] += f
    b[g * 4 + 1] += Float32((x ^ y) & 0xffff)
    b[g * 4 + 2] += Float32((z + w + u + v) & 0xffff)

"""
_RUN = """
def run[kernel: fn (Floats, Floats, Int) -> None](title: String):
    with DeviceContext(api="cpu") as ctx:
        var a = ctx.enqueue_create_buffer[DType.float32](1024)
        with a.map_to_host() as held:
            for i in range(1024):
                held[i] = Float32((i * 37) % 101)
        for shape in [(64, 1, 1), (16, 4, 1), (40, 2, 1), (5, 3, 2), (1, 1, 1), (17, 1, 3)]:
            var threads = shape[0] * shape[1] * shape[2]
            var b = ctx.enqueue_create_buffer[DType.float32](threads * 8)
            b.enqueue_fill(0)
            ctx.enqueue_function_checked[kernel, kernel](a, b, 5, grid_dim=2, block_dim=shape)
            var total: Float64 = 0
            with b.map_to_host() as held:
                for i in range(threads * 8):
                    total += Float64(held[i]) * Float64(i % 13 + 1)
            print(title, threads, total)

"""
_MAX_LOOPS = 4
_GUARDS = ("if t < n * 9:", "if q < n * 20 and t < n + 30:", "if t >= n:", "if g < n * 11:")


def random_kernels(seed: int, count: int) -> str:
    """Return a program of so many kernels; each is run with blocks of several shapes, and a sum printed."""
    chance = random.Random(seed)
    made = [_Kernel(chance).text(f"k{number}") for number in range(count)]
    runs = [f'    run[k{number}]("k{number}")' for number in range(count)]
    return "\n".join([_HEAD, *made, _RUN, "def main():", *runs, ""])


_EXCHANGES = (
    "y += Int(warp.shuffle_xor(Int32({value} & 0xffff), {step}))",
    "z ^= Int(warp.shuffle_down(Int32({value} & 0xffff), {step}))",
    "x += Int(warp.shuffle_up(Int32({value} & 0xffff), {step}))",
    "x ^= Int(warp.shuffle_idx(Int32({value} & 0xffff), {step}))",
    "y = Int(warp.broadcast(Int32({value} & 0xffff)))",
    "z += Int(warp.sum(Int32({value} & 0xff)))",
    "v = Int(warp.max(Int32({value} & 0xffff)))",
    "v = Int(warp.vote[DType.uint32]({condition}))",
    "v ^= Int(warp.prefix_sum(Int32({value} & 0xff)))",
)
"""What the lanes of a warp exchange."""


class _Kernel:
    def __init__(self, chance: random.Random) -> None:
        self.chance, self.depth, self.loops = chance, 1, 0
        self.guarded = False
        self.lines: list[str] = []

    def text(self, name: str) -> str:
        """Return the kernel."""
        chance = self.chance
        if chance.random() < 0.25:
            self._line(f"if {self._condition()}:")
            self._line("    return")
        if chance.random() < 0.5:
            self._line(chance.choice(_GUARDS))
            self.depth, self.guarded = 2, True
        exchanges = chance.random() < 0.5
        for _ in range(chance.randrange(3, 7)):
            self._statement(0, "")
            if exchanges and chance.random() < 0.7:
                self._exchange()
        return "\n".join([_BEGIN.format(name=name), *self.lines, _END])

    def _line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def _value(self, nested: int = 0) -> str:
        chance = self.chance
        kind = chance.randrange(9)
        if kind < 3 or nested > 2:
            return chance.choice(["x", "y", "z", "t", "n", "u", "v", "w", str(chance.randrange(-3, 9))])
        left, right = self._value(nested + 1), self._value(nested + 1)
        forms = {
            3: f"({left} + {right})",
            4: f"({left} * {chance.randrange(1, 5)})",
            5: f"({left} - {right})",
            6: f"({left} & {chance.choice([1, 3, 7, 15, 63])})",
            7: f"Int(a[({left}) & 1023])",
        }
        return forms.get(kind, f"({left} ^ {right})")

    def _alike(self) -> str:
        return self.chance.choice(["n", "u", "3", "7", "n & 3", "u + 1", "Int(a[u & 1023]) & 3"])

    def _condition(self) -> str:
        left = self._value(1) if self.chance.random() < 0.75 else self._alike()
        right = self._value(2) if self.chance.random() < 0.5 else self._alike()
        return f"({left}) & 63 {self.chance.choice(['<', '>', '==', '!=', '<=', '>='])} ({right}) & 31"

    def _inside(self, nested: int, loop: str, first: str = "") -> None:
        self.depth += 1
        if first:
            self._line(first)
        for _ in range(self.chance.randrange(1, 4)):
            self._statement(nested + 1, loop)
        self.depth -= 1

    def _statement(self, nested: int, loop: str) -> None:
        chance = self.chance
        kind = chance.randrange(14) if nested < 4 else chance.randrange(6)
        if kind < 3:
            self._line(f"{chance.choice('xyz')} = {self._value()} & 0xffff")
        elif kind == 3:
            self._line(f"f = f * 0.5 + Float32(({self._value()}) & 255)")
        elif kind == 4:
            self._line(f"b[g * 4 + ({self._value()} & 3)] += {chance.choice(['f', 'Float32(x & 255)'])}")
        elif kind == 5:
            self._line(f"u = {self._alike()} & 31" if not loop or chance.random() < 0.5 else "w += 1")
        elif kind < 9:
            self._branch(nested, loop)
        elif kind < 13:
            self._loop(nested)
        elif not nested and not self.guarded:
            for line in ("s[q] = x & 4095", "barrier()", f"y += s[q ^ {chance.choice([1, 5, 16, 31])}]", "barrier()"):
                self._line(line)
        else:
            self._line("z ^= x")

    def _exchange(self) -> None:
        chance = self.chance
        depth = self.depth
        around = chance.choice(
            ["", "", "", f"for e{len(self.lines)} in range(n & 3):", "if n > 2:", "if warp_id() != 1:"]
        )
        if around:
            self._line(around)
            self.depth += 1
        for _ in range(chance.randrange(1, 3)):
            self._line(
                chance.choice(_EXCHANGES).format(
                    value=f"({self._value()})", step=chance.choice([1, 2, 5, 16, 31]), condition=self._condition()
                )
            )
        self.depth = depth

    def _branch(self, nested: int, loop: str) -> None:
        self._line(f"if {self._condition()}:")
        self._inside(nested, loop)
        if loop and self.chance.random() < 0.35:
            self._line(f"    {self.chance.choice(['break', 'continue'])}")
        if self.chance.random() < 0.4:
            self._line("else:")
            self._inside(nested, loop)

    def _loop(self, nested: int) -> None:
        chance = self.chance
        if self.loops == _MAX_LOOPS:
            self._line("x += 1")
            return
        counter = f"i{self.loops}"
        self.loops += 1
        kind = chance.randrange(4)
        if kind == 3:
            self._line(f"var {counter} = 0")
        self._line([
            f"for {counter} in range({self._alike()} & 7):",
            f"for {counter} in range({self._value()} & 7):",
            f"for {counter} in range(t, 200 + {chance.randrange(60)}, {chance.choice([32, 64, 100])}):",
            f"while {counter} < 6 and {self._condition()}:",
        ][kind])  # fmt: skip
        self._inside(
            nested, counter, [f"x += {counter}", f"y += {counter}", f"f += a[{counter}]", f"{counter} += 1"][kind]
        )
