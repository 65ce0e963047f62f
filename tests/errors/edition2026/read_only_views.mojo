# A view that an argument declares read only is read only in the function, whatever it is called with.


comptime View[o: ImmOrigin] = Span[Int, o]


def of_alias(a: ImmSpan[Int, _]):
    a[0] = 3  # error@5: cannot-mutate "read only"


def of_own_alias(a: View[_]):
    a[0] = 3  # error@5: cannot-mutate "read only"


def of_pointer(p: ImmPointer[Int, _]):
    p[] = 4  # error@5: cannot-mutate


def of_two(a: ImmSpan[Int, _], b: ImmSpan[Int, _]) -> Int:
    return a[0] + b[0]


def of_mixed(a: MutSpan[Int, _], b: ImmSpan[Int, _]):
    a[0] = b[1]


def main():
    var values: List[Int] = [1, 2]
    var view = values[:]
    of_alias(view)
    of_own_alias(view)
    of_pointer(Pointer(to=values[0]))
    print(of_two(view, view))  # not this
    of_mixed(view, view)  # error@20: conflicting-access "may write through the argument 'a'"
