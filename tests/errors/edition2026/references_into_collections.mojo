# A reference or view into a collection ends when the collection may move or destroy its values.


struct Holder:
    var items: List[String]
    var other: List[String]

    def __init__(out self):
        self.items = ["a"]
        self.other = []

    def grow(mut self):
        self.items.append("b")

    def own(mut self):
        ref first = self.items[0]
        self.other.append("c")
        print(first)  # another field
        self.grow()
        print(first)  # error@15: conflicting-access "'first' refers into an argument, which has changed since"


def grow(mut items: List[String]):
    items.append("b")


def of_reference():
    var items: List[String] = ["a"]
    ref first = items[0]
    print(first, len(items))
    items.reverse()
    items[0] = "b"
    items[0] += "c"
    first += "d"
    print(first)  # the values are where they were
    items.append("e")
    print(first)  # error@11: conflicting-access "'first' refers into 'items', which has changed since"


def of_assignment():
    var items: List[String] = ["a"]
    ref first = items[0]
    grow(items)
    first = "b"  # error@5: conflicting-access "'first' refers into 'items'"


def of_pointer():
    var items: List[String] = ["a"]
    var first = Pointer(to=items[0])
    items = ["b"]
    print(first[])  # error@11: conflicting-access
    first = Pointer(to=items[0])
    print(first[])  # not this


def of_views(condition: Bool):
    var text = String("a")
    var bytes = text.as_bytes()
    var view = StringSlice(text)
    var items: List[String] = ["a"]
    var values = Span(items)
    var part = items[0:1]
    if condition:
        text += "b"
        items.append("b")
    print(bytes[0])  # error@11: conflicting-access
    print(view)  # error@11: conflicting-access
    print(values[0])  # error@11: conflicting-access
    print(part[0])  # error@11: conflicting-access


def of_paths(condition: Bool):
    var items: List[String] = ["a"]
    ref first = items[0]
    if condition:
        items.clear()
        return
    else:
        print(first)
    print(first)


def of_loop():
    var items: List[String] = ["a"]
    ref first = items[0]
    while len(items) < 3:
        print(first)  # error@15: conflicting-access
        items.append("b")


def of_loops_over_views():
    var text = String("a")
    for byte in text.as_bytes():  # error@17: conflicting-access "this loop refers into 'text', which has changed since"
        if byte == 98:
            text += "b"
    var items: List[String] = ["a"]
    for item in items[0:1]:
        items[0] = "b"
        if item == "b":
            items.append("c")
            break
    print(items)


def of_values(mut entries: Dict[String, Int]) raises:
    ref value = entries["a"]
    entries["a"] += 1
    print(value)
    entries["b"] = 2
    print(value)  # error@11: conflicting-access


def of_inner():
    var rows: List[List[Int]] = [[1]]
    ref row = rows[0]
    ref cell = rows[0][0]
    row[0] = 2
    print(cell)
    row.append(3)
    print(row)
    print(cell)  # error@11: conflicting-access


def main() raises:
    of_reference()
    of_assignment()
    of_pointer()
    of_views(True)
    of_paths(True)
    of_loop()
    var entries: Dict[String, Int] = {"a": 1}
    of_values(entries)
    of_inner()
    of_loops_over_views()
    var holder = Holder()
    holder.own()
