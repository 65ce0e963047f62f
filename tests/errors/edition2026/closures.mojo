"""Closures: what they capture, what they may change, where a closure or its type can stand."""


struct Lacks(def(Int) -> Int):  # error@8: unsatisfied-trait "lacks the method '__call__'" help "write 'def __call__(self, …) -> Int'"
    pass


@fieldwise_init
struct Owned(Movable):
    var n: Int


def apply[F: def(Int) -> Int](f: F) -> Int:
    return f(2)


def copied[F: Copyable & def() -> None](f: F):
    pass


def both[F: def() -> None](f: F, items: List[Int]):
    f()


def two[F: def() -> None, G: def() -> None](f: F, g: G):
    f()
    g()


def of_type[f: def(Int) -> Int](x: Int) -> Int:
    return f(x)  # error@12: not-callable "'f' is a type here" help "write 'thin' before '->'"


def of_pointer[f: def(Int) thin -> Int](x: Int) -> Int:
    return f(x)


def top(a: Int) {imm} -> Int:  # error@5: syntax-error "'top' has a list of captures" help "leave the list out"
    return a


def of_arguments(a: Int, text: String):
    def change() {mut a}:  # error@23: cannot-mutate "'change' captures 'a' by 'mut'" help "write '{imm a}'"
        a += 1

    def take() {var text^}:  # error@21: cannot-move "'text' cannot be moved" help "write 'var text' for a copy"
        print(text)


def of_variables():
    var x = 1
    var owned = Owned(2)

    def unlisted() -> Int:
        return x  # error@16: undefined-name "'unlisted' uses the variable 'x'" help "write '{imm x}'"

    def unknown() {imm nothing}:  # error@24: undefined-name "'unknown' captures 'nothing', which is not defined"
        pass

    def copying() {var owned}:  # error@24: not-copyable "'owned' is captured by value" help "write 'var owned^'"
        print(owned.n)

    def reading() {imm x}:
        x = 4  # error@9: cannot-mutate "'x' is read only" help "write 'mut x' in the list of captures"

    def adding() {var x}:
        x += 4  # error@9: cannot-mutate "'x' is read only" help "write 'mut x' in the list of captures"


def never_called():
    var x = 1
    _ = lambda (a: Int) {imm x} -> Int: a + nothing  # error@45: undefined-name "'nothing' is not defined"

    def unused() {imm x}:
        print(x, nothing)  # error@18: undefined-name "'nothing' is not defined"


def values() raises:
    var x = 1
    var items: List[Int] = [1]
    var owned = Owned(3)

    def more(a: Int) {imm x} -> Int:
        return a + x

    var pointer: def(Int) thin -> Int = more  # error@41: type-mismatch "does not convert to a pointer" help "capture nothing"
    print(of_pointer[more](1))  # error@22: non-constant-value "the closure 'more'" help "pass it as an argument"
    print(apply(lambda (a: String) -> Int: 3))  # error@17: unsatisfied-trait "'def(String) -> Int' does not conform"
    print(more.field)  # error@16: no-member "'def(Int) -> Int' has no member 'field'"

    def show() {var owned^}:
        print(owned.n)

    copied(show)  # error@12: unsatisfied-trait "'def() -> None' does not conform to 'Copyable'" help "a closure has it if"

    def append() {mut items}:
        items.append(2)

    both(append, items)  # error@18: conflicting-access "'both' may write through the argument 'f'"
    var y = 1

    def from_x() {imm x, mut y}:
        y += x

    def from_y() {mut x, imm y}:
        x += y

    two(from_x, from_y)  # error@17: conflicting-access "'two' may write through the argument 'f', and 'g' reaches"


def main():
    pass
