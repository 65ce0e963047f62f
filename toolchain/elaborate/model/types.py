"""Language types and parameter values.

Types are interned (one object a type), so `is` compares them. A parameter value (`ParameterValue`) is anything that may
stand in a parameter list: a type, a constant, a function, a pack of parameter values, or, in patterns only, an
`UnboundParameter`.
"""

import math
from dataclasses import field
from typing import Any, Union

from ktc.base.records import entity, record
from ktc.elaborate.model.declarations import AliasInfo, ModuleInfo, OverloadSet, Scope, StructInfo, TraitInfo, Ty
from ktc.ir import nodes, types
from ktc.syntax import ast


@entity
class PrimTy(Ty):
    """A primitive type. `ir` is None for types that exist only at compile time.

    Args:
        name: `index`, `i1`, `!pop.simd` …
        args: its parameters: numbers, dtype codes, types.
        kind: of the element for arithmetic: "s", "u", "f", "b", a float of one byte's name, or "" where there is none.
        lanes: number of lanes of a `!pop.simd`, else 1.
    """

    name: str
    args: tuple["PrimArg", ...]
    ir: types.Type | None
    kind: str = ""
    lanes: int = 1

    def __str__(self) -> str:
        return self.name + (f"[{', '.join(map(str, self.args))}]" if self.args else "")


@entity
class StructTy(Ty):
    """An instance of a struct declaration; what is computed of it lazily is cached in its slots."""

    info: "StructInfo"
    params: tuple["ParameterValue | None", ...]
    fields: "tuple[tuple[str, Ty], ...] | None" = None
    ir_type: types.Type | None = None
    trivial: bool | None = None
    scope: "Scope | None" = None
    symbolic: bool = False
    origins: "tuple[OriginValue, ...] | None" = None
    field_slots: dict[str, tuple[int, int]] = field(default_factory=dict)
    aliases: "dict[str, ParameterArgument]" = field(default_factory=dict)
    conforms: dict[int, bool] = field(default_factory=dict)
    prim: "PrimTy | str | None" = "?"
    plain_move: bool | None = None
    kept_in_memory: bool | None = None
    destructor_symbol: str | None = None
    constants: dict[str, object] = field(default_factory=dict)
    shown: str = ""
    key: str = ""

    def __str__(self) -> str:
        if self.info.closure is not None:
            return FunctionValue(OverloadSet("", [self.info.closure])).described()
        if not self.params:
            return self.info.name
        shown = [show(value) for value in self.params[self.info.first_printed_param :]]
        return f"{self.info.name}[{', '.join(shown)}]" if shown else self.info.name


@entity
class TraitTy(Ty):
    """A trait, or several joined by `&`; the type of a type parameter."""

    traits: tuple["TraitInfo", ...]

    def __str__(self) -> str:
        return " & ".join(trait.name for trait in self.traits)


@entity
class FunctionTy(Ty):
    """A function type. A value of one without `of` and `syntax` is at run time the address of the function's code.

    Args:
        args: convention and type of each argument; a type may be open in a pattern.
        nodes: how the arguments were written.
        effects: `capturing`, `escaping`, `unified`.
        result_ref: the result is a reference: may it be written through. None for a value.
        of: the type of this function alone, which is a part of the instances that it is given to.
        syntax: of a type with parameters its syntax, by which it is compared.
        error: the type of the errors that it raises; None: `Error`.
    """

    args: tuple[tuple[str, "ParameterValue | None"], ...]
    result: "ParameterValue | None"
    raises: bool
    effects: tuple[str, ...]
    nodes: tuple[ast.Param, ...] = ()
    result_ref: bool | None = None
    of: "FunctionValue | None" = None
    syntax: ast.FunctionType | None = None
    symbolic: bool = False
    signature: object = None
    error: "ParameterValue | None" = None

    @property
    def is_escaping(self) -> bool:
        """Return whether its values are closures on the heap, with their captures."""
        return "escaping" in self.effects and self.of is None and self.syntax is None

    def __str__(self) -> str:
        if self.of is not None:
            return self.of.described()
        if self.syntax is not None:
            params = ", ".join(param.name for param in self.syntax.params)
            return f"fn[{params}]({', '.join('_' for _ in self.args)})" + (" raises" if self.raises else "")
        shown = ", ".join(f"{word} {show(kind)}" if word != "read" else show(kind) for word, kind in self.args)
        raises = " raises" + (f" {show(self.error)}" if self.error is not None else "")
        effects = (raises if self.raises else "") + "".join(f" {effect}" for effect in self.effects)
        return f"fn({shown}){effects} -> {'None' if _is_none(self.result) else show(self.result)}"


