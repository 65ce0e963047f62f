"""What types are called and made of: `reflect[T]`."""

from std.reflection import SourceLocation, call_location, reflect, source_location


@fieldwise_init
struct P(Copyable, Writable):
    var x: Int
    var name: String
    var f: Float32
def dump[T: AnyType](ref v: T):
    print(reflect[T].base_name(), end="{")
    comptime for i in range(reflect[T].field_count()):
        comptime F = reflect[T].field_types()[i]
        comptime if conforms_to(F, Writable):
            print(reflect[T].field_names()[i], reflect[T].field_ref[i](v), sep="=", end=";")
    print("}")
def count_strings[T: AnyType]() -> Int:
    var n = 0
    comptime for i in range(reflect[T].field_count()):
        comptime if reflect[T].field_types()[i] == String: n += 1
    return n


struct G[T: Copyable, n: Int]:
    var v: Int


def first():
    print(reflect[P].name(), reflect[P].field_count(), reflect[Int].name(), reflect[List[Int]].name())
    print(reflect[P].field_names()[0], reflect[P].field_names()[1])
    print(reflect[P].base_name(), reflect[G[Int,3]].base_name())
    comptime for i in range(reflect[P].field_count()):
        comptime T = reflect[P].field_types()[i]
        print(i, reflect[T].name(), reflect[P].field_names()[i])
    var p = P(3, "q", 1)
    print(reflect[P].field_ref[0](p))
    print(reflect[P].is_struct(), reflect[Int].is_struct())


def second():
    var p = P(3, "q", 1)
    print(reflect[P].field["x"].name(), reflect[P].field["x"].T(5), reflect[P].field_index["name"](), reflect[P].field_at[1].name())
    reflect[P].field_ref[0](p) = 7
    print(p, reflect[P].field_offset[name="name"]())
    comptime for i in range(reflect[P].field_count()):
        comptime T = reflect[P].field_types()[i]
        comptime if conforms_to(T, Writable):
            print(reflect[P].field_names()[i], "=", reflect[T].name())


@always_inline
def here() -> Int:
    return call_location().line()


@always_inline
def where() -> SourceLocation:
    return call_location()


def main():
    first()
    second()
    var p = P(3, "q", 1.5)
    dump(p)
    print(count_strings[P]())
    print(reflect[Tuple[Int, Bool]].base_name(), reflect[Optional[P]].base_name())
    print(source_location().line() - here(), where().column(), source_location().file_name() == where().file_name())
