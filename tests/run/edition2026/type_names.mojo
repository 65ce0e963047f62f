"""Names of types with parameters: in derived texts, `repr`, messages of missing keys and `reflect[T].name()`."""

from std.collections import Counter, Deque, Set
from std.memory import ArcPointer
from std.reflection import reflect
from std.utils import IndexList, Variant


@fieldwise_init
struct Kind(TrivialRegisterPassable, Writable):
    var v: Int
    comptime A = Kind(1)


@fieldwise_init
struct P(Copyable, Equatable, Hashable, Writable):
    var x: Int


struct G[T: Copyable & Deinitable & Writable, n: Int = 1, d: DType = DType.int32](Copyable, Writable):
    var x: Self.T

    def __init__(out self, var x: Self.T):
        self.x = x^


struct Outer[T: AnyType](Writable):
    def __init__(out self):
        pass


struct OfBool[b: Bool](Writable):
    def __init__(out self):
        pass


struct OfNumbers[u: UInt8, f: Float64, v: SIMD[DType.int8, 2], w: UInt, i: Int8](Writable):
    def __init__(out self):
        pass


struct OfKind[k: Kind](Writable):
    def __init__(out self):
        pass


struct OfFunction[f: def(Int) thin -> Int](Writable):
    def __init__(out self):
        pass


struct OfOrigin[m: Bool, //, o: Origin[mut=m], a: AddressSpace](Writable):
    def __init__(out self):
        pass


struct OfPack[*Ts: AnyType](Writable):
    def __init__(out self):
        pass


struct Inferred[a: Int, //, b: Int](Writable):
    def __init__(out self):
        pass


def foo(x: Int) -> Int:
    return x


def main() raises:
    print(G(5), repr(G[n=3](P(5))), Outer[G[String, 2]](), Outer[List[Float32]](), Outer[Dict[Int, String]]())
    print(OfBool[True](), OfNumbers[5, 1.5, SIMD[DType.int8, 2](1, 2), 4, -3](), OfKind[Kind.A]())
    print(OfFunction[foo](), OfOrigin[ImmStaticOrigin, AddressSpace.GENERIC](), OfPack[Int](), Inferred[b=5, a=4]())
    print(Outer[Set[Int]](), Outer[Deque[Int]](), Outer[Variant[Int, Bool]](), Outer[ArcPointer[Int]]())
    print(Outer[Array[Int, 3]](), Outer[StaticString](), Outer[NoneType](), Outer[Kind](), Outer[DType]())
    print(repr(List[Optional[Int]]()), repr(List[P]()), repr(Dict[P, G[Int, 2]]()), repr(Optional(Optional(3))))
    print(repr(List[G[String, 1]]()), repr(Set[P]()), repr(Variant[P, Int](3)), repr((P(1), 2)), repr([P(1)]))
    print(repr(Span(List[P]())), repr(Deque[Optional[P]]()))
    var d: Dict[P, Int] = {}
    try:
        print(d[P(1)])
    except e:
        print(e)
    print(reflect[G[Int, 3]].name(), reflect[Array[Int8, 3]].name(), reflect[Dict[Int, Bool]].name())
    print(reflect[List[P]].name(), reflect[List[P]].base_name(), reflect[Optional[P]].name(), reflect[Int].name())
    print(reflect[Span[Int, ImmStaticOrigin]].name(), reflect[Pointer[Int, MutUntrackedOrigin]].name())
