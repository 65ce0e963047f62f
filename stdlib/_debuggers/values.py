"""Values of the library as a debugger shows them. Runs inside of gdb and lldb, in front of `with_gdb` or `with_lldb`.

In: a value of the debugger, and a `Reader` for it. Out: a `View`. Memory may hold anything: a variable without a value
yet has lengths out of nothing, so what is not plausible is shown as it lies there.
"""

import re

MOST_ITEMS = 200
_PLAUSIBLE = 1 << 40


class View:
    """A value to show: `text` in quotes, or a `summary` with `children`: (name, value) or, in a map, (key, value)."""

    def __init__(self, summary="", children=(), text=None, kind="array"):
        self.summary, self.children, self.text, self.kind = summary, list(children), text, kind


def kind_of(type_name):
    """Return the name of a type's struct."""
    return type_name.replace("struct ", "").partition("[")[0]


def view(reader, value):
    """Return the view of a value, None for one that is shown as it lies in memory."""
    name = reader.type_name(value).replace("struct ", "")
    make = VIEWS.get(kind_of(name))
    try:
        return make(reader, value, name) if make else None
    except (ArithmeticError, KeyError, IndexError, LookupError, RuntimeError, TypeError, ValueError):
        return None


def _number(reader, value, *path):
    for name in path:
        value = reader.field(value, name)
    return reader.number(value)


def _items(reader, pointer, count):
    if not 0 <= count < _PLAUSIBLE:
        raise ValueError
    return [(f"[{i}]", reader.item(pointer, i)) for i in range(min(count, MOST_ITEMS))]


def _of(name, count, unit="item"):
    return f"{name} of {count} {unit}{'' if count == 1 else 's'}"


def _text(reader, address, size):
    if not 0 <= size < _PLAUSIBLE:
        raise ValueError
    return View(text=reader.memory(address, size).decode("utf-8", "backslashreplace") if size else "")


def _string(reader, value, name):
    """A text of at most 23 bytes lies in the value, with its length and a mark in the last byte."""
    words = [_number(reader, value, field) for field in ("_far", "_size", "_room")]
    held = b"".join((word & (2**64 - 1)).to_bytes(8, "little") for word in words)
    if held[-1] & 0x80:
        return View(text=held[: held[-1] & 0x7F].decode("utf-8", "backslashreplace"))
    return _text(reader, words[0], words[1])


def _slice(reader, value, name):
    return _text(reader, _number(reader, value, "_data"), _number(reader, value, "_length"))


def _error(reader, value, name):
    return _string(reader, reader.field(value, "_message"), name)


def _list(reader, value, name):
    count = _number(reader, value, "_len")
    return View(_of(name, count), _items(reader, reader.field(value, "_data"), count))


def _deque(reader, value, name):
    head, tail = _number(reader, value, "_head"), _number(reader, value, "_tail")
    room, data = _number(reader, value, "_capacity"), reader.field(value, "_data")
    if not (0 <= head < room < _PLAUSIBLE and 0 <= tail < room):
        raise ValueError
    count = (tail - head) % room
    found = [(f"[{i}]", reader.item(data, (head + i) % room)) for i in range(min(count, MOST_ITEMS))]
    return View(_of(name, count), found)


def _linked_list(reader, value, name):
    count, at, found = _number(reader, value, "_size"), reader.field(value, "_head"), []
    for i in range(min(count, MOST_ITEMS)):
        node = reader.item(at, 0)
        found.append((f"[{i}]", reader.field(node, "value")))
        at = reader.field(node, "next")
    return View(_of(name, count), found)


def _entries(reader, value):
    """Return the entries of a dictionary; one that was removed leaves a gap."""
    held = reader.field(value, "_entries")
    data, count = reader.field(held, "_data"), _number(reader, held, "_len")
    if not 0 <= count < _PLAUSIBLE:
        raise ValueError
    found = [reader.item(data, i) for i in range(min(count, MOST_ITEMS))]
    return [entry for entry in found if _number(reader, entry, "_present")]


def _dict(reader, value, name):
    held = reader.field(value, "_data") if kind_of(name) == "Counter" else value
    shown = [(reader.field(entry, "key"), reader.field(entry, "value")) for entry in _entries(reader, held)]
    return View(_of(_short(name), _number(reader, held, "_count")), shown, kind="map")


def _set(reader, value, name):
    held = reader.field(value, "_data")
    shown = [(f"[{i}]", reader.field(entry, "key")) for i, entry in enumerate(_entries(reader, held))]
    return View(_of(_short(name), _number(reader, held, "_count")), shown)


