"""Packages of custom operators as operators of PyTorch: `CustomOpLibrary`."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from threading import Lock

import torch
from ktc.api.cuda import target_of
from ktc.api.libraries import compile
from ktc.api.op_packages import RegisteredOp, TensorSpec, program, registered_ops
from ktc.base.similarity import close_matches
from ktc.torch.registration import has_watchers, is_plain
from ktc.torch.variants import Call, start

NAMESPACE = "ktc_custom"
LIBRARY = torch.library.Library(NAMESPACE, "FRAGMENT")
_MOST_ALIGNMENT = 16
_SCHEMAS: Mapping[type, str] = {bool: "bool", int: "int", float: "float"}


class _Registered:
    """The operators that torch knows; the last one that was made with a name does the work."""

    def __init__(self) -> None:
        self.known: dict[str, CustomOp] = {}


_REGISTERED = _Registered()


class CustomOpLibrary:
    """The operators of a package, as attributes.

    An operator takes its tensors and numbers in the order of its `execute`, without the context: results first, which
    it writes. `library.name[{"size": 4}]` gives values to its compile-time parameters. It is compiled at the first
    call with new shapes, strides, types or parameters, and kept in ktc's cache.
    """

    def __init__(self, path: str | os.PathLike[str], *, target: str | None = None, dynamic: bool = False) -> None:
        """Read a package.

        Args:
            path: the package's folder, or one file.
            target: "gpu" makes operators take the branch for GPUs on tensors of the CPU too, where ktc runs kernels as
                threads.
            dynamic: compile for all shapes: layouts in the operator then have extents of run time.

        Raises:
            FileNotFoundError: there is no such package.
            CompileError: it does not parse.
            ValueError: there is no such target.
        """
        if target not in (None, "cpu", "gpu"):
            raise ValueError(f"target must be 'cpu' or 'gpu', not {target!r}")
        self._path = Path(path).resolve()
        self._ops = {
            name: CustomOp(op, _Settings(self._path, target, dynamic))
            for name, op in registered_ops(self._path).items()
        }

    def __getattr__(self, name: str) -> "CustomOp":
        """Return an operator.

        Raises:
            AttributeError: none has this name.
        """
        ops: dict[str, CustomOp] = self.__dict__.get("_ops", {})
        if name in ops:
            return ops[name]
        near = close_matches(name, ops, 1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise AttributeError(f"the package registers no operator '{name}'{hint}", name=name, obj=self)

    def __dir__(self) -> list[str]:
        """Return the names of the operators."""
        return sorted(self._ops)

    def __iter__(self) -> Iterator[str]:
        """Return the names of the operators."""
        return iter(self._ops)

    def __repr__(self) -> str:
        """Say which package it is."""
        return f"<operators of {self._path.name}: {', '.join(self._ops) or 'none'}>"


@dataclass(frozen=True, slots=True)
class _Settings:
    path: Path
    target: str | None
    dynamic: bool


class CustomOp:
    """An operator of a package, with values for some of its parameters.

    Attributes:
        overload: the operator as torch has registered it, `torch.ops.ktc_custom.…`.
    """

    def __init__(self, op: RegisteredOp, settings: _Settings, values: tuple[tuple[str, str], ...] = ()) -> None:
        self._op, self._settings, self._values = op, settings, values
        self._with_values: dict[tuple[tuple[str, str], ...], CustomOp] = {values: self}
        self._calls: dict[object, Call] = {}
        self._lock = Lock()
        self.__name__ = op.name
        self._overloads: dict[tuple[type, ...], Call] = {}
        self._tensors = [one for one in op.arguments if one.kind == "tensor"]
        self._given = [one for one in op.arguments if one.kind != "context"]
        numbers = sum(one.kind == "number" for one in op.arguments)
        self.overload = self._registered((float,) * numbers)

    def __getitem__(self, values: Mapping[str, object]) -> "CustomOp":
        """Return the operator with values for its compile-time parameters: numbers, texts and dtypes of torch.

        Raises:
            TypeError: the operator has no such parameter.
        """
        known = (*self._op.struct_parameters, *self._op.parameters)
        for name in values:
            if name not in known:
                raise TypeError(f"operator '{self._op.name}' has no parameter '{name}'; it has: {', '.join(known)}")
        given = dict(self._values) | {name: _literal(value) for name, value in values.items()}
        key = tuple(sorted(given.items()))
        found = self._with_values.get(key)
        if found is None:
            found = CustomOp(self._op, self._settings, key)
            found._with_values = self._with_values  # what was compiled for these values is found again
            self._with_values[key] = found
        return found

    def __call__(self, *arguments: object) -> None:
        """Compute it; results are among the tensors.

        Raises:
            TypeError: there are more or fewer arguments, or one is no tensor.
            RuntimeError: tensors are on several devices, or the operator raised an error.
            CompileError: it cannot be compiled for these tensors and parameters.
        """
        records = torch.is_grad_enabled()
        if has_watchers() or not all(is_plain(one, records) for one in self._tensors_of(arguments)):
            self._overload_for(arguments)(*arguments)
        else:
            self._run(*arguments)

    def __repr__(self) -> str:
        """Say which operator it is."""
        shown = ", ".join([f"{name}={value}" for name, value in self._values])
        return f"<operator '{self._op.name}'{f' with {shown}' if shown else ''}>"

    # ---- registration ----

    def _overload_for(self, arguments: tuple[object, ...]) -> Call:
        numbers = tuple([
            type(value) for one, value in zip(self._given, arguments, strict=False) if one.kind == "number"
        ])  # fmt: skip
        return self._overloads.get(numbers) or self._registered(numbers)

    def _registered(self, numbers: tuple[type, ...]) -> Call:
        """Register the operator for numbers of some types."""
        identity = repr((self._settings, self._op, self._values, [one.__name__ for one in numbers]))
        plain = "".join([one if one.isalnum() and one.isascii() else "_" for one in self._op.name])
        name = f"{plain}_{sha256(identity.encode()).hexdigest()[:12]}"
        kinds, words = iter(numbers), []
        for number, one in enumerate(self._given):
            if one.kind == "number":
                words.append(f"{_SCHEMAS.get(next(kinds), 'float')} {one.name}")
            else:
                words.append(f"Tensor(a{number}!) {one.name}" if one.writes else f"Tensor {one.name}")
        is_new = name not in _REGISTERED.known
        _REGISTERED.known[name] = self
        if is_new:

            def run(*given: object) -> None:
                _REGISTERED.known[name]._run(*given)

            LIBRARY.define(f"{name}({', '.join(words)}) -> ()", tags=(torch.Tag.pt2_compliant_tag,))
            for device in ("CPU", "CUDA"):
                LIBRARY.impl(name, run, device)
            torch.library.register_fake(f"{NAMESPACE}::{name}", lambda *_: None, lib=LIBRARY)
        made: Call = getattr(getattr(torch.ops, NAMESPACE), name).default
        self._overloads[numbers] = made
        return made

    # ---- calls ----

    def _tensors_of(self, arguments: tuple[object, ...]) -> list[torch.Tensor]:
        """Return the tensors among arguments.

        Raises:
            TypeError: there are more or fewer arguments, or one is no tensor.
        """
        if len(arguments) != len(self._given):
            names = ", ".join(one.name for one in self._given)
            raise TypeError(f"{self._op.name}() takes {len(self._given)} arguments ({names}), not {len(arguments)}")
        tensors = list[torch.Tensor]()
        for one, value in zip(self._given, arguments, strict=True):
            if isinstance(value, torch.Tensor) and one.kind == "tensor":
                tensors.append(value)
            elif one.kind == "tensor" or not isinstance(value, one.python_types):
                wanted = "Tensor" if one.kind == "tensor" else one.python_types[0].__name__
                kind = type(value).__name__
                raise TypeError(f"{self._op.name}(): argument '{one.name}' must be {wanted}, not {kind}")
        return tensors

    def _run(self, *arguments: object) -> None:
        tensors = self._tensors_of(arguments)
        numbers = [value for one, value in zip(self._given, arguments, strict=True) if one.kind == "number"]
        device = tensors[0].get_device() if tensors else -1
        key = (device, *[_key(one, self._settings.dynamic) for one in tensors], *[type(one) for one in numbers])
        call = self._calls.get(key)
        if call is None:
            with self._lock:
                call = self._calls.get(key) or self._compiled(tensors, numbers, device)
                self._calls[key] = call
        words: list[object] = []
        for one in tensors:
            words.append(one.data_ptr())
            if self._settings.dynamic:
                words += (*one.shape, *one.stride())
        start(call, device, *words, *numbers)

    def _compiled(self, tensors: list[torch.Tensor], numbers: list[object], device: int) -> Call:
        self._check(tensors)
        known = {name for name, _ in self._values}
        missing = [name for name in self._op.needed if name not in known]
        if missing:
            text = f"operator '{self._op.name}' needs values for {', '.join(missing)}"
            raise TypeError(f"{text}: library.{self._op.name}[{{'{missing[0]}': …}}]")
        specs = [_spec(one, self._settings.dynamic) for one in tensors]
        branch = self._settings.target or ("cpu" if device < 0 else "gpu")
        text = program(self._op, dict(self._values), specs, [type(one) for one in numbers], branch)
        folder = self._settings.path.parent
        target = "cpu" if device < 0 else target_of(device)
        library = compile(text, f"call_{self._op.struct}", target=target, include=[folder])
        return library.functions["run"].raw

    def _check(self, tensors: list[torch.Tensor]) -> None:
        title = f"{self._op.name}()"
        for argument, one in zip(self._tensors, tensors, strict=True):
            dtype = str(one.dtype).removeprefix("torch.")
            if one.device != tensors[0].device:
                places = f"{self._tensors[0].name} is on {tensors[0].device}, {argument.name} on {one.device}"
                raise RuntimeError(f"{title}: expected all tensors to be on the same device: {places}")
            if one.dtype.is_complex or one.is_quantized or one.layout != torch.strided:
                raise RuntimeError(f"{title}: {argument.name} must be a dense tensor of numbers, not {one.dtype}")
            if argument.rank not in (-1, one.dim()):
                raise RuntimeError(f"{title}: {argument.name} must have {argument.rank} dimensions, not {one.dim()}")
            if argument.dtype not in ("", dtype):
                raise RuntimeError(f"{title}: expected {argument.name} to have dtype {argument.dtype}, not {dtype}")


def _literal(value: object) -> str:
    """Return a value of a parameter as the language writes it."""
    if isinstance(value, torch.dtype):
        return f"DType.{str(value).removeprefix('torch.')}"
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, (bool, int, float)):
        return repr(value)
    name = getattr(value, "name", None)  # dtypes of numpy and of the language's own Python package
    if isinstance(name, str) and name.isidentifier():
        return f"DType.{name}"
    raise TypeError(f"the value of a parameter must be a number, a text or a dtype, not {type(value).__name__}")


def _key(tensor: torch.Tensor, dynamic: bool) -> tuple[object, ...]:
    """Return the facts of a tensor that a program is compiled for."""
    is_aligned = tensor.data_ptr() % _MOST_ALIGNMENT == 0
    if dynamic:
        return tensor.dim(), tensor.dtype, is_aligned
    return tensor.shape, tensor.stride(), tensor.dtype, is_aligned


def _spec(tensor: torch.Tensor, dynamic: bool) -> TensorSpec:
    alignment = tensor.element_size() if tensor.data_ptr() % _MOST_ALIGNMENT else _MOST_ALIGNMENT
    sizes, strides = (None, None) if dynamic else (tuple(tensor.shape), tuple(tensor.stride()))
    return TensorSpec(str(tensor.dtype).removeprefix("torch."), tensor.dim(), sizes, strides, alignment)
