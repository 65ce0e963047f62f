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


def misplaced(x: Int):
    def raising() {imm x} raises:  # error@27: syntax-error "expected ':'" help "'raises' comes before the list of captures"
        print(x)

    def result() -> Int {imm x}:  # error@25: syntax-error "expected ':'" help "a list of captures comes before '->'"
        return x


@fieldwise_init
struct Counter:
    var n: Int

    def count(mut self):
        def more() {mut self.n}:  # error@29: syntax-error "has the names of variables" help "capture the whole variable"
            self.n += 1


def main():
    var f = lambda x: x + 1  # error@20: syntax-error "the arguments of a 'lambda' stand in brackets"
    var g = lambda (x: Int): x + 1  # error@30: undeclared-result "a 'lambda' without a result gives no value"
