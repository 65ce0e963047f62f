"""ktc as a library of Python, extension modules, wheels, and cells of notebooks."""

import ctypes
import importlib
import importlib.util
import inspect
import os
import pickle
import platform
import subprocess
import sys
import zipfile
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ktc
import numpy as np
import pytest

from programs import TESTS, environment, run_ktc

SOURCE = '''"""Calls of all kinds."""

from gpu import barrier, global_idx, thread_idx
from gpu.memory import external_memory
from layout import Layout, LayoutTensor
from python import PythonObject


@fieldwise_init
@register_passable("trivial")
struct Pair(Copyable, Movable):
    var a: Int32
    var b: Float64


@export
fn small(x: Int8, y: UInt16, flag: Bool, half: Float16) -> Int64:
    """Adds them up.

    Args:
        x: A number.
    """
    return Int64(x) + Int64(y) + (Int64(half) if flag else 0)


@export
fn wide(x: UInt64) -> UInt64:
    return x


@export
fn nothing():
    pass


@export
fn swapped(p: Pair) -> Pair:
    return Pair(Int32(p.b), Float64(p.a))


@export
fn sum_of(data: UnsafePointer[Float64, ImmutAnyOrigin], count: Int) raises -> Float64:
    if not data:
        raise Error("ValueError: there is no data")
    var sum = 0.0
    for i in range(count):
        sum += data[i]
    return sum


@export
fn negate(data: UnsafePointer[Int32, MutAnyOrigin], count: Int):
    for i in range(count):
        data[i] = -data[i]


@export
fn first_bytes(text: StringSlice[ImmutAnyOrigin]) raises -> Int:
    if text.byte_length() < 2:
        raise Error("too short: ", text)
    return Int(text.unsafe_ptr()[0]) * 256 + Int(text.unsafe_ptr()[1])


@export
fn joined(a: PythonObject, b: PythonObject) raises -> PythonObject:
    return a + b


@export
fn bump(mut x: Int):
    x += 1


@export
fn scaled(x: Float32, by: Float32 = 1.5, offset: Int16 = -2, negates: Bool = False) -> Float32:
    return (-1 if negates else 1) * (x * by + Float32(offset))


@fieldwise_init
struct Total(Movable):
    var parts: List[Float64]


@export
fn total_new() -> UnsafePointer[Total, MutAnyOrigin]:
    var place = alloc[Total](1)
    place.init_pointee_move(Total([]))
    return place


@export
fn total_add(total: UnsafePointer[Total, MutAnyOrigin], x: Float64) -> Int:
    total[].parts.append(x)
    return len(total[].parts)


@export
fn applied(f: fn (Float64) -> Float64, x: Float64) -> Float64:
    return f(x)


fn axpy[
    dtype: DType, scale: Int = 1
](a: UnsafePointer[Scalar[dtype], MutAnyOrigin], b: UnsafePointer[Scalar[dtype], MutAnyOrigin], n: Int):
    """Adds a multiple."""
    var i = Int(global_idx.x)
    if i < n:
        b[i] += a[i] * scale


alias Rows[count: Int] = LayoutTensor[DType.int32, Layout.row_major(count, 2), MutAnyOrigin]


fn doubled[count: Int](data: Rows[count]):
    data[thread_idx.x, 0] += data[thread_idx.x, 0]


fn turned(data: LayoutTensor[DType.int32, Layout.row_major(4, 2), MutAnyOrigin]):
    var held = data[thread_idx.x, 0]
    data[thread_idx.x, 0] = data[thread_idx.x, 1]
    data[thread_idx.x, 1] = held
'''


@pytest.fixture(scope="module")
def cached(program_cache: Path) -> Iterator[None]:
    before = os.environ.get("KTC_CACHE_DIR")
    os.environ["KTC_CACHE_DIR"] = str(program_cache)
    yield
    os.environ.pop("KTC_CACHE_DIR")
    if before is not None:
        os.environ["KTC_CACHE_DIR"] = before


@pytest.fixture(scope="module")
def lib(cached: None, tmp_path_factory: pytest.TempPathFactory) -> ktc.Library:
    path = tmp_path_factory.mktemp("library") / "calls.kpy"
    path.write_text(SOURCE)
    return ktc.load(path, target="cpu")


def refused(error: type[Exception], call: Callable[[], object]) -> str:
    with pytest.raises(error) as found:
        call()
    return str(found.value)


