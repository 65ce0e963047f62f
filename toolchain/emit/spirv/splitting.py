"""Values that SPIR-V's back end cannot hold, in parts: structs, arrays, vectors of odd lengths, numbers of 128 bits.

Input: the lines of a function. Output: lines in which each such value is one value for each of its leaves. A part that
an instruction only passes on (`insertvalue`, `extractelement`) gets no name of its own: `Parts.alias` says what it is.
"""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from ktc.emit.llvm_text.instructions import Instruction
from ktc.emit.llvm_text.scanning import members, split, take_type
from ktc.emit.spirv import wide
from ktc.emit.spirv.calls import split_call
from ktc.emit.spirv.leaves import LIMB, WIDE, leaves, position, width
from ktc.emit.spirv.parts import Parts, give, lanes_of, same
from ktc.emit.spirv.syntax import instruction, unsupported

_ODD = re.compile(r"[{\[<]|\bi128\b")
_CASTS = frozenset({"trunc", "zext", "sext", "fptrunc", "fpext", "fptoui", "fptosi", "uitofp", "sitofp"})
_SIZES = {"i1": 1, "i8": 1, "i16": 2, "half": 2, "bfloat": 2, "i32": 4, "float": 4}


def split_values(lines: list[str]) -> list[str]:
    """Return the lines of a function's body with all values in parts."""
    parts = Parts()
    for line in lines:
        found = instruction(line)
        if found is None or not _is_odd(found):
            parts.lines.append(line)
        else:
            _HANDLERS.get(found.op, _elementwise)(parts, found)
    return parts.resolved()


def _is_odd(found: Instruction) -> bool:
    """Return whether a type in the instruction has parts."""
    if found.op == "cmpxchg":
        return True
    if found.op in ("getelementptr", "alloca", "br", "switch") or not _ODD.search(found.body):
        return False
    return any(leaves(kind) is not None for kind in _types(found))


def _types(found: Instruction) -> list[str]:
    """Return the types that an instruction names."""
    return [found.type, *[one.type for one in found.operands]]


# ---- instructions -------------------------------------------------------------------------------------------


def _phi(parts: Parts, found: Instruction) -> None:
    kind, edges = found.type, found.incoming
    names = []
    for index, leaf in enumerate(leaves(kind) or ()):
        given = [f"[ {parts.parts(kind, value)[index]}, {label} ]" for value, label in edges]
        names.append(parts.new(f"phi {found.flags}{leaf} {', '.join(given)}"))
    parts.bind(found.name, names)


