"""Names of edition 2026: modules, their names, the prelude, members; a module of the user before one of the library."""

import std.ffi
import std.math
import std.memory as mem
from std import time
from std.atomic import Atomic, Ordering
from std.collections import *
from std.collections.span import Span
from std.memory import unsafe_memcpy as copy_bytes
from std.os import abort

from names_of_2025 import LIMIT, Old, may_raise
from random import mine


def first(values: Array[Int, 3]) -> Int:
    return values[0]


def main() raises:
    var source: List[UInt8] = [1, 2, 3]
    var target: List[UInt8] = [0, 0, 0]
    copy_bytes(dest=target.unsafe_ptr(), src=source.unsafe_ptr(), count=3)
    mem.unsafe_memset_zero(target.unsafe_ptr(), 2)
    print(target[0], target[2], math.sqrt(4.0), std.math.ceildiv(7, 2))
    print(first([4, 5, 6]), ffi.external_call["getpid", Int32]() > 0)
    var began: Int = time.perf_counter_ns()

    def nothing() {}:
        pass

    var took: Int = time.time_function(nothing)
    print(time.monotonic() - began >= 0, took >= 0, Span(source)[1])
    var queue = Deque[Int]()
    queue.append(8)
    print(len(queue), mine())
    var counter = Atomic(Int32(3))
    print(counter.load[ordering=Ordering.MONOTONIC]())

    # Of the library, whose text is of edition 2025, the method of this edition is called here.
    var p: Pointer[Int32, MutOrigin.external] = alloc[Int32](3)
    p.unsafe_write(10)
    p.unsafe_offset(1).unsafe_write(copy=20)
    p.unsafe_store(2, 30)
    p[unsafe_offset=0] += 1
    print(p[], p[unsafe_offset=1], p.unsafe_load(2), p.load[width=1](0))
    p.unsafe_deinit_pointee()
    p.unsafe_free()

    # A package of the other edition: its functions, its generic code, a struct of its own.
    print(LIMIT, Old(3).twice())
    try:
        may_raise(True)
    except e:
        print("from the other edition:", e)
    if len(queue) > 1:
        abort()