class Pair(ctypes.Structure):
    _fields_ = (("a", ctypes.c_int32), ("b", ctypes.c_double))


def test_calls(lib: ktc.Library) -> None:
    assert lib.small(-3, 40000, True, 2.5) == 39999 and lib.small(flag=False, half=9, y=1, x=0) == 1
    assert lib.wide(2**64 - 1) == 2**64 - 1 and lib.nothing() is None
    assert Pair.from_buffer_copy(lib.swapped(Pair(7, 2.0))).b == 7
    assert repr(lib.swapped(lib.swapped(lib.Pair(7, b=2.0)))) == "Pair(a=7, b=2.0)"
    assert lib.sum_of(np.arange(5.0), 5) == lib.sum_of(array("d", range(5)), 5) == 10
    for numbers in (np.arange(3, dtype=np.int32), array("i", range(3)), memoryview(bytearray(12)).cast("i")):
        lib.negate(numbers, 3)
        assert list(numbers) in ([0, -1, -2], [0, 0, 0])
    assert lib.first_bytes("héllo") == 0x68C3
    assert lib.joined("a", "b") == "ab" and lib.joined([1], [2]) == [1, 2]
    one = np.array(41, dtype=np.int64)
    lib.bump(one)
    assert one == 42
    assert (lib.__doc__, lib.small.__doc__) == ("Calls of all kinds.", "Adds them up.\n\nArgs:\n    x: A number.")
    assert str(inspect.signature(lib.small.raw)) == "(x, y, flag, half)"
    assert {*lib} == {*lib.functions} >= {"small", "wide"}


def test_arguments_that_do_not_fit(lib: ktc.Library) -> None:
    data = np.arange(4.0)
    assert refused(TypeError, lambda: lib.small(1)) == "small() misses its argument 'y'"
    assert refused(TypeError, lambda: lib.wide(1, 2)) == "wide() takes 1 argument, not 2"
    assert refused(TypeError, lambda: lib.wide(y=1)) == "wide() has no argument 'y'"
    assert refused(TypeError, lambda: lib.wide(1.5)) == "wide(): argument 'x' must be an int, not float"
    assert refused(OverflowError, lambda: lib.wide(-1)) == "wide(): argument 'x' does not fit into UInt64"
    assert "does not fit into Int8" in refused(OverflowError, lambda: lib.small(128, 0, True, 0))
    assert "'half' must be a number, not str" in refused(TypeError, lambda: lib.small(1, 1, True, "x"))
    assert "must be a str, not bytes" in refused(TypeError, lambda: lib.first_bytes(b"ab"))
    assert "must be an array of float64, not of float32" in refused(
        TypeError, lambda: lib.sum_of(data.astype(np.float32), 4)
    )
    assert "must be an array of float64, not list" in refused(TypeError, lambda: lib.sum_of([1.0], 1))
    assert "must be contiguous" in refused(ValueError, lambda: lib.sum_of(data[::2], 2))
    data.flags.writeable = False
    assert lib.sum_of(data, 4) == 6
    assert "is read-only" in refused(ValueError, lambda: lib.negate(np.frombuffer(bytes(8), np.int32), 2))
    assert refused(ValueError, lambda: lib.sum_of(None, 0)) == "there is no data"
    assert refused(RuntimeError, lambda: lib.first_bytes("é"[:0] + "a")) == "too short: a"
    released = memoryview(bytearray(8))
    released.release()
    assert "released memoryview" in refused(ValueError, lambda: lib.sum_of(released, 1))
    assert "has 3 bytes; the struct has 16" in refused(TypeError, lambda: lib.swapped(b"abc"))
    assert "exports no 'smal'; did you mean 'small'?" in refused(AttributeError, lambda: lib.smal)


def test_defaults_handles_and_callbacks(lib: ktc.Library) -> None:
    assert lib.scaled(2) == 1 and lib.scaled(2, negates=True) == -1 and lib.scaled(x=2, offset=0) == 3
    assert str(inspect.signature(lib.scaled.raw)) == "(x, by=1.5, offset=-2, negates=False)"
    total = lib.total_new()
    assert isinstance(total, int) and lib.total_add(total, 1) == 1 and lib.total_add(total, 2.5) == 2
    triple = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x: x * 3)
    assert lib.applied(triple, 2) == lib.applied(ctypes.cast(triple, ctypes.c_void_p).value, 2) == 6
    assert "must be a function of ctypes or numba" in refused(TypeError, lambda: lib.applied(lambda x: x, 2))
    assert "must be an array of float64, not int" in refused(TypeError, lambda: lib.sum_of(total, 1))


