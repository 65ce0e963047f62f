"""Operators that a package registers: the arguments of their `execute`, and a program that calls one.

Input: the sources of a package in which structs stand below `@compiler.register("name")` (edition 2026:
`@extensibility.register`). Output: `RegisteredOp`s by name. Nothing is compiled here.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ktc import config
from ktc.api.errors import CompileError, Problem
from ktc.diag.diagnostic import Sink
from ktc.diag.source import Source
from ktc.syntax import ast
from ktc.syntax.editions import assign
from ktc.syntax.parsing.parser import parse
from ktc.syntax.registrations import registered

SUFFIXES = (".mojo", ".kpy")
_WRITTEN = {"InputTensor": "", "OutputTensor": "Output", "_MutableInputTensor": "MutableInput"}
_CONTEXTS = ("DeviceContext", "DeviceContextPtr")
_SCALARS = ("Scalar", "SIMD")
_WHOLE = re.compile(r"U?Int\d*|u?int\d+")


@dataclass(frozen=True, slots=True)
class OpArgument:
    """One argument of an operator.

    Attributes:
        kind: "tensor", "context" or "number".
        direction: of a tensor: "Input", "Output" or "MutableInput".
        rank: of a tensor whose type names it; -1 where it is open.
        element: the element type of a tensor or scalar as it is written ("DType.float32", "dtype", "output.dtype").
        number: the type of a number that is no scalar ("Float32").
    """

    name: str
    kind: str
    direction: str = ""
    rank: int = -1
    element: str = ""
    number: str = ""

    @property
    def writes(self) -> bool:
        """Whether it is a tensor that the operator changes."""
        return self.direction in ("Output", "MutableInput")

    @property
    def dtype(self) -> str:
        """The name of the element type ("float32"); "" where it is open."""
        return self.element.removeprefix("DType.") if self.element.startswith("DType.") else ""

    @property
    def python_types(self) -> tuple[type, ...]:
        """The types of Python that a number may have; the first is for messages."""
        if self.number == "Bool":
            return (bool,)
        return (int,) if _WHOLE.fullmatch(self.number or self.dtype) else (float, int)


@dataclass(frozen=True, slots=True)
class RegisteredOp:
    """An operator of a package.

    Attributes:
        module: where its struct is, as the package's parent folder sees it ("op.conv1d").
        struct_parameters, parameters: the names of the compile-time parameters of the struct and of `execute`.
        needed: those of them that have no default value, and that no argument's type determines.
        arguments: those of `execute`.
    """

    name: str
    module: str
    struct: str
    struct_parameters: tuple[str, ...]
    parameters: tuple[str, ...]
    needed: tuple[str, ...]
    arguments: tuple[OpArgument, ...]


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """A tensor as far as a program knows it when it is compiled.

    Attributes:
        dtype: the name of the element type, "float32".
        sizes, strides: extents and strides in elements; None if they are known at run time only.
        alignment: of the first element, in bytes.
    """

    dtype: str
    rank: int
    sizes: tuple[int, ...] | None
    strides: tuple[int, ...] | None
    alignment: int


def registered_ops(folder: Path) -> dict[str, RegisteredOp]:
    """Return the operators of a package, or of one file, by name.

    Raises:
        FileNotFoundError: there is no such folder or file, or no source in it.
        CompileError: a source does not parse, two operators have one name, or an `execute` is missing.
    """
    files = sorted(one for one in folder.rglob("*") if one.suffix in SUFFIXES) if folder.is_dir() else [folder]
    if not files or not files[0].is_file():
        raise FileNotFoundError(f"there is no source of a package in '{folder}'")
    found = dict[str, RegisteredOp]()
    for path in files:
        text = path.read_text("utf-8", "replace")
        if "register" not in text:
            continue
        source, sink = Source(str(path), text), Sink()
        assign(source, None)
        module = parse(source, sink, config.open_cache())
        if module is None or sink.error_count:
            raise _wrong(path, 1, f"{path.name} does not parse; 'ktc check {path.name}' shows why")
        for name, struct in registered(module):
            line = text.count("\n", 0, struct.start) + 1
            if name in found:
                raise _wrong(path, line, f"two operators are registered as '{name}'")
            place = _Place(path, text, line)
            found[name] = _op(name, struct, place, _module_name(path, folder))
    return found


def _module_name(path: Path, folder: Path) -> str:
    parts = path.with_suffix("").relative_to(folder.parent if folder.is_dir() else path.parent).parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


class _Place(NamedTuple):
    """A struct's file, its text, and the struct's line in it."""

    path: Path
    text: str
    line: int


def _wrong(path: Path, line: int, message: str) -> CompileError:
    return CompileError([Problem("bad-operator", message, str(path), line)], f"error[bad-operator]: {message}\n")


def _op(name: str, struct: ast.StructDecl, place: _Place, module: str) -> RegisteredOp:
    execute = [one for one in struct.body if isinstance(one, ast.FunctionDecl) and one.name == "execute"]
    if len(execute) != 1:
        said = "no method 'execute'" if not execute else "several methods 'execute'"
        raise _wrong(place.path, place.line, f"operator '{name}': the struct '{struct.name}' has {said}")
    arguments = tuple([_argument(one, name, place) for one in execute[0].args])
    own = [one for one in execute[0].params if one.kind not in ("infer", "star")]
    types = " ".join([_written(one.type, place.text) for one in execute[0].args])
    determined = {"target", *re.findall(r"\w+", types)}
    needed = [one.name for one in (*struct.params, *own) if one.default is None and one.name not in determined]
    return RegisteredOp(
        name, module, struct.name, tuple([one.name for one in struct.params]), tuple([one.name for one in own]),
        tuple(needed), arguments,
    )  # fmt: skip


def _argument(node: ast.Param, op: str, place: _Place) -> OpArgument:
    kind = node.type
    while isinstance(kind, ast.Subscript):
        kind = kind.base
    head = kind.name if isinstance(kind, ast.Attribute) else kind.id if isinstance(kind, ast.Name) else ""
    if node.kind in ("star", "starstar") or (head not in _WRITTEN and "Tensor" in head):
        text = f"operator '{op}': the argument '{node.name}' is of a kind that Python cannot pass: '{head}'"
        raise _wrong(place.path, place.line, text)
    if head in _CONTEXTS:
        return OpArgument(node.name, "context")
    if head in _WRITTEN:
        given = {one.name: one.value for one in node.type.keywords} if isinstance(node.type, ast.Subscript) else {}
        rank = given.get("rank")
        extent = rank.value if isinstance(rank, ast.IntLit) else -1
        return OpArgument(
            node.name, "tensor", _WRITTEN[head] or "Input", extent, _written(given.get("dtype"), place.text)
        )
    if head in _SCALARS and isinstance(node.type, ast.Subscript):
        named = [one.value for one in node.type.keywords if one.name == "dtype"]
        return OpArgument(node.name, "number", element=_written([*named, *node.type.args][0], place.text))
    return OpArgument(node.name, "number", number=head)


def _written(node: ast.Expr | None, text: str) -> str:
    return text[node.start : node.end] if node is not None else ""


def program(
    op: RegisteredOp, values: Mapping[str, str], tensors: Sequence[TensorSpec], numbers: Sequence[type], target: str
) -> str:
    """Return the text of a program whose function `run` calls an operator.

    `run` takes the stream, the device, an address for each tensor (and after it extents and strides, if they are known
    at run time only), and the numbers in their order.

    Args:
        values: parameters and their values as the language writes them.
        tensors: the tensors in the order of the operator's arguments.
        numbers: the Python types of the numbers.
        target: "cpu" or "gpu".
    """
    taken, lines, passed = ["stream: Int", "device: Int"], list[str](), list[str]()
    specs, kinds = iter(enumerate(tensors)), iter(enumerate(numbers))
    constants, last = list[str](), list[str]()
    for argument in op.arguments:
        if argument.kind == "context":
            passed.append("ctx")
        elif argument.kind == "number":
            number, kind = next(kinds)
            last.append(f"number{number}: {'Bool' if kind is bool else 'Int' if kind is int else 'Float64'}")
            type_name = argument.number or f"Scalar[{_element(argument.element, op, tensors, values)}]"
            passed.append(f"{type_name}(number{number})")
        else:
            number, spec = next(specs)
            constants.append(f"alias _spec{number} = {_spec_text(spec)}")
            taken.append(f"address{number}: Int")
            taken += _extents(number, spec)
            lines += _tensor_lines(number, spec, argument.direction)
            passed.append(f"tensor{number}")
    given = {
        **({"target": json.dumps(target)} if "target" in (*op.parameters, *op.struct_parameters) else {}),
        **values,
    }
    struct = _with_parameters(op.struct, {name: given[name] for name in op.struct_parameters if name in given})
    execute = _with_parameters("execute", {name: given[name] for name in op.parameters if name in given})
    return "\n".join([
        "from gpu.host import DeviceContext",
        "from layout import IntTuple, Layout, UNKNOWN_VALUE",
        "from tensor import Input, ManagedTensorSlice, MutableInput, Output, StaticTensorSpec",
        "from utils.index import IndexList",
        f"from {op.module} import {op.struct}",
        "", *constants, "", "",
        "@export",
        f"fn run({', '.join([*taken, *last])}) raises:",
        "    var ctx = DeviceContext(stream=stream, device_id=device)",
        *lines,
        f"    {struct}.{execute}({', '.join(passed)})",
        '    if ctx.api() == "cpu":',
        "        ctx.synchronize()",
        "",
    ])  # fmt: skip


def _element(written: str, op: RegisteredOp, tensors: Sequence[TensorSpec], values: Mapping[str, str]) -> str:
    """Return an element type that a scalar's type names: itself, a tensor's, or that of a parameter."""
    if written in values:
        return values[written]
    for argument, spec in zip([one for one in op.arguments if one.kind == "tensor"], tensors, strict=True):
        if written in (f"{argument.name}.dtype", argument.element):
            return f"DType.{spec.dtype}"
    return written


def _with_parameters(name: str, values: Mapping[str, str]) -> str:
    return f"{name}[{', '.join([f'{one}={value}' for one, value in values.items()])}]" if values else name


def _tuple(values: tuple[int, ...] | None, rank: int) -> str:
    if rank == 0:
        return "IntTuple(1)"
    return f"IntTuple({', '.join(['UNKNOWN_VALUE'] * rank if values is None else map(str, values))})"


def _spec_text(spec: TensorSpec) -> str:
    layout = f"Layout({_tuple(spec.sizes, spec.rank)}, {_tuple(spec.strides, spec.rank)})"
    return f"StaticTensorSpec[DType.{spec.dtype}, {spec.rank}]({layout}, {spec.alignment})"


def _extents(number: int, spec: TensorSpec) -> list[str]:
    if spec.sizes is not None:
        return []
    return [f"{title}{number}_{axis}: Int" for title in ("size", "stride") for axis in range(spec.rank)]


def _tensor_lines(number: int, spec: TensorSpec, direction: str) -> list[str]:
    pairs = []
    for title, values in (("size", spec.sizes), ("stride", spec.strides)):
        words = map(str, values) if values is not None else [f"{title}{number}_{axis}" for axis in range(spec.rank)]
        pairs.append(f"IndexList[{spec.rank}]({', '.join(words)})")
    return [
        f"    var pointer{number} = UnsafePointer[Scalar[DType.{spec.dtype}], MutAnyOrigin](",
        f"        unsafe_from_address=address{number}",
        "    )",
        f"    var tensor{number} = ManagedTensorSlice[io_spec={direction}, static_spec=_spec{number}](",
        f"        pointer{number}, {pairs[0]}, {pairs[1]}",
        "    )",
    ]