@record
class OriginValue:
    """Where a reference points. `kind`: "any", "static", "external", "local" with the local, or "some": into what the
    caller knows (instances do not depend on whose variables they were called with). `cast`: a cast to a mutable origin
    says that it is mutable, whatever the caller may change. Where a generic body is checked, `name` is the parameter
    that it stands for."""

    kind: str
    mutable: bool = True
    local: nodes.Local | None = None
    name: str = ""
    cast: bool = False


@record
class ConstValue:  # noqa: PLW1641 - the dataclass makes the hash
    """A constant of a language type. `data` is the IR's plain value of the type's representation; for types that exist
    only at compile time a Python value: int (`!kgen.int_literal`), Fraction or float (`!kgen.float_literal`), str
    (`!kgen.string`), `Target`, `OriginValue`."""

    ty: Ty
    data: Any

    def __eq__(self, other: object) -> bool:
        """Compare; unlike in Python, 0 and -0 are two constants."""
        if not isinstance(other, ConstValue):
            return NotImplemented
        if self.ty != other.ty or self.data != other.data:
            return False
        return self.data != 0 or math.copysign(1, self.data) == math.copysign(1, other.data)


@record
class FunctionValue:
    """A function as a parameter value.

    Args:
        overloads: the overloads it may be.
        params, named: parameters that were given already, by position (None: `_` leaves it open) and by name.
        self_ty: the struct for methods.
        env: for a nested function that captures: the body in which it stands.
        struct_params_first: of a method of an open struct: the first parameters that it is given are the struct's.
        seen_by_type: it stands for a parametric function type, and infers some parameters that the type has: those
            that it is given may be inferred ones, or of the types of its arguments.
        renamed: of one that was given as a function type: names of the type's parameters and arguments, with the
            function's own for them where these differ. Calls use the type's.
    """

    overloads: "OverloadSet"
    params: tuple["ParameterValue | None", ...] = ()
    named: tuple[tuple[str, "ParameterValue | None"], ...] = ()
    self_ty: "StructTy | None" = None
    env: Any = None
    struct_params_first: bool = False
    seen_by_type: bool = False
    renamed: tuple[tuple[str, str], ...] = field(default=(), compare=False)

    def own_name(self, name: str) -> str:
        """Return the function's own name for a parameter or an argument that a caller names."""
        return next((own for other, own in self.renamed if other == name), name)

    def __str__(self) -> str:
        shown = [show(p) for p in self.params] + [f"{name}={show(p)}" for name, p in self.named]
        return self.overloads.name + (f"[{', '.join(shown)}]" if shown else "")

    def described(self) -> str:
        """Return the function's head as text, as far as its declaration says it."""
        if len(self.overloads.functions) != 1:
            return f"the overloads of '{self.overloads.name}'"
        first = self.overloads.functions[0]
        node, text = first.node, first.module.source.text
        args = [arg for arg in node.args if not arg.name.startswith("$")]
        shown = [f"{a.convention} {_written(text, a.type)}".strip() if a.type is not None else a.name for a in args]
        result = _written(text, node.result) if node.result is not None else "None"
        word, effects = first.module.edition.function_word, " raises" if first.raises else ""
        return f"{word}({', '.join(shown)}){effects} -> {result}"


@record
class ParameterPack:
    """The values of a variadic parameter; `kind` is their declared type, if it is a type."""

    items: tuple["ParameterValue | None", ...]
    kind: "ParameterValue | None" = field(default=None, compare=False)


@record
class PartialTy:
    """A struct with some of its parameters given (`List`, `Mat[2, _]`); positions without a value hold None.

    Args:
        shape: where a parameter of an alias stands in several positions, the struct with a symbol in each of them.
        is_bare: written without brackets, so that defaults may say the rest.
        written: names of the parameters that are written, not there by default.
        alias: the alias that left the others open, and what it was given; its defaults count when more is given.
    """

    info: "StructInfo"
    params: tuple["ParameterValue | None", ...]
    shape: "PartialTy | StructTy | None" = None
    is_bare: bool = field(default=False, compare=False)
    written: frozenset[str] = field(default=frozenset(), compare=False)
    alias: "tuple[BoundAlias, tuple[tuple[str, ParameterArgument], ...]] | None" = field(default=None, compare=False)

    def __str__(self) -> str:
        return self.info.name


@record
class Metatype:
    """The type of a type: `type_of(T)` where `T` is a type, which may be open, or a trait."""

    of: "StructTy | PartialTy | TraitTy"

    def __str__(self) -> str:
        return f"type_of({self.of})"


