"""Exported functions that take a `DeviceContext` or tensors, called with arrays.

Input: the text of a program. Output: the text with a function for each of them that takes numbers, and `DeviceCall`s,
which make these numbers of arrays. The context is that of the arrays' device, on the current stream of torch or cupy.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from ktc import config
from ktc.api.arrays.array_arguments import Array, Records, array_of
from ktc.api.cuda import stream_of
from ktc.base.editions import Edition
from ktc.diag.diagnostic import Sink
from ktc.diag.source import Source
from ktc.syntax import ast
from ktc.syntax.editions import assign
from ktc.syntax.parsing.parser import parse

Call: TypeAlias = Callable[..., object]
_CONTEXTS = ("DeviceContext", "DeviceContextPtr")
_TENSORS = ("LayoutTensor", "TileTensor")
_LIBRARY = "tensor._arrays"


@dataclass(frozen=True, slots=True)
class DeviceFunction:
    """An exported function with a context or tensors.

    Attributes:
        export: the name of the function of numbers that stands for it.
        arguments: those that Python passes.
    """

    name: str
    export: str
    doc: str
    arguments: tuple["Argument", ...]


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of such a function.

    Attributes:
        only_reads: of a tensor: whether its type forbids writing.
        is_optional: whether it has a default value.
    """

    name: str
    is_tensor: bool
    only_reads: bool
    is_optional: bool


def device_functions(text: str, path: str, edition: Edition | None) -> tuple[str, tuple[DeviceFunction, ...]]:
    """Return a program with functions of numbers for those with a context or tensors, and a list of these.

    The text is unchanged, and there are none, if it does not parse: the build reports that.
    """
    if "DeviceContext" not in text and "Tensor" not in text:
        return text, ()
    source, sink = Source(path, text), Sink()
    assign(source, edition)
    module = parse(source, sink, config.open_cache())
    if module is None or sink.error_count:
        return text, ()
    exports = device_exports(module)
    if not exports:
        return text, ()
    found, lines = list[DeviceFunction](), _imports(module)
    for one in exports:
        hidden = f"_ktc_of_arrays_{len(found)}"
        lines += _wrapper(text, module, one, hidden)
        arguments = [
            Argument(given.name, bool(kind), _only_reads(text, module, given.type), given.default is not None)
            for given, kind in zip(one.node.args, one.kinds, strict=True)
            if kind not in _CONTEXTS
        ]
        found.append(DeviceFunction(one.name, hidden, one.node.doc, tuple(arguments)))
    return "\n".join([blanked(text, exports), *lines, ""]), tuple(found)


class DeviceExport(NamedTuple):
    """An exported function with a context or tensors, as it is written.

    Attributes:
        name: by which it is exported.
        decorator: its `@export`.
        kinds: of each argument, as `_kind` returns it.
    """

    name: str
    node: ast.FunctionDecl
    decorator: ast.Decorator
    kinds: list[str]


def device_exports(module: ast.Module) -> list[DeviceExport]:
    """Return the exported functions of a module that take a context or tensors."""
    found = list[DeviceExport]()
    for node in module.body:
        if not isinstance(node, ast.FunctionDecl) or node.params:
            continue
        for decorator in node.decorators:
            call = decorator.value if isinstance(decorator.value, ast.Call) else None
            value = call.func if call is not None else decorator.value
            if isinstance(value, ast.Name) and value.id == "export":
                kinds = [_kind(module, one) for one in node.args]
                named = call.args[0] if call is not None and call.args else None
                name = named.value if isinstance(named, ast.StrLit) else node.name
                if any(kinds):
                    found.append(DeviceExport(name, node, decorator, kinds))
    return found


def blanked(text: str, exports: list[DeviceExport]) -> str:
    """Return a text in which functions are not exported; everything stays at its place."""
    for one in exports:
        start, end = one.decorator.start, one.decorator.end
        spaces = "".join(["\n" if letter == "\n" else " " for letter in text[start:end]])
        text = text[:start] + spaces + text[end:]
    return text


def _written(text: str, node: ast.Expr | None) -> str:
    return text[node.start : node.end] if node is not None else ""


def _kind(module: ast.Module, argument: ast.Param) -> str:
    """Return "LayoutTensor", "TileTensor" or the name of a context, "" for another type."""
    if isinstance(argument.type, ast.Name) and argument.type.id in _CONTEXTS:
        return argument.type.id
    return tensor_name(module, argument.type)


def tensor_name(module: ast.Module, node: ast.Expr | None) -> str:
    """Return the name of the tensor that a type is, also through aliases of the file; "" for another type."""
    aliases = {one.name: one.value for one in module.body if isinstance(one, ast.Alias)}
    for _ in range(len(aliases) + 1):
        while isinstance(node, ast.Subscript):
            node = node.base
        if not isinstance(node, ast.Name) or node.id not in aliases:
            break
        node = aliases[node.id]
    return node.id if isinstance(node, ast.Name) and node.id in _TENSORS else ""


def _only_reads(text: str, module: ast.Module, node: ast.Expr | None) -> bool:
    """Whether a tensor's type has an immutable origin, also through an alias of the file."""
    aliases = {one.name: one.value for one in module.body if isinstance(one, ast.Alias)}
    seen = set[str]()
    while isinstance(node, ast.Name) and node.id in aliases and node.id not in seen:
        seen.add(node.id)
        node = aliases[node.id]
    return "Imm" in _written(text, node)


