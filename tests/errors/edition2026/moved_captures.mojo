"""Variables that a closure took, or that were taken away from it."""


@fieldwise_init
struct Owned(Movable):
    var n: Int


def main():
    var owned = Owned(2)

    def moving() {var owned^}:
        print(owned.n)

    moving()
    print(owned.n)  # error@11: uninitialized "'owned' is used after it was moved"
    var items: List[Int] = [1]

    def show() {imm items}:
        print(len(items))

    var others = items^
    print(len(others))
    show()  # error@5: uninitialized "'items' is used after it was moved"