@entity
class OpenTy(Ty):
    """In a signature: the type of an argument with parameters that are not inferred yet."""

    partial: PartialTy

    def __str__(self) -> str:
        return str(self.partial)


@record
class BoundAlias:
    """An alias with parameters, of one struct instance."""

    alias: AliasInfo
    self_ty: "StructTy | None"


@entity
class UnboundParameter:
    """A parameter without a value yet, in the pattern of a signature.

    Args:
        owner: id of the declaration, negative for one that is only tried.
        pack: a variadic parameter.
        ty: the type of its values, if that is a type of origins.
    """

    name: str
    owner: int
    pack: bool = False
    ty: "StructTy | None" = None


@entity
class Opaque:
    """In a pattern: depends on parameters through an expression that has to be evaluated.

    Args:
        ty: the type of the value, where that is known; it binds the parameters in it.
    """

    ty: "StructTy | None" = None


OPAQUE = Opaque()


@record
class ModuleValue:
    """A module as a value: `import a.b`."""

    module: "ModuleInfo"


ParameterValue = Union[
    Ty,
    ConstValue,
    FunctionValue,
    ParameterPack,
    PartialTy,
    UnboundParameter,
    Opaque,
    ModuleValue,
    AliasInfo,
    BoundAlias,
    Metatype,
]
ParameterArgument = Union[ParameterValue, None]
"""The argument for a parameter: None where `_` leaves it open."""
Actual = Union[ParameterArgument, list[ParameterArgument]]
"""The type that a call passes for an argument, as far as it is known; a list of them for a variadic one."""
Named = tuple[tuple[str, ParameterArgument], ...]
"""Parameters that are given by their names."""
PrimArg = Union[int, Ty, ParameterPack]
"""A parameter of a primitive type."""


def show(value: object) -> str:
    """Return a parameter value as a person writes it."""
    match value:
        case ConstValue(StructTy() as ty, data):
            return show_constant(ty, data)
        case ConstValue(PrimTy(kind="s" | "u", ir=types.IntType(bits)) as ty, int() as data):
            return str(signed(data, bits) if ty.kind == "s" else data)
        case ConstValue(_, str() as text):
            return '"' + text + '"'
        case ConstValue(_, data):
            return str(getattr(data, "name", data))
        case ParameterPack(items):
            return ", ".join(map(show, items))
        case None:
            return "_"
        case _:
            return str(value)


def is_symbolic(value: object) -> bool:
    """Return whether a parameter value depends on an unbound parameter."""
    match value:
        case UnboundParameter() | Opaque():
            return True
        case StructTy():
            return value.symbolic
        case ParameterPack(items):
            return any(map(is_symbolic, items))
        case PartialTy() | OpenTy():
            return True
        case Metatype(of):
            return is_symbolic(of)
        case ConstValue(StructTy() as ty, _):
            return ty.symbolic
        case FunctionTy():
            return value.symbolic
        case _:
            return False


def _is_none(ty: object) -> bool:
    return ty is None or (isinstance(ty, StructTy) and ty.info.name == "NoneType")


def _written(text: str, node: ast.Node) -> str:
    """Return the source of an expression, on one line."""
    return " ".join(text[node.start : node.end].split())


def signed(value: int, bits: int) -> int:
    """Return the two's complement reading of an unsigned number."""
    return value - (1 << bits) if value >> (bits - 1) else value


def show_constant(ty: StructTy, data: object) -> str:
    """Return a constant of a struct for messages."""
    if isinstance(ty.prim, str) or ty.prim is None:
        if not ty.info.node.params:
            return f"{ty.info.name}(…)" if data != () else f"{ty.info.name}()"
        return str(ty)
    if ty.prim.kind == "b":
        return "True" if data else "False"
    return _name_of(ty.info, data) or show(ConstValue(ty.prim, data))


def _name_of(info: StructInfo, data: object) -> str:
    """Return `DType.float32` for what `alias float32 = DType(code=18)` in the struct makes, else ""."""
    if info.code_names is None:
        info.code_names = {}
        for member in info.members.values():
            call = member.node.value if isinstance(member, AliasInfo) else None
            if (
                isinstance(member, AliasInfo)
                and isinstance(call, ast.Call)
                and isinstance(call.func, ast.Name)
                and call.func.id == info.name
            ):
                values = [*call.args, *(keyword.value for keyword in call.keywords)]
                if len(values) == 1 and isinstance(values[0], ast.IntLit):
                    info.code_names.setdefault(values[0].value, f"{info.name}.{member.name}")
    return info.code_names.get(data, "") if isinstance(data, int) else ""
