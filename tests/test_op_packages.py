"""Packages with registered operators, without PyTorch: what is read from them, and the program that calls one."""

from ctypes import addressof, c_float, c_int32
from pathlib import Path

import pytest
from ktc import CompileError
from ktc.api.libraries import compile
from ktc.api.op_packages import RegisteredOp, TensorSpec, program, registered_ops

from programs import TESTS

OPS = TESTS / "interop" / "torch" / "ops"
Words = list[int] | list[float]


def _call(op: RegisteredOp, values: dict[str, str], tensors: list[TensorSpec], target: str, *words: float) -> None:
    numbers = [float for one in op.arguments if one.kind == "number"]
    text = program(op, values, tensors, numbers, target)
    compile(text, "calling", target="cpu", include=[OPS.parent]).functions["run"].raw(0, 0, *words)


def _matrix(dtype: str, rows: int, columns: int) -> TensorSpec:
    return TensorSpec(dtype, 2, (rows, columns), (columns, 1), 4)


def test_what_execute_takes() -> None:
    ops = registered_ops(OPS)
    assert sorted(ops) == ["add_constant", "blend", "checked_copy", "power", "transpose"]
    blend = ops["blend"]
    assert (blend.module, blend.struct) == ("ops.elementwise", "Blend")
    assert (blend.struct_parameters, blend.parameters) == (("inverted",), ("dtype", "rank", "target"))
    assert [(one.name, one.kind, one.writes) for one in blend.arguments] == [
        ("output", "tensor", True), ("weight", "number", False), ("a", "tensor", False), ("b", "tensor", False),
        ("ctx", "context", False),
    ]  # fmt: skip
    assert (blend.needed, ops["add_constant"].needed) == ((), ("value",))
    assert [one.python_types for one in ops["power"].arguments[2:5]] == [(float, int), (int,), (bool,)]
    assert [one.rank for one in ops["transpose"].arguments] == [2, 2, -1]
    assert [one.dtype for one in registered_ops(TESTS / "interop/torch/ops_2025")["grayscale"].arguments] == [
        "uint8", "uint8", ""
    ]  # fmt: skip


@pytest.mark.parametrize("target", ["cpu", "gpu"])
def test_operators_of_both_editions_run(target: str) -> None:
    source, result = (c_int32 * 15)(*range(15)), (c_int32 * 15)()
    op = registered_ops(OPS)["add_constant"]
    specs = [_matrix("int32", 3, 5)] * 2
    _call(op, {"value": "4"}, specs, target, addressof(result), addressof(source))
    assert list(result) == list(range(4, 19))
    first, second, sums = (c_float * 6)(*range(6)), (c_float * 6)(*[2.0] * 6), (c_float * 6)()
    vector = TensorSpec("float32", 1, (6,), (1,), 4)
    older = registered_ops(TESTS / "interop" / "torch" / "ops_2025")["add_vectors"]
    _call(older, {}, [vector] * 3, target, addressof(sums), addressof(first), addressof(second))
    assert list(sums) == [2.0, 3.0, 4.0, 5.0, 6.0, 7.0]


def test_numbers_become_the_types_of_the_operator() -> None:
    source, result = (c_int32 * 4)(1, 2, 3, 4), (c_int32 * 4)()
    vector = TensorSpec("int32", 1, (4,), (1,), 4)
    text = program(registered_ops(OPS)["power"], {}, [vector] * 2, [int, int, bool], "cpu")
    call = compile(text, "calling", target="cpu", include=[OPS.parent]).functions["run"].raw
    call(0, 0, addressof(result), addressof(source), 2, 3, True)
    assert list(result) == [-2, -16, -54, -128]


def test_extents_of_run_time() -> None:
    source, result = (c_int32 * 12)(*range(12)), (c_int32 * 12)()
    open_matrix = TensorSpec("int32", 2, None, None, 4)
    op = registered_ops(OPS)["transpose"]
    _call(op, {}, [open_matrix] * 2, "cpu", addressof(result), 4, 3, 3, 1, addressof(source), 3, 4, 4, 1)
    assert list(result) == [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]


@pytest.mark.parametrize(
    "text, said",
    [
        ("@compiler.register('a')\nstruct A:\n    pass\n", "the struct 'A' has no method 'execute'"),
        ("@compiler.register('a')\nstruct A:\n    @staticmethod\n    fn execute(*xs: InputTensor):\n        pass\n",
         "the argument 'xs' is of a kind that Python cannot pass: 'InputTensor'"),
        ("@compiler.register('a')\nstruct A:\n    @staticmethod\n    fn execute():\n        pass\n" * 2,
         "two operators are registered as 'a'"),
        ("struct A[:\n", "does not parse"),
    ],
)  # fmt: skip
def test_wrong_packages(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "op.kpy").write_text(f"import compiler\nfrom tensor import InputTensor\n\n# register\n{text}")
    with pytest.raises(CompileError, match=said):
        registered_ops(tmp_path / "op.kpy")
