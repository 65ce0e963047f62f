"""Printers for gdb. The executable carries them in `.debug_gdb_scripts`, behind `values`."""

import gdb


class Reader:
    """Reads values of gdb."""

    def type_name(self, value):
        return str(value.type.strip_typedefs().unqualified())

    def fields(self, value):
        return [field.name for field in value.type.fields()]

    def field(self, value, name):
        return value[name]

    def number(self, value):
        return int(value)

    def item(self, pointer, index):
        return (pointer + index).dereference()

    def elements(self, array):
        low, high = array.type.range()
        return [array[i] for i in range(low, high + 1)]

    def memory(self, address, size):
        return bytes(gdb.selected_inferior().read_memory(address, size))


class Printer:
    """Shows one value."""

    def __init__(self, made):
        self.view = made

    def to_string(self):
        if self.view.text is not None:
            return self.view.text
        return self.view.summary or None

    def display_hint(self):
        if self.view.text is not None:
            return "string"
        return None if self.view.kind == "struct" else self.view.kind


class Container(Printer):
    """Shows a value with what is in it."""

    def children(self):
        for number, (name, value) in enumerate(self.view.children):
            if self.view.kind == "map":
                yield f"{number} key", name
                yield f"{number} value", value
            else:
                yield name, value


class Printers:
    """Finds the printer of a value."""

    name = "ktc"
    enabled = True
    subprinters = None

    def __call__(self, value):
        kind = value.type.strip_typedefs()
        if kind.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
            value = value.referenced_value()
            kind = value.type.strip_typedefs()
        if kind.code != gdb.TYPE_CODE_STRUCT:
            return None
        try:
            made = view(Reader(), value)  # noqa: F821
        except gdb.error:
            return None
        if made is None:
            return None
        return Printer(made) if made.text is not None or not made.children else Container(made)


gdb.pretty_printers[:] = [one for one in gdb.pretty_printers if getattr(one, "name", "") != "ktc"] + [Printers()]
