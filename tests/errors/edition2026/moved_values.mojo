"""Owners of values that only move: they only move as well, and what would copy a value is an error."""


@fieldwise_init
struct Handle(Movable):
    var number: Int


@fieldwise_init
struct Pool(Copyable):
    var handles: List[Handle]  # error@5: unsatisfied-trait "field 'handles' of type 'List[Handle]' cannot be copied"


def kept[T: Copyable](value: T):
    pass


struct Kept[T: Movable & Deinitable](
    Copyable where conforms_to(T, Copyable), Movable
):
    var value: Self.T

    def __init__(out self, var value: Self.T):
        self.value = value^


def main():
    var handles = List[Handle]()
    _ = handles.copy()  # error@17: no-member "'List[Handle]' has no member 'copy'"
    var same = handles  # error@16: not-copyable "'List[Handle]' cannot be copied implicitly"
    _ = handles[::2]  # error@9: no-member "'Handle' has no member 'copy'"
    _ = List[Handle](length=3, fill=Handle(1))  # error@9: no-member "'Handle' has no member 'copy'"
    kept(handles)  # error@10: unsatisfied-trait "'List[Handle]' does not conform to 'Copyable'"
    var maybe: Optional[Handle] = Handle(3)
    var again = maybe  # error@17: not-copyable "'Optional[Handle]' cannot be copied implicitly"
    var pair = (1, Handle(4))
    _ = pair.copy()  # error@14: no-member "'Tuple[Int, Handle]' has no member 'copy'"
    var held = Kept(Handle(5))
    _ = held.copy()  # error@9: unsatisfied-trait "'Kept[Handle]' cannot be copied: the condition of its 'Copyable' does not hold"
