# Which arguments may reach one variable: conventions of the first argument, and ways in which the second sees the same.

comptime L = List[Int]


struct View[o: ImmOrigin](Copyable):
    var items: Pointer[L, Self.o]

    @implicit
    def __init__(out self, ref [Self.o] items: L):
        self.items = Pointer(to=items)


@fieldwise_init
struct Holder:
    var items: L


def part[o: Origin](s: Span[Int, o]) -> Span[Int, o]:
    return s


def number(s: Span[Int, _]) -> Int:
    return len(s)


def read_val(a: L, b: L):
    pass


def read_span(a: L, b: ImmSpan[Int, _]):
    pass


def read_mspan(a: L, b: MutSpan[Int, _]):
    pass


def read_ref(a: L, ref b: L):
    pass


def read_ptr(a: L, b: Pointer[L, _]):
    pass


def read_mut(a: L, mut b: L):
    pass


def read_item(a: L, b: Int):
    pass


def read_view(a: L, b: View):
    pass


def read_nested(a: L, b: ImmSpan[Int, _]):
    pass


def read_number(a: L, b: Int):
    pass


def read_copy(a: L, b: L):
    pass


def mut_val(mut a: L, b: L):
    pass


def mut_span(mut a: L, b: ImmSpan[Int, _]):
    pass


def mut_mspan(mut a: L, b: MutSpan[Int, _]):
    pass


def mut_ref(mut a: L, ref b: L):
    pass


def mut_ptr(mut a: L, b: Pointer[L, _]):
    pass


def mut_mut(mut a: L, mut b: L):
    pass


def mut_item(mut a: L, b: Int):
    pass


def mut_view(mut a: L, b: View):
    pass


def mut_nested(mut a: L, b: ImmSpan[Int, _]):
    pass


def mut_number(mut a: L, b: Int):
    pass


def mut_copy(mut a: L, b: L):
    pass


def var_val(var a: L, b: L):
    pass


def var_span(var a: L, b: ImmSpan[Int, _]):
    pass


def var_mspan(var a: L, b: MutSpan[Int, _]):
    pass


def var_ref(var a: L, ref b: L):
    pass


def var_ptr(var a: L, b: Pointer[L, _]):
    pass


def var_mut(var a: L, mut b: L):
    pass


def var_item(var a: L, b: Int):
    pass


def var_view(var a: L, b: View):
    pass


def var_nested(var a: L, b: ImmSpan[Int, _]):
    pass


def var_number(var a: L, b: Int):
    pass


def var_copy(var a: L, b: L):
    pass


def ref_val(ref a: L, b: L):
    pass


def ref_span(ref a: L, b: ImmSpan[Int, _]):
    pass


def ref_mspan(ref a: L, b: MutSpan[Int, _]):
    pass


def ref_ref(ref a: L, ref b: L):
    pass


def ref_ptr(ref a: L, b: Pointer[L, _]):
    pass


def ref_mut(ref a: L, mut b: L):
    pass


def ref_item(ref a: L, b: Int):
    pass


def ref_view(ref a: L, b: View):
    pass


def ref_nested(ref a: L, b: ImmSpan[Int, _]):
    pass


def ref_number(ref a: L, b: Int):
    pass


def ref_copy(ref a: L, b: L):
    pass


def span_val(a: MutSpan[Int, _], b: L):
    pass


def span_span(a: MutSpan[Int, _], b: ImmSpan[Int, _]):
    pass


def span_mspan(a: MutSpan[Int, _], b: MutSpan[Int, _]):
    pass


def span_ref(a: MutSpan[Int, _], ref b: L):
    pass


def span_ptr(a: MutSpan[Int, _], b: Pointer[L, _]):
    pass


def span_mut(a: MutSpan[Int, _], mut b: L):
    pass


def span_item(a: MutSpan[Int, _], b: Int):
    pass


def span_view(a: MutSpan[Int, _], b: View):
    pass


def span_nested(a: MutSpan[Int, _], b: ImmSpan[Int, _]):
    pass


def span_number(a: MutSpan[Int, _], b: Int):
    pass


def span_copy(a: MutSpan[Int, _], b: L):
    pass


def ptr_val(a: Pointer[L, _], b: L):
    pass


def ptr_span(a: Pointer[L, _], b: ImmSpan[Int, _]):
    pass


def ptr_mspan(a: Pointer[L, _], b: MutSpan[Int, _]):
    pass


def ptr_ref(a: Pointer[L, _], ref b: L):
    pass