def _imports(module: ast.Module) -> list[str]:
    gpu = "gpu" if module.edition is Edition.Y2025 else "max.gpu"
    return [
        "", f"from {gpu}.host import DeviceContext as _KtcContext",
        f"from {_LIBRARY} import array_layout as _ktc_layout, array_pointer as _ktc_pointer",
        f"from {_LIBRARY} import array_tile_layout as _ktc_tile_layout",
    ]  # fmt: skip


def _wrapper(text: str, module: ast.Module, export: DeviceExport, name: str) -> list[str]:
    """Return a function of numbers that calls a function: stream, device, two for each tensor."""
    node, kinds = export.node, export.kinds
    lines, taken, passed = list[str](), ["_ktc_stream: Int", "_ktc_device: Int"], list[str]()
    for number, (argument, kind) in enumerate(zip(node.args, kinds, strict=True)):
        if kind in _CONTEXTS:
            passed.append("_ktc_context")
        elif kind:
            own = f"{name}_type{number}"
            lines.append(f"comptime {own} = {_written(text, argument.type)}")
            taken += [f"_ktc_address{number}: Int", f"_ktc_record{number}: Int"]
            title = f'"{export.name}", "{argument.name}"'
            pointer = f"_ktc_pointer[{own}.dtype]({title}, _ktc_address{number}, _ktc_record{number})"
            shape = f"_ktc_layout[{own}.layout]({title}, _ktc_record{number})"
            if kind == "TileTensor":
                shape = f"_ktc_tile_layout[{own}.LayoutType]({title}, _ktc_record{number})"
            passed.append(f"{own}({pointer}, {shape})")
        else:
            taken.append(text[argument.start : argument.end])
            passed.append(f"{argument.name}^" if argument.convention in ("var", "owned") else argument.name)
    word = "fn" if module.edition is Edition.Y2025 else "def"
    result = f" -> {_written(text, node.result)}" if node.result is not None else ""
    call = f"{node.name}({', '.join(passed)})"
    return [
        "", "", *lines, "", "", "@export",
        f"{word} {name}({', '.join(taken)}) raises{result}:",
        "    var _ktc_context: _KtcContext",
        "    if _ktc_device < 0:",
        '        _ktc_context = _KtcContext(api="cpu")',
        "    else:",
        "        _ktc_context = _KtcContext(stream=_ktc_stream, device_id=_ktc_device)",
        f"    var _ktc_result = {call}" if result else f"    {call}",
        "    if _ktc_device < 0:",
        "        _ktc_context.synchronize()",
        *(["    return _ktc_result^"] if result else []),
    ]  # fmt: skip


class DeviceCall:
    """A function of arrays, as Python calls it.

    Attributes:
        names: those of its arguments.
    """

    def __init__(self, function: DeviceFunction, raw: Call) -> None:
        self._function, self._raw, self._records = function, raw, Records()
        self.__name__ = function.name
        self.names = [one.name for one in function.arguments]
        self._needed = sum(not one.is_optional for one in function.arguments)

    def __call__(self, *args: object, **named: object) -> object:
        """Call it on the device where the arrays are.

        Raises:
            TypeError: an argument is no array, or is missing.
            ValueError: arrays are on several devices, read only, or of another shape than the function takes.
            RuntimeError: the function raised an error.
        """
        given = self._by_name(args, named)
        words, rest, device = list[object](), dict[str, object](), None
        for argument in self._function.arguments:
            if argument.name not in given:
                continue
            value = given[argument.name]
            if argument.is_tensor:
                array = self._array(argument, value)
                words += (array.address, self._records.address(array))
                if device not in (None, array.device):
                    text = f"argument '{argument.name}' is on another device than the arrays before it"
                    raise ValueError(f"{self.__name__}(): {text}")
                device = array.device
            elif len(given) < len(self.names) and argument.is_optional:
                rest[argument.name] = value
            else:
                words.append(value)
        place = -1 if device is None else device
        try:
            return self._raw(stream_of(place) if place >= 0 else 0, place, *words, **rest)
        except (TypeError, ValueError, OverflowError) as error:
            error.args = (str(error).replace(f"{self._function.export}()", f"{self.__name__}()", 1),)
            raise

    def _array(self, argument: Argument, value: object) -> Array:
        array, title = array_of(value), f"{self.__name__}(): argument '{argument.name}'"
        if array is None:
            kind = type(value).__name__
            raise TypeError(f"{title} must be an array of numpy, torch, cupy or JAX, not {kind}")
        if array.is_read_only and not argument.only_reads:
            raise ValueError(f"{title} is read only, and the function may write it")
        return array

    def _by_name(self, args: tuple[object, ...], named: Mapping[str, object]) -> dict[str, object]:
        names = self.names
        if len(args) > len(names) or (not named and len(args) < self._needed):
            expected = f"{len(names)} argument{'s' * (len(names) != 1)} ({', '.join(names)})"
            raise TypeError(f"{self.__name__}() takes {expected}, not {len(args)}")
        given = dict(zip(names, args, strict=False))
        for name, value in named.items():
            if name not in names:
                raise TypeError(f"{self.__name__}() has no argument '{name}'; it takes {', '.join(names)}")
            if name in given:
                raise TypeError(f"{self.__name__}() gets its argument '{name}' twice")
            given[name] = value
        for one in self._function.arguments:
            if one.name not in given and not one.is_optional:
                raise TypeError(f"{self.__name__}() misses its argument '{one.name}'")
        return given

    def __repr__(self) -> str:
        """Say which function it is."""
        return f"<function of arrays '{self.__name__}'>"


__all__ = ("DeviceCall", "DeviceFunction", "device_functions")