def _short(name):
    """Return a name without the hasher."""
    return re.sub(r", \w*Hasher\[.*", "]", name)


def _optional(reader, value, name):
    if not _number(reader, value, "_present"):
        return View("None")
    return View(name, [("value", reader.field(reader.field(value, "_value"), "_0"))], kind="struct")


def _variant(reader, value, name):
    number = _number(reader, value, "_kind")
    return View(name, [(f"_{number}", reader.field(value, f"_{number}"))], kind="struct")


def _tuple(reader, value, name):
    return View("", [(field, reader.field(value, field)) for field in reader.fields(value)])


def _pointer(reader, value, name):
    place = reader.item(reader.field(value, "_inner"), 0)
    held = reader.field(place, "value") if kind_of(name) == "ArcPointer" else place
    return View(name, [("value", held)], kind="struct")


def _buffer(reader, value, name):
    return View(_of(name, _number(reader, value, "_size"), "element"), kind="struct")


def _numbers(text):
    """Return a tuple of tuples of numbers from its text."""
    if not re.fullmatch(r"[-\d(), ]+", text):
        raise ValueError
    return eval(re.sub(r"\(([^(),]+)\)", r"(\1,)", text), {"__builtins__": {}})


def _layout(name):
    """Return shape and stride in the name of a type; -1 where a number is known at run time only."""
    start = name.index("(")
    depth, split = 0, 0
    for at in range(start, len(name)):
        depth += (name[at] == "(") - (name[at] == ")")
        split = at if name[at] == ":" and depth == 1 else split
        if depth == 0:
            return tuple(_modes(name[start + 1 : split])), tuple(_modes(name[split + 1 : at]))
    raise ValueError


def _modes(text):
    made = _numbers(text)
    return made if isinstance(made, tuple) else (made,)


def _filled(known, unknown):
    """Return a tuple in which -1 is replaced by what is known at run time, in order."""
    return tuple(
        _filled(one, unknown) if isinstance(one, tuple) else unknown.pop(0) if one == -1 else one for one in known
    )


def _run_time(reader, value, path, known):
    """Return the numbers of a layout that are known at run time."""
    if "-1" not in str(known):
        return known
    for name in path:
        value = reader.field(value, name)
    return _filled(known, [reader.number(one) for one in reader.elements(value)])


def _size(shape):
    if not isinstance(shape, tuple):
        return shape
    product = 1
    for one in shape:
        product *= _size(one)
    return product


def _offset(shape, stride, index):
    """Return where an index of one mode lies; the first part of a nested mode runs fastest."""
    if not isinstance(shape, tuple):
        return index * stride
    place = 0
    for size, step in zip(shape, stride):  # noqa: B905 - gdb may have an old Python
        place += _offset(size, step, index % _size(size))
        index //= _size(size)
    return place


def _tensor(reader, value, name):
    shape, stride = _layout(name)
    runtime = ("runtime_layout",)
    shape = _run_time(reader, value, (*runtime, "shape", "_unknown", "_array"), shape)
    stride = _run_time(reader, value, (*runtime, "stride", "_unknown", "_array"), stride)
    extents, data, found = [_size(one) for one in shape], reader.field(value, "ptr"), []
    if not 0 < _size(shape) < _PLAUSIBLE:
        raise ValueError
    for number in range(min(_size(shape), MOST_ITEMS)):
        index, rest = [], number
        for extent in reversed(extents):
            index.insert(0, rest % extent)
            rest //= extent
        place = sum(_offset(*mode) for mode in zip(shape, stride, index))  # noqa: B905
        found.append((f"[{', '.join(map(str, index))}]", reader.item(data, place)))
    kind = re.search(r"DType\.(\w+)", name)
    return View(
        f"LayoutTensor of {' x '.join(map(str, extents))} {kind.group(1) if kind else ''}", found, kind="struct"
    )


VIEWS = {
    "ArcPointer": _pointer, "Counter": _dict, "Deque": _deque, "DeviceBuffer": _buffer, "Dict": _dict, "Error": _error,
    "HostBuffer": _buffer, "LayoutTensor": _tensor, "LinkedList": _linked_list, "List": _list, "Optional": _optional,
    "OwnedPointer": _pointer, "Set": _set, "Span": _list, "String": _string, "StringSlice": _slice, "Tuple": _tuple,
    "Variant": _variant,
}  # fmt: skip