def _select(parts: Parts, found: Instruction) -> None:
    condition, left, right = ((one.type, one.value) for one in found.operands)
    kinds = leaves(left[0]) or (left[0],)
    tests = lanes_of(parts, *condition) if condition[0][0] == "<" else [condition[1]]
    names = []
    for index, (kind, a, b) in enumerate(zip(kinds, parts.parts(*left), parts.parts(*right), strict=True)):
        test = tests[index * len(tests) // len(kinds)]
        names.append(parts.new(f"select {found.flags}i1 {test}, {kind} {a}, {kind} {b}"))
    parts.bind(found.name, names)


def _insert_value(parts: Parts, found: Instruction) -> None:
    (kind, value, _), member = found.operands
    at, _ = position(kind, [int(index) for index in found.indices])
    held = parts.parts(kind, value)
    new = parts.parts(member.type, member.value)
    parts.bind(found.name, held[:at] + new + held[at + len(new) :])


def _extract_value(parts: Parts, found: Instruction) -> None:
    ((kind, value, _),) = found.operands
    at, member = position(kind, [int(index) for index in found.indices])
    give(parts, found.name, member, parts.parts(kind, value)[at : at + width(member)])


def _insert_element(parts: Parts, found: Instruction) -> None:
    vector, member, index = ((one.type, one.value) for one in found.operands)
    held, new = parts.parts(*vector), parts.parts(*member)
    if index[1].isdigit():
        at = int(index[1]) * len(new)
        parts.bind(found.name, held[:at] + new + held[at + len(new) :])
        return
    kinds, values = leaves(vector[0]) or (), []
    for at, (kind, value) in enumerate(zip(kinds, held, strict=True)):
        test = parts.new(f"icmp eq {index[0]} {index[1]}, {at // len(new)}")
        values.append(parts.new(f"select i1 {test}, {kind} {new[at % len(new)]}, {kind} {value}"))
    parts.bind(found.name, values)


def _extract_element(parts: Parts, found: Instruction) -> None:
    vector, index = ((one.type, one.value) for one in found.operands)
    element = members(vector[0])[0]
    held, count = parts.parts(*vector), width(element)
    if index[1].isdigit():
        give(parts, found.name, element, held[int(index[1]) * count :][:count])
        return
    chosen = held[:count]
    for at in range(count, len(held), count):
        test = parts.new(f"icmp eq {index[0]} {index[1]}, {at // count}")
        kinds = leaves(element) or (element,)
        chosen = [
            parts.new(f"select i1 {test}, {kind} {one}, {kind} {other}")
            for kind, one, other in zip(kinds, held[at : at + count], chosen, strict=True)
        ]
    give(parts, found.name, element, chosen)


def _shuffle(parts: Parts, found: Instruction) -> None:
    left, right, mask = ((one.type, one.value) for one in found.operands)
    element = members(left[0])[0]
    both = lanes_of(parts, *left) + lanes_of(parts, *right)
    count = width(element)
    chosen: list[str] = []
    number = len(members(mask[0]))
    selected = [take_type(part)[1] for part in split(mask[1][1:-1])] if mask[1][0] == "<" else ["0"] * number
    for lane in selected:
        if lane in ("poison", "undef"):
            chosen += ["poison"] * count
        else:
            chosen += both[int(lane) * count :][:count]
    give(parts, found.name, f"<{number} x {element}>", chosen)


def _memory(parts: Parts, kind: str, place: str, rest: list[str]) -> list[tuple[str, str, int]]:
    """Return the address, the type and the alignment of each leaf of the value at a place."""
    align = next((int(part.split()[1]) for part in rest if part.startswith("align ")), 1)
    if kind == WIDE:
        high = parts.new(f"getelementptr i8, {place}, i64 8")
        return [(place, LIMB, min(align, 8)), (f"{take_type(place)[0]} {high}", LIMB, min(align, 8))]
    found = []
    packed = kind.startswith("<{")
    for index, member in enumerate(members(kind)):
        # A vector's lanes lie one after the other, as an array's elements do.
        shape = f"[{len(members(kind))} x {member}]" if kind[0] == "<" and not packed else kind
        at = parts.new(f"getelementptr inbounds {shape}, {place}, i32 0, i32 {index}")
        where = f"{take_type(place)[0]} {at}"
        own = 1 if packed else min(align, _SIZES.get(member, 8))
        if leaves(member) is not None:
            found += _memory(parts, member, where, [f"align {own}"])
        else:
            found.append((where, member, own))
    return found


def _load(parts: Parts, found: Instruction) -> None:
    kind, place, *rest = split(found.body)
    parts.bind(
        found.name,
        [
            parts.new(f"load {found.flags}{leaf}, {where}, align {align}")
            for where, leaf, align in _memory(parts, kind, place, rest)
        ],
    )


def _store(parts: Parts, found: Instruction) -> None:
    value, place, *rest = split(found.body)
    kind, text = take_type(value)
    held = parts.parts(kind, text)
    for (where, leaf, align), one in zip(_memory(parts, kind, place, rest), held, strict=True):
        parts.lines.append(f"  store {found.flags}{leaf} {one}, {where}, align {align}")


def _compare(parts: Parts, found: Instruction) -> None:
    predicate, (kind, (value, right)) = found.predicate, (found.operands[0].type, found.values)
    if kind == WIDE:
        made = wide.compared(parts.new, predicate, parts.parts(kind, value), parts.parts(kind, right))
        parts.lines.append(f"  {found.name} = {same('i1', made)}")
        return
    element, count = members(kind)[0], len(members(kind))
    sides = zip(parts.parts(kind, value), parts.parts(kind, right), strict=True)
    if element == WIDE:
        raise unsupported(found.body)
    made_lanes = [parts.new(f"{found.op} {found.flags}{predicate} {element} {a}, {b}") for a, b in sides]
    give(parts, found.name, f"<{count} x i1>", made_lanes)


def _cast(parts: Parts, found: Instruction) -> None:
    ((kind, value, _),), result = found.operands, found.type
    if kind[0] == "<" or result[0] == "<":
        element, made = members(result)[0], []
        for index, lane in enumerate(lanes_of(parts, kind, value)):
            if WIDE in (element, members(kind)[0]):
                raise unsupported(found.body)
            made.append(parts.new(f"{found.op} {found.flags}{members(kind)[index]} {lane} to {element}"))
        give(parts, found.name, result, made)
    elif result == WIDE:
        parts.bind(found.name, wide.extended(parts.new, found.op, kind, value))
    elif found.op == "trunc":
        low = parts.parts(kind, value)[0]
        parts.lines.append(
            f"  {found.name} = {same(result, low) if result == LIMB else f'trunc {LIMB} {low} to {result}'}"
        )
    else:
        raise unsupported(f"{found.op} {found.body}")


def _bitcast(parts: Parts, found: Instruction) -> None:
    """Through memory: the lanes of both may be of different sizes."""
    ((kind, value, _),), result = found.operands, found.type
    place = parts.new(f"alloca {_room(kind)}, align 16, addrspace(5)")
    _to_memory(parts, kind, value, f"ptr addrspace(5) {place}")
    if leaves(result) is None:
        parts.lines.append(f"  {found.name} = load {result}, ptr addrspace(5) {place}, align 16")
    else:
        _load(parts, Instruction(f"  {found.name} = load {result}, ptr addrspace(5) {place}, align 16"))


def _room(kind: str) -> str:
    return f"[{len(members(kind))} x {members(kind)[0]}]" if kind[0] == "<" else kind


def _to_memory(parts: Parts, kind: str, value: str, place: str) -> None:
    if leaves(kind) is None:
        parts.lines.append(f"  store {kind} {value}, {place}, align 16")
    else:
        _store(parts, Instruction(f"  store {kind} {value}, {place}, align 16"))


def _exchange(parts: Parts, found: Instruction) -> None:
    """Split the result of a `cmpxchg`: a struct, which the back end knows as such."""
    made = parts.new(f"cmpxchg {found.flags}{found.body}")
    kind = found.type
    parts.bind(found.name, [parts.new(f"extractvalue {kind} {made}, {index}") for index in range(2)])


def _freeze(parts: Parts, found: Instruction) -> None:
    ((kind, value, _),) = found.operands
    made = [
        parts.new(f"freeze {leaf} {one}")
        for leaf, one in zip(leaves(kind) or (), parts.parts(kind, value), strict=True)
    ]
    parts.bind(found.name, made)


def _elementwise(parts: Parts, found: Instruction) -> None:
    """Operations of one or two operands of the same type."""
    kind = found.type
    sides = [parts.parts(kind, value) for value in found.values]
    if kind == WIDE:
        parts.bind(found.name, wide.combined(parts.new, found.op, sides[0], sides[1]))
        return
    if kind[0] != "<" or kind.startswith("<{") or members(kind)[0] == WIDE:
        raise unsupported(f"{found.op} {found.body}")
    made = [
        parts.new(f"{found.op} {found.flags}{element} {', '.join(lanes)}")
        for element, lanes in zip(members(kind), zip(*sides, strict=True), strict=True)
    ]
    parts.bind(found.name, made)


_HANDLERS: Mapping[str, Callable[[Parts, Instruction], None]] = MappingProxyType(
    {
        "phi": _phi,
        "select": _select,
        "insertvalue": _insert_value,
        "extractvalue": _extract_value,
        "insertelement": _insert_element,
        "extractelement": _extract_element,
        "shufflevector": _shuffle,
        "load": _load,
        "store": _store,
        "icmp": _compare,
        "fcmp": _compare,
        "bitcast": _bitcast,
        "call": split_call,
        "cmpxchg": _exchange,
        "freeze": _freeze,
        **dict.fromkeys(_CASTS, _cast),
    }
)