def ptr_ptr(a: Pointer[L, _], b: Pointer[L, _]):
    pass


def ptr_mut(a: Pointer[L, _], mut b: L):
    pass


def ptr_item(a: Pointer[L, _], b: Int):
    pass


def ptr_view(a: Pointer[L, _], b: View):
    pass


def ptr_nested(a: Pointer[L, _], b: ImmSpan[Int, _]):
    pass


def ptr_number(a: Pointer[L, _], b: Int):
    pass


def ptr_copy(a: Pointer[L, _], b: L):
    pass


def of_read():
    var x: L = [1]
    read_val(x, x)
    read_span(x, x)
    read_mspan(x, x)  # error@19: conflicting-access
    read_ref(x, x)  # error@17: conflicting-access
    read_ptr(x, Pointer(to=x))  # error@17: conflicting-access
    read_mut(x, x)  # error@17: conflicting-access
    read_item(x, x[0])
    read_view(x, x)
    read_nested(x, part(Span(x)))
    read_number(x, number(Span(x)))
    read_copy(x, x.copy())


def fields_of_read(mut h: Holder):
    read_val(h.items, h.items)
    read_span(h.items, h.items)
    read_mspan(h.items, h.items)  # error@25: conflicting-access
    read_ref(h.items, h.items)  # error@23: conflicting-access
    read_ptr(h.items, Pointer(to=h.items))  # error@23: conflicting-access
    read_mut(h.items, h.items)  # error@23: conflicting-access
    read_item(h.items, h.items[0])
    read_view(h.items, h.items)
    read_nested(h.items, part(Span(h.items)))
    read_number(h.items, number(Span(h.items)))
    read_copy(h.items, h.items.copy())


def of_mut():
    var x: L = [1]
    mut_val(x, x)  # error@16: conflicting-access
    mut_span(x, x)  # error@17: conflicting-access
    mut_mspan(x, x)  # error@18: conflicting-access
    mut_ref(x, x)  # error@16: conflicting-access
    mut_ptr(x, Pointer(to=x))  # error@16: conflicting-access
    mut_mut(x, x)  # error@16: conflicting-access
    mut_item(x, x[0])
    mut_view(x, x)  # error@17: conflicting-access
    mut_nested(x, part(Span(x)))  # error@19: conflicting-access
    mut_number(x, number(Span(x)))
    mut_copy(x, x.copy())


def fields_of_mut(mut h: Holder):
    mut_val(h.items, h.items)  # error@22: conflicting-access
    mut_span(h.items, h.items)  # error@23: conflicting-access
    mut_mspan(h.items, h.items)  # error@24: conflicting-access
    mut_ref(h.items, h.items)  # error@22: conflicting-access
    mut_ptr(h.items, Pointer(to=h.items))  # error@22: conflicting-access
    mut_mut(h.items, h.items)  # error@22: conflicting-access
    mut_item(h.items, h.items[0])
    mut_view(h.items, h.items)  # error@23: conflicting-access
    mut_nested(h.items, part(Span(h.items)))  # error@25: conflicting-access
    mut_number(h.items, number(Span(h.items)))
    mut_copy(h.items, h.items.copy())


def of_var_val():
    var x: L = [1]
    var_val(x^, x)  # error@17: conflicting-access


def of_var_span():
    var x: L = [1]
    var_span(x^, x)  # error@18: conflicting-access


def of_var_mspan():
    var x: L = [1]
    var_mspan(x^, x)  # error@19: conflicting-access


def of_var_ref():
    var x: L = [1]
    var_ref(x^, x)  # error@17: conflicting-access


def of_var_ptr():
    var x: L = [1]
    var_ptr(x^, Pointer(to=x))  # error@17: conflicting-access


def of_var_mut():
    var x: L = [1]
    var_mut(x^, x)  # error@17: conflicting-access


def of_var_item():
    var x: L = [1]
    var_item(x^, x[0])


def of_var_view():
    var x: L = [1]
    var_view(x^, x)  # error@18: conflicting-access


def of_var_nested():
    var x: L = [1]
    var_nested(x^, part(Span(x)))  # error@20: conflicting-access


def of_var_number():
    var x: L = [1]
    var_number(x^, number(Span(x)))


def of_var_copy():
    var x: L = [1]
    var_copy(x^, x.copy())


