"""Values that only move, in the types of the library that own values: nothing copies or loses one."""

from std.collections import Deque
from std.memory import OwnedPointer
from std.utils import Variant


@fieldwise_init
struct Handle(Movable):
    var number: Int

    def __deinit__(deinit self):
        print("close", self.number)


@fieldwise_init
struct Pool(Movable):
    var handles: List[Handle]
    var spare: Optional[Handle]


def push[T: Movable & Deinitable](mut into: List[T], var value: T):
    into.append(value^)


def total(handles: Span[Handle, _]) -> Int:
    var sum = 0
    for i in range(len(handles)):
        sum += handles[i].number
    return sum


def opened(number: Int) -> Optional[Handle]:
    if number > 0:
        return Handle(number)
    return None


def lists():
    var handles: List[Handle] = [Handle(1), Handle(2)]
    push(handles, Handle(3))
    handles[0] = Handle(4)
    handles.insert(0, Handle(5))
    handles.swap_elements(0, 1)
    print(total(handles), total(Span(handles)), total(handles[2:]))
    var last = handles.pop()
    print("popped", last.number, len(handles))
    var nested = List[List[Handle]]()
    nested.append(handles^)
    print(nested[0][1].number)
    var owned = List[OwnedPointer[Int]]()
    owned.append(OwnedPointer(8))
    print(owned[0][])


def others() raises:
    var pool = Pool([Handle(10)], opened(11))
    print(pool.spare.value().number, opened(0) is None)
    var taken = pool.spare.take()
    print(taken.number, Bool(pool.spare))
    var pair = (1, Handle(12))
    print(pair[1].number)
    var by_name: Dict[String, Handle] = {}
    by_name["a"] = Handle(13)
    by_name["a"] = Handle(14)
    print(by_name.pop("a").number)
    var fixed: Array[Handle, 2] = [Handle(15), Handle(16)]
    print(fixed[1].number)
    var queue = Deque[Handle]()
    queue.append(Handle(17))
    print(queue.popleft().number)
    var either: Variant[Int, Handle] = Handle(18)
    print(either[Handle].number)
    either.set(3)
    print(either[Int])


struct Whole(Movable):
    """Is never moved where a call that raises makes it for a variable."""

    var number: Int

    def __init__(out self, number: Int) raises:
        if number < 0:
            raise Error("below zero")
        self.number = number

    def __init__(out self, *, deinit move: Self):
        self.number = move.number
        print("moved", move.number)


def whole(number: Int) raises -> Whole:
    return Whole(number)


def in_place():
    try:
        var first = Whole(1)
        var second = whole(3)
        print(first.number, second.number)
        var third = whole(-1)
        print(third.number)
    except error:
        print(error)


struct Marked(TrivialRegisterPassable):
    """Is copied as its bits are, whatever its own `copy` gives."""

    var number: Int

    def __init__(out self, number: Int):
        self.number = number

    def copy(self) -> Float32:
        return Float32(self.number * 2)


def main() raises:
    in_place()
    var marks = List[Marked](length=2, fill=Marked(4))
    print(marks.copy()[1].number, marks[0].copy())
    lists()
    others()
