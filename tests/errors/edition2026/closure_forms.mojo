"""Lists of captures, effects and lambdas that are written in another way."""


def by_trait(f: def(Int) -> Int):  # error@17: type-mismatch "without 'thin' is a trait" help "write 'Some[def(Int) -> Int]'"
    pass


def listed():
    var x = 1

    def old() {read x}:  # error@16: wrong-edition "'read' is not in edition 2026" help "write 'imm'"
        print(x)

    def again() {imm x, mut x}:  # error@25: syntax-error "'x' is captured twice"
        print(x)

    def defaults() {imm, mut}:  # error@26: syntax-error "how other variables are captured"
        print(x)

    def kept() escaping -> Int:  # error@16: wrong-edition "'escaping' is not in edition 2026" help "'{var x}'"
        return x

    def unified() unified {imm x} -> Int:  # error@19: wrong-edition "'unified' is not in edition 2026"
        return x

    def convention() abi("D"):  # error@22: syntax-error "the only other calling convention is that of C"
        pass


def main():
    var f = lambda x: x + 1  # error@20: syntax-error "the arguments of a 'lambda' stand in brackets"
