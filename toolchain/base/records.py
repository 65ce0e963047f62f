"""`@record`: a class of values, compared by their fields and never changed. `@entity`: compared by identity.

A record is as `@dataclass(frozen=True, slots=True)`, which the type checker takes it for; assignments to a
field are found by mypy, not when the program runs. An entity is as `@dataclass(slots=True, eq=False, repr=False)`.
Both cost a tenth of a data class at start-up: Python does not compile methods for each class, but once for each number
of fields, and a class has that code under the names of its own. Only fields with a `default_factory` need a constructor
that is compiled for the class.
"""

import copyreg
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, Field, field
from operator import attrgetter
from types import CodeType, FunctionType
from typing import Any, ClassVar, NoReturn, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(kind: type[T]) -> type[T]:
    """Make a class one of records."""
    own = vars(kind)
    made = _fielded(kind)
    names = [name for name, item in made.__record_fields__.items() if not isinstance(item, Field) or item.compare]
    get = attrgetter(*names) if len(names) >= len(_EQUALS) else None
    if "__eq__" not in own:
        made.__eq__ = _getter_equal(get) if get is not None else _method(_EQUALS[len(names)], names)
    if own.get("__hash__") is None:
        made.__hash__ = _getter_hash(get) if get is not None else _method(_HASHES[len(names)], names)
    if "__repr__" not in own:
        made.__repr__ = shown
    return made  # type: ignore[no-any-return]


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def entity(kind: type[T]) -> type[T]:
    """Make a class one of entities."""
    return _fielded(kind)  # type: ignore[no-any-return]


def replace(value: T, **changes: Any) -> T:
    """Return a copy with other values in some fields.

    Raises:
        TypeError: there is no such field.
    """
    return type(value)(**{name: getattr(value, name) for name in field_names(value)} | changes)


def field_names(of: Any) -> tuple[str, ...]:
    """Return the names of the fields, in order, of a record or entity, or of a class of them."""
    return of.__match_args__  # type: ignore[no-any-return]


def shown(value: Any) -> str:
    """Return a record as the call that makes it."""
    parts = (f"{name}={getattr(value, name)!r}" for name in field_names(value) if name[0] != "_")
    return f"{type(value).__name__}({', '.join(parts)})"


def constructed_only(kind: type) -> None:
    """Let pickles call a class and set no attributes, of its values or of itself: they ask `__setstate__` first.

    Pickles of ktc's own call constructors only. A class that cannot be changed needs this for itself no less.
    """
    if "__setstate__" not in vars(kind):
        with suppress(TypeError):
            kind.__setstate__ = _refuse_state  # type: ignore[attr-defined]


def _refuse_state(self: object, state: object) -> NoReturn:
    from pickle import UnpicklingError  # late: only for errors

    raise UnpicklingError(f"a pickle sets attributes of '{type(self).__name__}'")


def numbered(first: int, *modules: Any) -> None:
    """Let pickles call the classes of modules by numbers: finding one by name is a third of unpickling a small thing.

    Who unpickles these classes has to have numbered them before: names say what to import, numbers do not.

    Args:
        first: the number of the first class, in order of their names; up to 255 one takes two bytes.
    """
    kinds = [kind for module in modules for _, kind in sorted(vars(module).items())
             if isinstance(kind, type) and kind.__module__ == module.__name__]  # fmt: skip
    for code, kind in enumerate(kinds, first):
        constructed_only(kind)
        copyreg.add_extension(kind.__module__, kind.__qualname__, code)


def as_dict(value: object) -> dict[str, object]:
    """Return the fields of a record by their names, also those of records in it, in tuples, lists and mappings."""
    return {name: _plain(getattr(value, name)) for name in field_names(value)}


def _plain(value: object) -> object:
    if hasattr(value, "__record_fields__"):
        return as_dict(value)
    if isinstance(value, (tuple, list)):
        return type(value)(map(_plain, value))
    return {key: _plain(item) for key, item in value.items()} if isinstance(value, Mapping) else value


