@register_passable("trivial")
struct P(Copyable, Movable, ImplicitlyCopyable):
    var x: Int
    @implicit
    fn __init__(out self, x: Int):
        self.x = x
    fn __getattr__(self, name: StringLiteral) -> Int:
        return len(name) + self.x
    fn __setattr__(mut self, name: StringLiteral, v: Int):
        self.x = v + len(name)
    fn __call__(self, *args: P, **kw: P) -> Int:
        var s = 0
        for a in args:
            s += a.x
        for e in kw.items():
            s += e.value.x * 100 + len(e.key)
        return s
    fn __getitem__(self, *args: P) -> Int:
        return len(args)
    fn __setitem__(self, *args: P, value: P):
        print(len(args), value.x)
    fn __init__(out self, var *values: P, __list_literal__: () = ()):
        self.x = 7
def main():
    var p = P(2)
    print(p.foo, p(1, 2, k=3))
    p.bar = 9
    print(p.x, p[1, 2])
    p[1, 2] = 4
    var q: P = [1, 2]
    print(q.x)
