"""Packages of custom operators, called on tensors: each part prints one line."""

import sys
import tempfile
from pathlib import Path

import torch
from ktc import CompileError
from ktc.torch import CustomOpLibrary
from torch._subclasses import FakeTensorMode

HERE = Path(__file__).parent
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
TARGETS = (None,) if DEVICE == "cuda" else (None, "gpu")


def said(call, kind, text):
    try:
        call()
    except kind as error:
        assert text in str(error), (text, str(error))
        return
    raise AssertionError(f"no {kind.__name__}: {text}")


def elementwise():
    for target in TARGETS:
        ops = CustomOpLibrary(HERE / "ops", target=target)
        shapes = {(5,): torch.float32, (3, 17): torch.int32, (2, 3, 8): torch.float16, (): torch.float64}
        for shape, dtype in shapes.items():
            x = torch.arange(max(1, int(torch.tensor(shape).prod())), device=DEVICE).reshape(shape).to(dtype)
            result = torch.empty_like(x)
            ops.add_constant[{"value": 3}](result, x)
            assert torch.equal(result, x + 3), (target, shape, dtype)
        x = torch.arange(48.0, device=DEVICE).reshape(6, 8)
        views = ((x, x), (x[1:, ::2], x[:-1, 1::2]), (x.t(), x.t() * 2), (x[:, 1:6], x[:, 2:7]))
        for a, b in views:
            result = torch.empty_like(a)
            ops.blend(result, 0.25, a, b)
            torch.testing.assert_close(result, a + (b - a) * 0.25)
            ops.blend[{"inverted": True}](result, 0.25, a, b)
            torch.testing.assert_close(result, a + (b - a) * 0.75)
    powers = CustomOpLibrary(HERE / "ops").power
    x = torch.tensor([1, 2, 3], dtype=torch.int16, device=DEVICE)
    result = torch.empty_like(x)
    powers(result, x, 2, 2, False)
    assert result.tolist() == [2, 8, 18]
    dynamic = CustomOpLibrary(HERE / "ops", dynamic=True).blend
    for rows in (2, 5, 9):
        a, b = torch.ones(rows, 4, device=DEVICE), torch.zeros(rows, 4, device=DEVICE)
        result = torch.empty_like(a)
        dynamic(result, 0.5, a, b)
        assert torch.equal(result, a / 2)
    assert len(dynamic._calls) == 1


def kernels():
    for target in TARGETS:
        ops = CustomOpLibrary(HERE / "ops", target=target)
        x = torch.arange(77.0, device=DEVICE).reshape(7, 11)
        result = torch.empty(11, 7, device=DEVICE)
        ops.transpose(result, x)
        assert torch.equal(result, x.t())
        ops.transpose[{"block": 4}](result, x)
        assert torch.equal(result, x.t())
        older = CustomOpLibrary(HERE / "ops_2025", target=target)
        a, b = torch.arange(1000.0, device=DEVICE), torch.full((1000,), 2.0, device=DEVICE)
        sums = torch.empty_like(a)
        older.add_vectors(sums, a, b)
        assert torch.equal(sums, a + b)
        image = torch.arange(6 * 10 * 3, device=DEVICE, dtype=torch.uint8).reshape(6, 10, 3)
        gray = torch.empty(6, 10, dtype=torch.uint8, device=DEVICE)
        older.grayscale(gray, image)
        wanted = (image.float() * torch.tensor([0.21, 0.71, 0.07], device=DEVICE)).sum(2)
        assert (gray.float() - wanted).abs().max() < 1.001


def registered():
    ops = CustomOpLibrary(HERE / "ops")
    add = ops.add_constant[{"value": 7}]
    x = torch.arange(6.0, device=DEVICE)

    @torch.compile(fullgraph=True, backend="aot_eager")
    def twice(x):
        result = torch.empty_like(x)
        add(result, x * 2)
        return result + 1

    assert torch.equal(twice(x), x * 2 + 8)
    torch.library.opcheck(add.overload, (torch.empty_like(x), x))
    assert ops.add_constant[{"value": 7}] is add
    with FakeTensorMode():
        fake = torch.empty(6)
        add(fake, torch.empty(6))
    path = Path(tempfile.mkdtemp()) / "op.mojo"
    for number in (1, 2):  # a file that has changed: the operator that torch knows does what the last library says
        path.write_text((HERE / "ops" / "elementwise.mojo").read_text().replace("(value)", f"(value * {number})"))
        changed = CustomOpLibrary(path).add_constant[{"value": 5}]
        result = torch.empty_like(x)
        changed.overload(result, x)
        assert torch.equal(result, x + 5 * number)


def errors():
    ops = CustomOpLibrary(HERE / "ops")
    x = torch.ones(4)
    said(lambda: ops.add_constnt, AttributeError, "did you mean 'add_constant'?")
    said(lambda: ops.add_constant[{"valu": 1}], TypeError, "no parameter 'valu'; it has: target, value")
    said(lambda: ops.add_constant(torch.empty(4), x), TypeError, "needs values for value")
    said(lambda: ops.add_constant[{"value": 1}](x), TypeError, "takes 2 arguments (output, x), not 1")
    said(lambda: ops.add_constant[{"value": 1}](x, [1]), TypeError, "argument 'x' must be Tensor, not list")
    said(lambda: ops.add_constant[{"value": x}], TypeError, "must be a number, a text or a dtype, not Tensor")
    said(lambda: ops.transpose(torch.empty(4), x), RuntimeError, "output must have 2 dimensions, not 1")
    y, older = torch.empty(2, 3, dtype=torch.uint8), CustomOpLibrary(HERE / "ops_2025")
    said(lambda: older.grayscale(y, torch.empty(2, 3, 3)), RuntimeError, "image to have dtype uint8, not float32")
    said(lambda: ops.transpose(torch.empty(2, 2), torch.empty(2, 2, dtype=torch.int8)), CompileError, "int8")
    said(lambda: ops.power(torch.empty(4), x, 1.0, 2.5, True), TypeError, "'exponent' must be int, not float")
    said(lambda: ops.checked_copy(torch.empty(3), x), ValueError, "lengths differ: 3 and 4")
    said(lambda: CustomOpLibrary(HERE / "none"), FileNotFoundError, "no source of a package")
    said(lambda: ops.checked_copy(torch.empty(4, dtype=torch.cfloat), x), RuntimeError, "dense tensor of numbers")
    said(lambda: CustomOpLibrary(HERE / "ops", target="tpu"), ValueError, "'cpu' or 'gpu'")


for part in sys.argv[1:]:
    globals()[part]()
    print(f"{part}: right")