def of_ref():
    var x: L = [1]
    ref_val(x, x)  # error@16: conflicting-access
    ref_span(x, x)  # error@17: conflicting-access
    ref_mspan(x, x)  # error@18: conflicting-access
    ref_ref(x, x)  # error@16: conflicting-access
    ref_ptr(x, Pointer(to=x))  # error@16: conflicting-access
    ref_mut(x, x)  # error@16: conflicting-access
    ref_item(x, x[0])
    ref_view(x, x)  # error@17: conflicting-access
    ref_nested(x, part(Span(x)))  # error@19: conflicting-access
    ref_number(x, number(Span(x)))
    ref_copy(x, x.copy())


def fields_of_ref(mut h: Holder):
    ref_val(h.items, h.items)  # error@22: conflicting-access
    ref_span(h.items, h.items)  # error@23: conflicting-access
    ref_mspan(h.items, h.items)  # error@24: conflicting-access
    ref_ref(h.items, h.items)  # error@22: conflicting-access
    ref_ptr(h.items, Pointer(to=h.items))  # error@22: conflicting-access
    ref_mut(h.items, h.items)  # error@22: conflicting-access
    ref_item(h.items, h.items[0])
    ref_view(h.items, h.items)  # error@23: conflicting-access
    ref_nested(h.items, part(Span(h.items)))  # error@25: conflicting-access
    ref_number(h.items, number(Span(h.items)))
    ref_copy(h.items, h.items.copy())


def of_span():
    var x: L = [1]
    span_val(x, x)  # error@17: conflicting-access
    span_span(x, x)  # error@18: conflicting-access
    span_mspan(x, x)  # error@19: conflicting-access
    span_ref(x, x)  # error@17: conflicting-access
    span_ptr(x, Pointer(to=x))  # error@17: conflicting-access
    span_mut(x, x)  # error@17: conflicting-access
    span_item(x, x[0])
    span_view(x, x)  # error@18: conflicting-access
    span_nested(x, part(Span(x)))  # error@20: conflicting-access
    span_number(x, number(Span(x)))
    span_copy(x, x.copy())


def fields_of_span(mut h: Holder):
    span_val(h.items, h.items)  # error@23: conflicting-access
    span_span(h.items, h.items)  # error@24: conflicting-access
    span_mspan(h.items, h.items)  # error@25: conflicting-access
    span_ref(h.items, h.items)  # error@23: conflicting-access
    span_ptr(h.items, Pointer(to=h.items))  # error@23: conflicting-access
    span_mut(h.items, h.items)  # error@23: conflicting-access
    span_item(h.items, h.items[0])
    span_view(h.items, h.items)  # error@24: conflicting-access
    span_nested(h.items, part(Span(h.items)))  # error@26: conflicting-access
    span_number(h.items, number(Span(h.items)))
    span_copy(h.items, h.items.copy())


def of_ptr():
    var x: L = [1]
    ptr_val(Pointer(to=x), x)  # error@28: conflicting-access
    ptr_span(Pointer(to=x), x)  # error@29: conflicting-access
    ptr_mspan(Pointer(to=x), x)  # error@30: conflicting-access
    ptr_ref(Pointer(to=x), x)  # error@28: conflicting-access
    ptr_ptr(Pointer(to=x), Pointer(to=x))  # error@28: conflicting-access
    ptr_mut(Pointer(to=x), x)  # error@28: conflicting-access
    ptr_item(Pointer(to=x), x[0])
    ptr_view(Pointer(to=x), x)  # error@29: conflicting-access
    ptr_nested(Pointer(to=x), part(Span(x)))  # error@31: conflicting-access
    ptr_number(Pointer(to=x), number(Span(x)))
    ptr_copy(Pointer(to=x), x.copy())


def fields_of_ptr(mut h: Holder):
    ptr_val(Pointer(to=h.items), h.items)  # error@34: conflicting-access
    ptr_span(Pointer(to=h.items), h.items)  # error@35: conflicting-access
    ptr_mspan(Pointer(to=h.items), h.items)  # error@36: conflicting-access
    ptr_ref(Pointer(to=h.items), h.items)  # error@34: conflicting-access
    ptr_ptr(Pointer(to=h.items), Pointer(to=h.items))  # error@34: conflicting-access
    ptr_mut(Pointer(to=h.items), h.items)  # error@34: conflicting-access
    ptr_item(Pointer(to=h.items), h.items[0])
    ptr_view(Pointer(to=h.items), h.items)  # error@35: conflicting-access
    ptr_nested(Pointer(to=h.items), part(Span(h.items)))  # error@37: conflicting-access
    ptr_number(Pointer(to=h.items), number(Span(h.items)))
    ptr_copy(Pointer(to=h.items), h.items.copy())


def main():
    pass
