"""Summaries and children for lldb; `ktc debug` imports them, behind `values`."""

import lldb


class Reader:
    """Reads values of lldb."""

    def type_name(self, value):
        kind = value.GetType()
        return (kind.GetDereferencedType() if kind.IsReferenceType() else kind).GetUnqualifiedType().GetName()

    def fields(self, value):
        kind = value.GetType()
        return [kind.GetFieldAtIndex(i).GetName() for i in range(kind.GetNumberOfFields())]

    def field(self, value, name):
        found = value.GetNonSyntheticValue().GetChildMemberWithName(name)
        if not found.IsValid():
            raise KeyError(name)
        return found

    def number(self, value):
        return value.GetValueAsSigned()

    def item(self, pointer, index):
        kind = pointer.GetType().GetPointeeType()
        return pointer.CreateValueFromAddress(
            f"[{index}]", pointer.GetValueAsUnsigned() + index * kind.GetByteSize(), kind
        )

    def elements(self, array):
        return [array.GetChildAtIndex(i) for i in range(array.GetNumChildren())]

    def memory(self, address, size):
        error = lldb.SBError()
        found = self.process.ReadMemory(address & (2**64 - 1), size, error)
        if not error.Success():
            raise ValueError
        return found


def _view(value):
    value = value.GetNonSyntheticValue()
    if value.GetType().IsReferenceType():
        value = value.Dereference()
    reader = Reader()
    reader.process = value.GetProcess()
    return view(reader, value)  # noqa: F821


def summary(value, _):
    made = _view(value)
    if made is None:
        return ""
    return '"' + made.text + '"' if made.text is not None else made.summary


class Children:
    """The children of a value."""

    def __init__(self, value, _):
        self.value = value
        self.made = None

    def update(self):
        self.made = _view(self.value)
        return False

    def has_children(self):
        return self.made is None or bool(self.made.children)

    def num_children(self):
        if self.made is None:
            return self.value.GetNonSyntheticValue().GetNumChildren()
        return len(self.made.children) * (2 if self.made.kind == "map" else 1)

    def get_child_index(self, name):
        return next((i for i in range(self.num_children()) if self.get_child_at_index(i).GetName() == name), -1)

    def get_child_at_index(self, index):
        if self.made is None:
            return self.value.GetNonSyntheticValue().GetChildAtIndex(index)
        if self.made.kind == "map":
            pair = self.made.children[index // 2]
            return self._named(("key", "value")[index % 2], pair[index % 2])
        return self._named(*self.made.children[index])

    def _named(self, name, found):
        return found.CreateValueFromAddress(name, found.GetLoadAddress(), found.GetType())


def __lldb_init_module(debugger, _):
    module = __name__
    for name in sorted(VIEWS):  # noqa: F821
        pattern = rf"^(struct )?{name}(\[.*)?$"
        debugger.HandleCommand(f'type summary add -w ktc -e -x "{pattern}" -F {module}.summary')
        debugger.HandleCommand(f'type synthetic add -w ktc -x "{pattern}" -l {module}.Children')
    debugger.HandleCommand("type category enable ktc")
