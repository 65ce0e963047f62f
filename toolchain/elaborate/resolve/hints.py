"""Hints by type and intent, for habits from CUDA, NumPy, Triton, Numba or Python.

Input: types and names as shown in messages, and the text of the receiver. Output: the text of a help line, or "". Only
asked for when an error is reported.
"""

import re
from collections.abc import Sequence

from ktc.elaborate.resolve import hint_tables
from ktc.syntax import ast

_KERNEL_ARGUMENT_TYPES = frozenset(("UnsafePointer", "LayoutTensor", "DeviceBuffer", "TileTensor", "NDBuffer"))

_QUOTIENT = re.compile(r"[^/]/[^/]")


def _family(type: str) -> str:
    return type.partition("[")[0]


def _receiver(text: str) -> str:
    """Return a receiver's text where it is short enough to be repeated."""
    return text if re.fullmatch(r"[\w.]{1,30}", text) else "x"


def member_hint(type: str, name: str, receiver: str) -> str:
    """Return the help for a member that a type does not have.

    Args:
        type: as shown in messages.
        name: of the member.
        receiver: the text in front of the dot.
    """
    return hint_tables.MEMBERS.get(_family(type), {}).get(name, "").replace("{x}", _receiver(receiver))


def index_hint(type: str, receiver: str) -> str:
    """Return the help for an index of a type that takes none."""
    return hint_tables.INDEX.get(_family(type), "").replace("{x}", _receiver(receiver))


def unchangeable_hint(type: str) -> str:
    """Return the help for an item that cannot be assigned to; `type` as shown."""
    return hint_tables.UNCHANGEABLE.get(_family(type), "")


def iteration_hint(type: str, receiver: str) -> str:
    """Return the help for a loop over a type that gives no items."""
    return hint_tables.ITERATION.get(_family(type), "").replace("{x}", _receiver(receiver))


def module_hint(dotted: str, known: Sequence[str]) -> str:
    """Return the replacement of a module of Python or CUDA; "" if it is none of theirs.

    Args:
        known: the modules that there are.
    """
    head = dotted.partition(".")[0]
    around, _, name = dotted.rpartition(".")
    if around in known:
        return f"it is not a module; a name of '{around}' is imported with 'from {around} import {name}'"
    if head not in hint_tables.MODULES:
        return ""
    own = hint_tables.MODULES[head]
    if head not in hint_tables.PYTHON_ONLY:
        return own
    python = hint_tables.PYTHON_OBJECT.format(module=dotted)
    return own + python if own else python.removeprefix("or ")


def import_hint(module: str, name: str) -> str:
    """Return the help for a name that a module does not have."""
    return hint_tables.IMPORTS.get((module, name), "")


def argument_hint(name: str, names: Sequence[str]) -> str:
    """Return the name that this launch has for an unknown argument, as help."""
    own = hint_tables.ARGUMENTS.get(name, "")
    return f"the name is '{own}'" if own in names else ""


def kernel_argument_hint(have: str, expected: str) -> str:
    """Return the help for a launch whose argument differs in type from the kernel's; both types as shown."""
    given, declared = _family(have), _family(expected)
    if given == "List":
        return "copy the items to a buffer: 'ctx.enqueue_create_buffer[DType.…](len(…))', then 'map_to_host()'"
    if given in ("String", "StringLiteral", "Dict", "Set", "Optional"):
        return "a kernel takes numbers, buffers, tensors and structs that are 'DevicePassable'"
    if given == "HostBuffer":
        return "the host's memory is not the device's: 'ctx.enqueue_copy(device_buffer, host_buffer)' first"
    if have.startswith(("fn(", "def(")):
        return "a function is passed as a parameter of the kernel, 'kernel[function]', not as an argument"
    if given == "UnsafePointer" == declared:
        return "pass the buffer itself; a kernel cannot reach the host's memory"
    if given == "DeviceBuffer" and declared == "UnsafePointer":
        item = have.partition("[DType.")[2].rstrip("]")
        return f"the items differ: make the buffer of the pointer's type, or point to items of 'DType.{item}'"
    if given == "DeviceBuffer" and declared == "LayoutTensor":
        return "make a tensor over it: 'LayoutTensor[dtype, layout](buffer)'"
    if given == "LayoutTensor" and declared == "UnsafePointer":
        return "pass the buffer that the tensor lies over"
    if given == "LayoutTensor" == declared and "ImmutAnyOrigin" in have and "MutAnyOrigin" in expected:
        return "give the tensor the origin 'MutAnyOrigin'" if ", MutAnyOrigin" in expected else ""
    return ""


