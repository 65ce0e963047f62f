"""The one pointer type, allocations with a layout, and optional pointers."""

from std.memory import Layout, alloc, dealloc, unsafe_memcpy, unsafe_memset_zero
from std.memory import ArcPointer, OwnedPointer


struct Node(Movable):
    var v: Int
    var next: Optional[Pointer[Node, MutUntrackedOrigin]]

    def __init__(out self, v: Int):
        self.v = v
        self.next = None


def deref(p: Pointer[Int, _]) -> Int:
    return p[]


def incr(p: MutPointer[Int, _]):
    p[] += 1


def show(p: ImmPointer[String, _]):
    print(p[])


struct L:
    var data: Pointer[Int, MutUntrackedOrigin]
    var n: Int

    def __init__(out self, n: Int):
        self.data = alloc[Int](n)
        self.n = n
        for i in range(n):
            self.data[unsafe_offset=i] = i

    def __deinit__(deinit self):
        self.data.unsafe_free()

    def __getitem__(self, i: Int) -> Int:
        return self.data[unsafe_offset=i]

    def get_ref(ref self, i: Int) -> ref [self] Int:
        return self.data[unsafe_offset=i]


def more():
    var l = L(4)
    print(l[2])
    var p = l.data
    print(p[unsafe_offset=1], (p.unsafe_offset(2))[])
    var d = Pointer[Int, MutUntrackedOrigin].unsafe_dangling()
    print(Int(d) > 0)
    var e = p.unsafe_origin_cast[MutUnsafeAnyOrigin]()
    print(e[unsafe_offset=3], p.unsafe_offset(3).offset_from(p))
    var im = p.as_imm()
    print(im[])
    var u = Pointer(to=l.n)
    print(u[])
    print(String(p) == "", p < p.unsafe_offset(1))
    var k = alloc[Float32](8)
    k.unsafe_strided_store(SIMD[DType.float32, 4](1, 2, 3, 4), 2)
    print(k.unsafe_strided_load[width=4](2))
    k.unsafe_free()
    var none = Optional[Pointer[Int, MutUntrackedOrigin]]()
    var pp = alloc[Int](3)
    pp[unsafe_offset=2] = 4
    none = pp
    print(none.value()[unsafe_offset=2], Bool(none))


def main() raises:
    var x = 5
    var p = Pointer(to=x)
    p[] += 1
    print(x, deref(p))
    incr(p)
    print(x)
    var s = String("hi")
    show(Pointer(to=s))
    var a = alloc(Layout[Int32](count=4))
    var q = a.unsafe_ptr()
    for i in range(4):
        q.unsafe_offset(i).unsafe_write(Int32(i))
    print(
        q[unsafe_offset=2], len(a), q.unsafe_load[width=4](), a.unsafe_span()[3]
    )
    q.unsafe_store(SIMD[DType.int32, 4](9, 8, 7, 6))
    print(q[unsafe_offset=0])
    dealloc(a^)
    var b = alloc(Layout[String](count=2))
    var r = b.unsafe_ptr()
    r.unsafe_write(String("one"))
    r.unsafe_offset(1).unsafe_write(copy=s)
    print(r[], r[unsafe_offset=1])
    var taken = r.unsafe_take_pointee()
    print(taken)
    r.unsafe_offset(1).unsafe_deinit_pointee()
    dealloc(b^)
    var n: Optional[Pointer[Int, MutUntrackedOrigin]] = None
    print(n is None, Bool(n))
    var op: OptionalPointer[Int, MutUntrackedOrigin] = None
    if not op:
        print("null")
    var single = alloc(Layout[Node].single())
    var np = single.unsafe_ptr()
    np.unsafe_write(Node(3))
    print(np[].v, np[].next is None, single.layout().count())
    np.unsafe_deinit_pointee()
    dealloc(single^)
    var z = Pointer(to=x)
    print(z == p, p.unsafe_bitcast[UInt8]()[] == 7)
    print(Layout[Int](count=3))
    var arc = ArcPointer(5)
    var arc2 = arc
    arc2[] = 7
    print(arc[], arc.count())
    var own = OwnedPointer(3)
    print(own[])
    var src: Array[Int32, 4] = [1, 2, 3, 4]
    var dst: Array[Int32, 4] = [9, 9, 9, 9]
    unsafe_memcpy(
        dest=Span(dst).unsafe_ptr(), src=Span(src).unsafe_ptr(), count=3
    )
    unsafe_memset_zero(Span(dst).unsafe_ptr(), 2)
    Span(dst).unsafe_ptr().unsafe_offset(3).write(5)
    print(dst)
    more()