def test_numbers_of_numpy_and_orders_of_bytes(lib: ktc.Library) -> None:
    assert lib.small(np.int8(1), np.array(2), np.True_, np.float32(3)) == 6
    assert "bytes in another order" in refused(TypeError, lambda: lib.sum_of(np.arange(3, dtype=">f8"), 3))
    assert "format 'Zd'" in refused(TypeError, lambda: lib.sum_of(np.zeros(3, dtype=complex), 3))
    assert refused(TypeError, lambda: lib.wide(1, x=2)) == "wide() gets its argument 'x' twice"
    assert "surrogates not allowed" in refused(UnicodeEncodeError, lambda: lib.first_bytes("\ud800"))


def test_libraries_can_be_pickled(lib: ktc.Library) -> None:
    kernel = lib.kernel("turned")
    for one in (lib, lib.wide, kernel):
        assert repr(pickle.loads(pickle.dumps(one))) == repr(one)
    assert pickle.loads(pickle.dumps(lib.wide))(7) == 7
    problem = ktc.CompileError([], "text")
    assert pickle.loads(pickle.dumps(problem)).text == "text"


class Foreign:
    """An array that only speaks DLPack."""

    def __init__(self, data: np.ndarray) -> None:
        self.data = data

    def __dlpack__(self, **_: object) -> object:
        return self.data.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


class OnDevice:
    """An array with the CUDA Array Interface; its address is one of the host here."""

    def __init__(self, data: np.ndarray) -> None:
        facts = data.__array_interface__
        self.__cuda_array_interface__ = {
            **{key: facts[key] for key in ("shape", "typestr", "data", "strides")},
            "version": 3,
        }
        self.data = data


@pytest.mark.parametrize("kind", [Foreign, OnDevice])
def test_arrays_of_others(lib: ktc.Library, kind: type) -> None:
    assert lib.sum_of(kind(np.arange(4.0)), 4) == 6
    assert lib.sum_of(kind(np.arange(6.0).reshape(2, 3)), 6) == 15
    assert "must be an array of float64, not of int32" in refused(
        TypeError, lambda: lib.sum_of(kind(np.arange(4, dtype=np.int32)), 4)
    )
    assert "must be contiguous" in refused(ValueError, lambda: lib.sum_of(kind(np.arange(8.0)[::2]), 4))


def test_kernels(lib: ktc.Library) -> None:
    a, b = np.arange(100, dtype=np.float32), np.ones(100, dtype=np.float32)
    kernel = lib.kernel("axpy", dtype=np.float32, scale=3)
    kernel[(4, 1), 32](a, b, 100)
    assert (b == 1 + 3 * a).all() and kernel.__doc__ == "Adds a multiple."
    doubles = np.arange(3.0)
    lib.kernel("axpy", dtype="float64")[1, 3, 64](doubles, doubles, 3)
    assert list(doubles) == [0, 2, 4]
    cells = np.arange(8, dtype=np.int32).reshape(4, 2)
    lib.kernel("turned")[1, 4](cells)
    assert cells.tolist() == [[1, 0], [3, 2], [5, 4], [7, 6]]
    lib.kernel("doubled", count=4)[1, 4](cells)
    assert cells.tolist() == [[2, 0], [6, 2], [10, 4], [14, 6]]
    assert "turned() takes 1 argument (data), not 2" in refused(TypeError, lambda: lib.kernel("turned")[1, 4](1, 2))
    assert ".visible .entry axpy_" in kernel.asm("ptx", "sm_80")
    assert "axpy(): argument 'a' must be an array of float32, not of float64" in refused(
        TypeError, lambda: kernel[1, 32](doubles, b, 3)
    )
    kernel[[np.int64(4), 1], np.int32(32)](a, n=100, b=b)
    assert (b == 1 + 6 * a).all() and repr(kernel).startswith("<ktc kernel 'axpy[dtype=float32, scale=3]' of ")
    assert "has no argument 'm'; it takes a, b, n" in refused(TypeError, lambda: kernel[4, 32](a, b, m=1))
    assert "misses its argument 'n'" in refused(TypeError, lambda: kernel[4, 32](a, b=b))
    assert "gets its argument 'a' twice" in refused(TypeError, lambda: kernel[4, 32](a, b, a=b))
    assert "has no threads" in refused(ValueError, lambda: kernel[0, 32])
    assert "must be an integer or a tuple" in refused(TypeError, lambda: kernel[1.5, 32])
    assert "axpy[grid, block](…)" in refused(TypeError, lambda: kernel(a, b, 3))
    assert "has no function 'none'" in refused(ktc.CompileError, lambda: lib.kernel("none"))
    assert "has no parameter 'dtyp'" in refused(ktc.CompileError, lambda: lib.kernel("axpy", dtyp=np.float32))
    assert "needs its parameter 'dtype'" in refused(ktc.CompileError, lambda: lib.kernel("axpy"))