def direct_call_hint(function: str, have: str) -> str:
    """Return the help for a kernel that is called as a function with a buffer, or launched as an argument."""
    if function.startswith("enqueue_function"):
        text = "a launch names its kernel twice, in brackets: 'enqueue_function_checked[kernel, kernel](…)'"
        return text if have.startswith(("fn(", "def(")) else ""
    if _family(have) not in ("DeviceBuffer", "HostBuffer"):
        return ""
    return f"a kernel is launched: 'ctx.enqueue_function_checked[{function}, {function}](…, grid_dim=…, block_dim=…)'"


def launch_brackets_hint(function: str, arguments: Sequence[ast.Param]) -> str:
    """Return the help for `kernel[grid, block](…)`; "" where the arguments are not those of a kernel."""
    heads = [one.type.base if isinstance(one.type, ast.Subscript) else one.type for one in arguments]
    is_kernel = any(isinstance(head, ast.Name) and head.id in _KERNEL_ARGUMENT_TYPES for head in heads)
    return direct_call_hint(function, "DeviceBuffer") if is_kernel else ""


def division_hint(have: str, expected: str, text: str) -> str:
    """Return the help for a quotient where a whole number is expected; `text`: the expression."""
    is_whole = expected.startswith(("Int", "UInt"))
    return "write '//' for integer division" if have == "Float64" and is_whole and _QUOTIENT.search(text) else ""


def origin_hint(type: str) -> str:
    """Return how what a pointer or a tensor points to can be changed, where its origin says that it cannot."""
    if _family(type) in ("UnsafePointer", "LayoutTensor", "Span") and "Immut" in type:
        return "declare it with the origin 'MutAnyOrigin'"
    return ""


def trait_hint(type: str, traits: Sequence[str]) -> str:
    """Return the help for a type that does not conform to traits."""
    rows = (row for trait in traits for row in hint_tables.TRAIT_HINTS.get(trait, ()))
    return next((text for start, text in rows if type.startswith(start)), "")


def function_hint(name: str) -> str:
    """Return the help for a function that is asked for a member."""
    return hint_tables.LAUNCH if name in ("launch", "run", "forall", "configure", "warmup", "compile") else ""


def call_hint(function: str, given: Sequence[str]) -> str:
    """Return the help for a call whose argument types no overload takes; the types as shown, in quotes."""
    families = [_family(one.strip("'")) for one in given]
    if function == "enqueue_copy" and "List" in families:
        return "pass the list's memory: 'list.unsafe_ptr()'"
    if function == "extend" and families and families[0] in ("Int", "IntLiteral", "FloatLiteral"):
        return "write '.append(…)' for one item"
    if function in ("__getitem__", "__setitem__") and len(given) > 1 + (function == "__setitem__"):
        return "it has one dimension: write one index, or 'x[i][j]' for a list of lists"
    if function == "__getitem__" and families[:1] == ["StringLiteral"]:
        return "an index is an integer; a 'Dict' has keys"
    return ""


def foreign_call_hint(function: str, is_library: bool, code: str) -> str:
    """Return the help for a library function that is called as another language's function of that name."""
    table = hint_tables.FOREIGN_CALLS
    return table.get(function, "") or table.get(f"{function} {code}", "") if is_library else ""
