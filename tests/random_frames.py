"""What the programs of `random_containers` have in common: their beginning, also for Python, and their end."""

HEAD = """\
from collections import Deque, Optional, Set
from gpu import global_idx
from gpu.host import DeviceContext

alias Counter = UnsafePointer[Int, MutAnyOrigin]


struct Tracked(Copyable, Movable):
    var id: Int
    var live: Counter
    var text: String

    fn __init__(out self, id: Int, live: Counter):
        self.id = id
        self.live = live
        self.text = String("value ", id)
        live[] += 1

    fn __copyinit__(out self, other: Self):
        self.id = other.id
        self.live = other.live
        self.text = other.text
        self.live[] += 1

    fn __moveinit__(out self, deinit other: Self):
        self.id = other.id
        self.live = other.live
        self.text = other.text^

    fn __del__(deinit self):
        self.live[] -= 1


fn consume(var t: Tracked) -> Int:
    return t.id + len(t.text)


fn hand_on(var t: Tracked) -> Tracked:
    return t^


fn changed(mut t: Tracked, by: Int):
    t.id = (t.id + by) % 97


fn risky(n: Int, live: Counter) raises -> Int:
    var first = Tracked(n, live)
    var held = List[Tracked]()
    held.append(Tracked(n + 1, live))
    if n % 3 == 0:
        raise Error("three divides ", n)
    held.append(first.copy())
    if n % 5 == 0:
        held.append(first^)
        raise Error("five divides ", n)
    return consume(held.pop()) + first.id


fn passed_on(n: Int, live: Counter) raises -> Int:
    try:
        return risky(n, live) + 1
    except e:
        if n % 2 == 0:
            raise e^
        return len(String(e))
    finally:
        live[] += 0

"""
PYTHON = """\
class Tracked:
    def __init__(self, id):
        self.id, self.text = id, f"value {id}"
    def copy(self):
        made = Tracked(self.id)
        made.text = self.text
        return made

def consume(t):
    return t.id + len(t.text)

def hand_on(t):
    return t

def changed(t, by):
    t.id = (t.id + by) % 97

def risky(n):
    if n % 3 == 0:
        raise Exception(f"three divides {n}")
    if n % 5 == 0:
        raise Exception(f"five divides {n}")
    return n + len(f"value {n}") + n

def passed_on(n):
    try:
        return risky(n) + 1
    except Exception as e:
        if n % 2 == 0:
            raise
        return len(str(e))

def String(*parts):
    return "".join([str(part) for part in parts])
"""
TAIL = """
fn kernel(out: UnsafePointer[Int64, MutAnyOrigin]):
    out[Int(global_idx.x)] = Int64(plain(Int(global_idx.x) * 3 + 1))


fn main() raises:
    alias early = mixed({one})
    alias other = plain({two})
    print(mixed({one}), early, mixed({three}))
    print(plain({two}), other)
    with DeviceContext(api="cpu") as ctx:
        var buffer = ctx.enqueue_create_buffer[DType.int64](8)
        ctx.enqueue_function_checked[kernel, kernel](buffer, grid_dim=2, block_dim=4)
        with buffer.map_to_host() as held:
            for i in range(8):
                print(held[i], end=" ")
    print()
    var live: Counter = alloc[Int](1)
    live[] = 0
    owned({four}, live)
    print("live", live[])
    live.free()
"""