def test_texts_and_mistakes(cached: None, tmp_path: Path) -> None:
    assert ktc.compile("@export\nfn twice(x: Int) -> Int:\n    return x * 2\n", target="cpu").twice(4) == 8
    with pytest.raises(ktc.CompileError) as found:
        ktc.compile("@export\nfn twice(x: Int) -> Int:\n    var unused = 1\n    return y * 2\n", "cell", target="cpu")
    error = found.value
    assert (error.code, error.line, error.column, error.message) == ("undefined-name", 4, 12, "'y' is not defined")
    assert error.path == "cell.kpy" and "cell.kpy:4:12: error[undefined-name]" in error.text == str(error) + "\n"
    assert "cannot open" in refused(ktc.CompileError, lambda: ktc.load(tmp_path / "none.kpy"))
    assert "is a 'List[Int]'" in refused(
        ktc.CompileError, lambda: ktc.compile("@export\nfn f(x: List[Int]):\n    pass\n")
    )
    missing = (
        "from sys.ffi import external_call\n\n\n@export\nfn f():\n    external_call['in_no_library', NoneType]()\n"
    )
    found_missing = refused(ImportError, lambda: ktc.compile(missing, "calls_c", target="cpu"))
    assert (
        found_missing == "calls_c: no library has the function 'in_no_library': name its library, as in libraries=['z']"
    )
    level = "optimization_level must be a number from 0 to 3, not 4"
    assert refused(ValueError, lambda: ktc.compile("@export", optimization_level=4)) == level
    assert "did you mean 'include'?" in refused(TypeError, lambda: ktc.compile("@export", includes=["x"]))
    assert "must be a str, not bytes" in refused(TypeError, lambda: ktc.compile(b"@export"))
    path = tmp_path / "changing.kpy"
    path.write_text("@export\nfn value() -> Int:\n    return 1\n")
    first = ktc.load(path, target="cpu")
    value = first.value
    assert value() == 1 and not first.reload()
    path.write_text("@export\nfn value() -> Int:\n    return 2\n")
    assert first.reload() and first.value() == 2 and value() == 2 and ktc.load(path, target="cpu").value() == 2
    built = ktc.build(path, tmp_path / "libvalue.so", emit="shared-lib", header=tmp_path / "value.h", target="cpu")
    assert ctypes.CDLL(str(built)).value() == 2 and "int64_t value(void);" in (tmp_path / "value.h").read_text()
    assert "value" in first.value.asm("asm") and "must be one of" in refused(ValueError, lambda: ktc.emit(path, "bc"))
    path.write_text("def main():\n    print(1)\n")
    assert "define i32 @main" in ktc.emit(path, "llvm")


def test_import_is_cheap() -> None:
    assert {*ktc._NAMES} == {*importlib.import_module("ktc.api").__all__}
    code = "import sys, ktc; print([m for m in sys.modules if m.startswith('ktc.')], ktc.__dir__()[0] != '')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("['ktc.native']")


