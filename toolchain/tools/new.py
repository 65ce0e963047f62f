"""`ktc new`: a small project of edition 2026 to start from, with a kernel, a program, a test and a README."""

import keyword
from pathlib import Path

import click

_KERNEL = '''"""The kernel of {name}, and what launches it."""

from std.math import ceildiv

from max.gpu import global_idx
from max.gpu.host import DeviceContext

comptime BLOCK = 256


def saxpy(
    y: Pointer[Float32, MutAnyOrigin],
    x: Pointer[Float32, MutAnyOrigin],
    a: Float32,
    size: Int32,
):
    """Adds `a * x` to `y`, one element a thread."""
    var i = global_idx.x
    if i < Int(size):
        y[unsafe_offset=i] += a * x[unsafe_offset=i]


def add_scaled(mut y: List[Float32], x: List[Float32], a: Float32) raises:
    """Adds `a * x` to `y` on the device.

    ```mojo
    var y: List[Float32] = [1, 2]
    add_scaled(y, [10, 20], 0.5)
    ```
    """
    var size = len(y)
    if size == 0:
        return
    if len(x) != size:
        raise Error("x has ", len(x), " elements, y has ", size)
    var context = DeviceContext()
    var device_y = context.enqueue_create_buffer[DType.float32](size)
    var device_x = context.enqueue_create_buffer[DType.float32](size)
    with device_y.map_to_host() as host_y, device_x.map_to_host() as host_x:
        for i in range(size):
            host_y[i] = y[i]
            host_x[i] = x[i]
    context.enqueue_function[saxpy](
        device_y,
        device_x,
        a,
        Int32(size),
        grid_dim=ceildiv(size, BLOCK),
        block_dim=BLOCK,
    )
    context.synchronize()
    with device_y.map_to_host() as host_y:
        for i in range(size):
            y[i] = host_y[i]
'''
_MAIN = '''"""Adds two vectors on the device and prints the result."""

from {module} import add_scaled


def main() raises:
    var y: List[Float32] = [1, 2, 3]
    add_scaled(y, [10, 20, 30], 0.5)
    for value in y:
        print(value)
'''
_TEST = """from std.testing import assert_equal, assert_raises

from {module} import add_scaled


def test_values() raises:
    var y: List[Float32] = [1, 2, 3]
    add_scaled(y, [10, 20, 30], 0.5)
    assert_equal(y[0], 6)
    assert_equal(y[2], 18)


def test_sizes_differ() raises:
    var y: List[Float32] = [1]
    with assert_raises(contains="elements"):
        add_scaled(y, [1, 2], 1)
"""
_README = """# {name}

    ktc run      run the program, on a GPU if this machine has one
    ktc test     run the tests on the processor
    ktc check    find mistakes without compiling
    ktc format   format all files
    ktc build    make an executable, {name}

`{module}.mojo` has the kernel and the function that launches it, `test_{module}.mojo` its tests. `[tool.ktc]` in
`pyproject.toml` names the program, and can name targets of the executable, folders of modules, and tests.
"""
_PROJECT = """[tool.ktc]
name = "{name}"
edition = "2026"
entry-points = { {name} = "main.mojo" }
"""


@click.command("new")
@click.argument("name", type=click.Path(path_type=Path))
def new_command(name: Path) -> int:
    """Create a small project in a new folder NAME: a kernel, a program, a test, a README."""
    module = name.name.replace("-", "_")
    if not module.isidentifier() or keyword.iskeyword(module) or module in ("main", "fn", "struct", "alias", "var"):
        raise click.BadParameter(f"'{name.name}' cannot be the name of a module: use letters, digits and '_'")
    if name.exists():
        raise click.BadParameter(f"'{name}' exists already")
    name.mkdir(parents=True)
    files = {
        f"{module}.mojo": _KERNEL, "main.mojo": _MAIN, f"test_{module}.mojo": _TEST, "README.md": _README,
        "pyproject.toml": _PROJECT, ".gitignore": "/{name}\n",
    }  # fmt: skip
    for file, text in files.items():
        (name / file).write_text(text.replace("{name}", name.name).replace("{module}", module), "utf-8")
    click.echo(f"made {name}: {', '.join(sorted(files))}\nstart with: cd {name} && ktc test && ktc run")
    return 0