def _fielded(kind: Any) -> Any:
    """Return the class with slots and a constructor."""
    members = dict(vars(kind))
    kinds = members.get("__annotations__", {})
    own = {
        name: members.pop(name, MISSING)
        for name, of in kinds.items()
        if getattr(of, "__origin__", None) is not ClassVar
    }
    inherited: dict[str, object] = {}
    for base in reversed(kind.__mro__[1:]):
        inherited |= vars(base).get("__record_fields__", {})
    items = inherited | own
    names = tuple(items)
    for name in ("__dict__", "__weakref__"):
        members.pop(name, None)
    members |= {
        "__slots__": tuple([name for name in own if name not in inherited]),
        "__match_args__": names,
        "__record_fields__": items,
    }
    if all(getattr(base, "__reduce__", None) is object.__reduce__ for base in kind.__mro__):
        members["__reduce__"] = _reduced
    made: Any = type(kind)(kind.__name__, kind.__bases__, members)
    made.__qualname__ = kind.__qualname__
    defaults = [item.default if isinstance(item, Field) else item for item in items.values()]
    makers = {
        f"_new_{name}": item.default_factory
        for name, item in items.items()
        if isinstance(item, Field) and item.default_factory is not MISSING
    }
    if makers:
        made.__init__ = FunctionType(_making_init(names, makers), {"_MISSING": MISSING, **makers})
    else:
        made.__init__ = _method(_INITS[len(names)] if len(names) < len(_INITS) else _init(len(names)), names)
    made.__init__.__defaults__ = tuple(
        [value for name, value in zip(names, defaults, strict=True) if value is not MISSING or f"_new_{name}" in makers]
    )
    return made


def _reduced(value: object) -> tuple[object, ...]:
    """Pickle a value as the call that makes it; see `constructed_only`."""
    return type(value), tuple([getattr(value, name) for name in field_names(value)])


def _method(made: CodeType, names: Sequence[str]) -> FunctionType:
    """Return a method that is written for fields `_0`, `_1` …, for fields of other names."""
    own = {f"_{at}": name for at, name in enumerate(names)}
    varnames = tuple([own.get(name, name) for name in made.co_varnames])
    made = made.replace(co_names=tuple([own.get(name, name) for name in made.co_names]), co_varnames=varnames)
    return FunctionType(made, {})


def _init(count: int) -> CodeType:
    names = [f"_{at}" for at in range(count)]
    return _compiled("__init__", ["self", *names], "; ".join(f"self.{name} = {name}" for name in names) or "pass")


def _making_init(names: Sequence[str], makers: Mapping[str, object]) -> CodeType:
    """Return a constructor that calls `_new_x` for a field `x` that is not given."""
    values = {name: f"_new_{name}() if {name} is _MISSING else {name}" for name in names if f"_new_{name}" in makers}
    return _compiled(
        "__init__", ["self", *names], "; ".join(f"self.{name} = {values.get(name, name)}" for name in names)
    )


def _equal(count: int) -> CodeType:
    mine, others = ("".join(f"{of}._{at}, " for at in range(count)) for of in ("self", "other"))
    body = f"return ({mine}) == ({others}) if self.__class__ is other.__class__ else NotImplemented"
    return _compiled("__eq__", ["self", "other"], body)


def _hash(count: int) -> CodeType:
    return _compiled("__hash__", ["self"], f"return hash(({''.join(f'self._{at}, ' for at in range(count))}))")


def _getter_equal(get: Callable[[object], object]) -> Callable[[object, object], bool]:
    """Return a comparison by many fields, for which nothing is compiled."""

    def __eq__(self: object, other: object) -> bool:
        return get(self) == get(other) if self.__class__ is other.__class__ else NotImplemented

    return __eq__


def _getter_hash(get: Callable[[object], object]) -> Callable[[object], int]:
    def __hash__(self: object) -> int:
        return hash(get(self))

    return __hash__


def _compiled(name: str, params: list[str], body: str) -> CodeType:
    module = compile(f"def {name}({', '.join(params)}): {body}", "<record>", "exec")
    return next(const for const in module.co_consts if isinstance(const, CodeType))


_INITS = tuple(map(_init, range(14)))
_EQUALS = tuple(map(_equal, range(6)))
_HASHES = tuple(map(_hash, range(6)))
"""For the usual numbers of fields."""