def test_without_numpy(cached: None, tmp_path: Path) -> None:
    (tmp_path / "twice.kpy").write_text(
        "@export\nfn twice(x: UnsafePointer[Float64, MutAnyOrigin]):\n    x[0] *= 2\n", "utf-8"
    )
    code = (
        "import sys; sys.modules['numpy'] = None\nimport array, ktc\nnumbers = array.array('d', [4])\n"
        "twice = ktc.load('twice.kpy', target='cpu').twice\ntwice(numbers)\nprint(numbers[0])\n"
        "try:\n    twice([4.0])\nexcept TypeError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "8.0\ntwice(): argument 'x' must be an array of float64, not list\n"


def imported(path: Path) -> object:
    spec = importlib.util.spec_from_file_location(path.name.partition(".")[0], path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


STRUCTS = """
@fieldwise_init
struct Cell(Copyable, Movable):
    \"\"\"One of many.\"\"\"

    var tag: UInt8
    var default: Int16
    var weight: Float32
    var marks: InlineArray[Int32, 3]
    var is_set: Bool


@fieldwise_init
struct Outer(Copyable, Movable):
    var inner: Cell
    var place: UnsafePointer[Int, MutAnyOrigin]


@export
@fieldwise_init
@register_passable("trivial")
struct Colour(Copyable, Movable):
    var number: Int32
    alias RED = Self(1)
    alias BLUE = Self(4)


@fieldwise_init
struct Halves(Copyable, Movable):
    var one: Float16
    var other: Float16


@export
fn outer(x: Int32) raises -> Outer:
    if x < 0:
        raise Error("ValueError: below zero")
    return Outer(Cell(1, -2, 0.5, InlineArray[Int32, 3](1, 2, x), True), UnsafePointer[Int, MutAnyOrigin]())


@export
fn last_mark(o: Outer) -> Int32:
    return o.inner.marks[2]


@export
fn blue() -> Colour:
    return Colour.BLUE


@export
fn halves() -> Halves:
    return Halves(1, 2)
"""


def test_structs(program_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are classes with fields, in both directions; what ctypes lacks is bytes."""
    monkeypatch.setenv("KTC_CACHE_DIR", str(program_cache))
    lib: Any = ktc.compile(STRUCTS, "structs", target="cpu")
    found = lib.outer(7)
    shown = "Cell(tag=1, default=-2, weight=0.5, marks=[1, 2, 7], is_set=True)"
    assert repr(found) == f"Outer(inner={shown}, place=None)"
    assert lib.last_mark(found) == 7 and found == lib.outer(7) and found != lib.outer(8) and found != 7
    found.inner.marks[2] = 9
    assert lib.last_mark(found) == 9 and lib.Cell.__doc__ == "One of many."
    assert refused(ValueError, lambda: lib.outer(-1)) == "below zero"
    assert lib.blue() == lib.Colour.BLUE != lib.Colour.RED and lib.blue().number == 4
    assert np.frombuffer(lib.halves(), np.float16).tolist() == [1, 2] and not hasattr(lib, "Halves")


@pytest.mark.thorough
def test_changes_take_effect(program_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call looks whether the file or what it imports has changed."""
    monkeypatch.setenv("KTC_CACHE_DIR", str(program_cache))
    monkeypatch.setattr("ktc.api.watching._PAUSE", 0.0)
    path, part = tmp_path / "changing.kpy", tmp_path / "part.kpy"

    def text(value: str) -> str:
        kernel = f"fn fill(p: UnsafePointer[Int64, MutAnyOrigin]):\n    p[] = {value}\n\n\n"
        return f"from part import step\n\n\n{kernel}@export\nfn value() -> Int:\n    return {value}\n"

    part.write_text("alias step = 1\n")
    path.write_text(text("10 + step"))
    lib: Any = ktc.load(path, target="cpu")
    fixed: Any = ktc.load(path, target="cpu", reload=False)
    value, kernel, cell = lib.value, lib.kernel("fill"), np.zeros(1, np.int64)
    kernel[1, 1](cell)
    assert (value(), cell[0]) == (11, 11)
    path.write_text(text("200 + step"))
    kernel[1, 1](cell)
    assert (value(), lib.value(), cell[0]) == (201, 201, 201)
    part.write_text("alias step = 22\n")
    kernel[1, 1](cell)
    assert (value(), cell[0]) == (222, 222)
    path.write_text(text("steps"))
    for _ in range(2):
        assert "'steps' is not defined" in refused(ktc.CompileError, value)
    path.write_text(text("3") + "\n\n@export\nfn more() -> Int:\n    return 4\n")
    assert lib.more() == 4 and value() == 3 and fixed.value() == 11
    path.write_text("@export\nfn more() -> Int:\n    return 5\n")
    assert "exports no 'value' any more" in refused(AttributeError, value) and lib.more() == 5
    path.unlink()
    assert lib.more() == 5


def test_extension_modules(program_cache: Path, tmp_path: Path) -> None:
    (tmp_path / "calls.kpy").write_text(SOURCE)
    for _ in range(2):  # the second one is from the cache
        done = run_ktc(
            ["build", "calls.kpy", "--target-accelerator", "cpu", "--emit", "python-extension"], program_cache, tmp_path
        )
        assert done.returncode == 0, done.stderr
        stub = (tmp_path / "calls.pyi").read_text()
        (tmp_path / "calls.pyi").unlink()
    assert (
        "def small(x: int, y: int, flag: bool, half: float) -> int:\n" in stub
        and "swapped(p: Array) -> Pair: ..." in stub
    )
    assert "class Pair(ctypes.Structure):\n    a: int\n    b: float\n" in stub
    compile(stub, "calls.pyi", "exec")
    assert imported(tmp_path / "calls.abi3.so").small(1, 2, True, 3) == 6
    needed = subprocess.run(["ldd", "calls.abi3.so"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "python" not in needed
    source = str(TESTS / "c" / "python_module.kpy")
    done = run_ktc(["build", source, "--emit", "shared-lib", "-o", "python_module.so"], program_cache, tmp_path)
    assert done.returncode == 0, done.stderr
    module = imported(tmp_path / "python_module.so")
    assert (module.factorial(5), module.factorial.__doc__, module.shout("a", "b")) == (120, "Compute n!", "ab!")
    assert module.count_all(1, 2, 3) == 3 and module.nothing() is None
    assert module.named_too(1, by=2) == 3 and module.Account.named_too(4, by=3) == 7
    assert refused(Exception, lambda: module.factorial(-1)) == "negative"
    assert refused(TypeError, lambda: module.shout(1)) == "takes 2 positional arguments but 1 was given"
    assert module.scaled(3, by=4) == 12 and module.scaled(3, by=4, plus=1) == 13
    check_types(module)


@pytest.mark.thorough
@pytest.mark.skipif(platform.machine() != "x86_64", reason="only x86-64 reports its features")
def test_a_module_for_another_processor(program_cache: Path, tmp_path: Path) -> None:
    (tmp_path / "other.kpy").write_text("@export\nfn seven() -> Int:\n    return 7\n")
    flags = Path("/proc/cpuinfo").read_text().replace("_", "")
    lacks = next(
        name for name in ("amx-tile", "avx512fp16", "avx512vp2intersect") if name.replace("-", "") not in flags
    )
    for option, value, works in (
        ("--target-features", f"+{lacks}", False),
        ("--target-cpu", "x86-64", True),
    ):
        words = [
            "build",
            "-O0",
            "other.kpy",
            "--emit",
            "python-extension",
            option,
            value,
            "--target-accelerator",
            "cpu",
        ]
        assert run_ktc(words, program_cache, tmp_path).returncode == 0
        path = tmp_path / f"{lacks}{value}"
        path.mkdir()
        module = (tmp_path / "other.abi3.so").rename(path / "other.abi3.so")
        if works:
            assert imported(module).seven() == 7
        else:
            text = refused(ImportError, lambda path=module: imported(path))
            assert text.startswith("other was built for another processor: this one lacks some of") and lacks in text


def check_types(module: Any) -> None:
    """Types that a module adds: their objects, methods, ends and mistakes."""
    ends: list[int] = []
    account = module.Account(3, ends)
    assert repr(account.add(4)) == "Account(7)" and account.total("cents") == "cents: 7"
    account.double()
    assert account.count(1, 2, 3) == 3 and repr(module.Account.of(5, ends)) == "Account(5)"
    assert ends == [5]
    assert (module.Account.__doc__, module.Account.add.__doc__) == ("Money.", "Adds.")
    assert (module.Account.__module__, type(account)) == ("python_module", module.Account)
    account.__init__(1, ends)
    assert ends == [5, 14]
    del account
    assert ends == [5, 14, 1] and repr(module.Plain()) == "1.5"
    assert refused(ValueError, lambda: module.Account(1)) == "an account needs a number and a list"
    empty = module.Account.__new__(module.Account)
    assert "'__init__' was not called" in refused(TypeError, lambda: empty.add(1))
    assert "doesn't apply to a 'int' object" in refused(TypeError, lambda: module.Account.add(1, 2))
    assert "made without arguments" in refused(TypeError, lambda: module.Plain(1))
    assert "cannot make objects of this type" in refused(TypeError, module.Locked)
    count = sys.getrefcount(module.Account)
    for _ in range(10):
        module.Account(1, ends).add(1)
    assert sys.getrefcount(module.Account) < count + 10


@pytest.mark.thorough
def test_a_wheel(program_cache: Path, tmp_path: Path) -> None:
    package = TESTS / "python_package"
    done = run_ktc(["wheel", str(package), "-o", "dist"], program_cache, tmp_path)
    assert done.returncode == 0, done.stderr
    wheel = tmp_path / done.stdout.strip()
    hook = "import os, sys; from ktc.api import wheels; os.chdir(sys.argv[1]); print(wheels.build_wheel(sys.argv[2]))"
    again = subprocess.run(
        [sys.executable, "-c", hook, package, tmp_path], env=environment(program_cache), capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert (tmp_path / again.stdout.strip()).read_bytes() == wheel.read_bytes()
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
        names = archive.namelist()
    assert wheel.name.startswith("wave_lets-0.2.1-cp311-abi3-") and "wavelets/haar.pyi" in names
    use = "import sys, wavelets; print(wavelets.transformed([1.0, 2, 3, 5]), 'ktc' in sys.modules)"
    done_ = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, 'installed'); {use}"], cwd=tmp_path,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done_.stdout == "[1.5, 4.0, -0.5, -1.0] False\n"
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'a'\n")
    done = run_ktc(["wheel", "."], program_cache, tmp_path)
    assert done.returncode == 1 and "has no 'version' in [project]" in done.stderr


class Shell:
    """What the magic needs of IPython."""

    def __init__(self) -> None:
        self.user_ns: dict[str, object] = {}

    def register_magic_function(self, func: Callable[[str, str], None], magic_kind: str, magic_name: str) -> None:
        assert (magic_kind, magic_name) == ("cell", "ktc")
        self.cell = func


def test_cells(cached: None, capsys: pytest.CaptureFixture[str]) -> None:
    shell = Shell()
    ktc.load_ipython_extension(shell)
    shell.cell("lib -O1 --target-accelerator cpu", "@export\nfn seven() -> Int:\n    return 7\n")
    assert shell.user_ns["seven"]() == shell.user_ns["lib"].seven() == 7
    shell.cell("--target-accelerator cpu", "fn main():\n    print('hello')\n")
    assert capsys.readouterr().out == "hello\n"
    shell.cell("", "@export\nfn seven() -> Int:\n    return x\n")
    assert "cell_3.kpy:3:12: error[undefined-name]" in capsys.readouterr().err
    shell.cell("-Q", "")
    assert "'-Q' means nothing here" in capsys.readouterr().err


def test_notebook(program_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    import nbformat

    monkeypatch.setenv("KTC_CACHE_DIR", str(program_cache))
    monkeypatch.setenv("KTC_DEVICE", "cpu")
    notebook = nbformat.read(TESTS.parent / "examples" / "notebook.ipynb", 4)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any("image/svg+xml" in output.get("data", {}) for output in outputs)


KERNELS_2026 = """
from layout import TileTensor, row_major
from max.gpu import global_idx, thread_idx

comptime square = row_major[2, 3]()


def mirrored(data: TileTensor[DType.int32, type_of(square), MutAnyOrigin]):
    var row = thread_idx.x
    var held = data[row, 0]
    data[row, 0] = data[row, 2]
    data[row, 2] = held


def scaled[dtype: DType](data: Pointer[Scalar[dtype], MutAnyOrigin], by: Scalar[dtype], count: Int64):
    var i = global_idx.x
    if i < Int(count):
        data[unsafe_offset=i] *= by
"""


def test_kernels_of_edition_2026(cached: None, tmp_path: Path) -> None:
    """Parameters of a kernel stand for types there, too, and an array is a tile tensor."""
    path = tmp_path / "kernels.mojo"
    path.write_text(KERNELS_2026)
    library = ktc.load(path, target="cpu")
    data = np.arange(6, dtype=np.int32)
    library.kernel("mirrored")[1, 2](data)
    assert list(data) == [2, 1, 0, 5, 4, 3]
    numbers = np.arange(4, dtype=np.float32)
    library.kernel("scaled", dtype=np.float32)[1, 4](numbers, 1.5, 4)
    assert list(numbers) == [0, 1.5, 3, 4.5]
