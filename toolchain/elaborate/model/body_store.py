"""Bodies of library functions that need not be elaborated: packed with the archive, unpacked on demand."""

import io
import pickle
from collections.abc import Callable, Mapping, Set
from dataclasses import field
from operator import attrgetter
from typing import Any

from ktc.base import unpickling
from ktc.base.records import field_names, record
from ktc.diag.source import Source, Span
from ktc.ir import nodes, types

KeptBody = tuple[nodes.Function, Set[str]]
"""A function, and the symbols that it refers to."""


@record
class Listed:
    """The symbols that the library's archive may hold, those that its seed reaches. `defines` has no symbols.

    Args:
        functions: those that programs call at run time; of these the long ones are compiled apart from programs.
        variables: global variables that exist once, for programs and for those functions.
        bodies: all that is kept as it was elaborated.
        defines: the names of `-D` that the library reads.
    """

    functions: Set[str] = frozenset()
    variables: Set[str] = frozenset()
    bodies: Set[str] = frozenset()
    defines: tuple[str, ...] = ()


@record
class Packed:
    """Bodies and global constants, by symbol, and the interpreter's code of them."""

    bodies: Mapping[str, bytes] = field(default_factory=dict)
    constants: Mapping[str, bytes] = field(default_factory=dict)
    shapes: Mapping[str, bytes] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.bodies or self.shapes)

    def joined(self, other: "Packed") -> "Packed":
        """Return the entries of both."""
        return Packed(
            {**other.bodies, **self.bodies}, {**other.constants, **self.constants}, {**other.shapes, **self.shapes}
        )


_Getter = Callable[[Any], tuple[Any, ...]]


class Bodies:
    """Packed bodies, each unpacked when it is first asked for.

    `symbols` are those of the functions whose bodies there are, `names` those of the constants.

    Args:
        source: gives the source of a library file's path.
    """

    def __init__(self, packed: Packed, source: Callable[[str], Source]) -> None:
        self._packed = packed
        self.symbols, self.names = packed.bodies.keys(), packed.constants.keys()
        self.shapes = packed.shapes
        self._source = source
        self._made: dict[str, KeptBody] = {}

    def get(self, symbol: str) -> KeptBody | None:
        """Return a function and the symbols that it refers to, or None."""
        made = self._made.get(symbol)
        if made is None and symbol in self._packed.bodies:
            made = self._made[symbol] = _unpack(self._packed.bodies[symbol], self._source)
        return made

    def constant(self, name: str) -> nodes.Global | None:
        """Return a global constant, or None."""
        data = self._packed.constants.get(name)
        return None if data is None else _unpack(data, self._source)


class Declarations:
    """Declarations of functions in the archive, each unpacked when it is first asked for.

    Args:
        packed: by symbol. source: gives the source of a library file's path.
    """

    def __init__(self, packed: Mapping[str, bytes], source: Callable[[str], Source]) -> None:
        self._packed, self._source = packed, source
        self._made: dict[str, nodes.Function] = {}

    def __len__(self) -> int:
        return len(self._packed)

    def get(self, symbol: str) -> nodes.Function | None:
        """Return a declaration, None if the archive does not have the function."""
        made = self._made.get(symbol)
        if made is None and symbol in self._packed:
            made = self._made[symbol] = _unpack(self._packed[symbol], self._source)
        return made


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=5)
        self._getters: dict[Any, _Getter | None] = {}

    def persistent_id(self, value: Any) -> Any:
        """Name a source by its path."""
        return value.path if isinstance(value, Source) else None

    def reducer_override(self, value: Any) -> Any:
        """Make a node by a call of its class with its fields; the usual way for all else."""
        kind: Any = type(value)
        if kind not in self._getters:
            self._getters[kind] = _getter(kind)
        get = self._getters[kind]
        return NotImplemented if get is None else (kind, get(value))


class _Unpickler(unpickling.Unpickler):
    def __init__(self, file: io.BytesIO, source: Callable[[str], Source]) -> None:
        super().__init__(file)
        self._source = source

    def persistent_load(self, path: Any) -> Source:
        """Return the source of a path."""
        return self._source(path)


def pack(value: Any) -> bytes:
    """Pack a function, a global, or a tuple with them."""
    out = io.BytesIO()
    _Pickler(out).dump(value)
    return out.getvalue()


def _unpack(data: bytes, source: Callable[[str], Source]) -> Any:
    return _Unpickler(io.BytesIO(data), source).load()


def _getter(kind: Any) -> _Getter | None:
    if kind is not Span and not kind.__module__.startswith((f"{nodes.__name__}.", types.__name__)):
        return None
    names = [name for name in field_names(kind) if not name.startswith("_")]
    if not names:
        return lambda _: ()
    get = attrgetter(*names)
    return get if len(names) > 1 else lambda value: (get(value),)
