"""The source that launches one kernel: the user's text, and after it an exported function.

Input: a text, a kernel's name, parameters as values of Python. Output: a text. The types of the kernel's arguments are
those that it declares, with the parameters put in by the compiler.
"""

import json
import sys
from collections.abc import Mapping
from contextlib import suppress

from ktc import config
from ktc.api.arrays.device_functions import blanked, device_exports, tensor_name
from ktc.api.building import BuildRequest, edition_of
from ktc.api.errors import CompileError, Problem
from ktc.base.editions import Edition
from ktc.diag.diagnostic import Sink
from ktc.diag.source import Source
from ktc.syntax import ast
from ktc.syntax.editions import assign
from ktc.syntax.parsing.parser import parse

LAUNCH = "ktc_launch"
_DTYPES = frozenset(
    f"{kind}{bits}" for kind, widths in {"int": (8, 16, 32, 64), "uint": (8, 16, 32, 64), "float": (16, 32, 64)}.items()
    for bits in widths
) | {"bool", "bfloat16"}  # fmt: skip
_TEXTS = ("String", "StaticString", "StringLiteral", "StringSlice")


def launching_text(
    request: BuildRequest, name: str, parameters: Mapping[str, object], api: str
) -> tuple[str, str, tuple[str, ...]]:
    """Return the source that launches a kernel, the kernel's docstring, and the names of its arguments.

    Args:
        api: the interface of its device ("cpu", "cuda", "": any).

    Raises:
        CompileError: the text does not parse, or has no such function.
    """
    text = request.text or request.path.read_text("utf-8")
    source = Source(str(request.path), text)
    assign(source, edition_of(request.options))
    module = parse(source, Sink(), config.open_cache())
    node = _function(module, name) if module is not None else None
    if module is None or node is None:
        message = (
            f"{request.path.name} has no function '{name}'"
            if module is not None
            else f"{request.path.name} does not parse"
        )
        raise _bad(request, message)
    text = blanked(text, device_exports(module))
    known = {param.name: param for param in node.params}
    for given in parameters:
        if given not in known:
            message = f"kernel '{name}' has no parameter '{given}'"
            raise _bad(request, message)
    for param in node.params:
        if param.default is None and param.name not in parameters:
            message = f"kernel '{name}' needs its parameter '{param.name}'"
            raise _bad(request, message)
    chosen = ", ".join([f"{one}={_value(text, known[one], value)}" for one, value in parameters.items()])
    return text + _appended(text, module, node, chosen, api), node.doc, tuple([arg.name for arg in node.args])


def _bad(request: BuildRequest, message: str) -> CompileError:
    return CompileError([Problem("bad-kernel", message, str(request.path))], f"error[bad-kernel]: {message}\n")


def _function(module: ast.Module, name: str) -> ast.FunctionDecl | None:
    return next((one for one in module.body if isinstance(one, ast.FunctionDecl) and one.name == name), None)


def _written(text: str, node: ast.Expr | None) -> str:
    return text[node.start : node.end] if node is not None else ""


def _value(text: str, param: ast.Param, value: object) -> str:
    """Return a value of a parameter as the program's language writes it."""
    type_name = _written(text, param.type)
    if isinstance(value, bool):
        return str(value)
    if type_name == "DType":
        return f"DType.{_dtype(value)}"
    if isinstance(value, str):
        return json.dumps(value) if type_name in _TEXTS else value
    return repr(value)


def _dtype(value: object) -> str:
    """Return the name of a dtype of numpy, torch or Python, or a name as it is."""
    numpy = sys.modules.get("numpy")
    if isinstance(value, str) and numpy is not None and value not in _DTYPES:
        with suppress(TypeError):
            value = numpy.dtype(value)
    found = getattr(value, "name", None) or getattr(value, "__name__", None) or str(value)
    found = str(found).rpartition(".")[2]
    plain = {"float": "float64", "int": "int64", "bool_": "bool"}.get(found, found)
    if plain not in _DTYPES:
        raise ValueError(f"{value!r} is not a dtype that a kernel can have")
    return plain


def _parameters(text: str, node: ast.FunctionDecl) -> str:
    """Return a function's list of parameters as it is written, without the brackets."""
    at = text.index(node.name, node.name_start) + len(node.name)
    rest = text[at:].lstrip()
    if not rest.startswith("["):
        return ""
    start, depth = text.index("[", at), 0
    for index in range(start, len(text)):
        depth += (text[index] == "[") - (text[index] == "]")
        if depth == 0:
            return text[start + 1 : index]
    return ""


def _appended(text: str, module: ast.Module, node: ast.FunctionDecl, chosen: str, api: str) -> str:
    listed = _parameters(text, node)
    lines = ["", ""]
    taken, passed = [], []
    for number, arg in enumerate(node.args):
        own = f"_KtcChosen{number}"
        lines += [
            f"comptime _KtcType{number}{f'[{listed}]' if listed else ''} = {_written(text, arg.type)}",
            f"comptime {own} = _KtcType{number}{f'[{chosen}]' if chosen else ''}",
        ]
        tensor = tensor_name(module, arg.type)
        taken.append(
            f"{arg.name}: UnsafePointer[Scalar[{own}.dtype], MutAnyOrigin]" if tensor else f"{arg.name}: {own}"
        )
        layout = f", {own}.LayoutType()" if tensor == "TileTensor" else ""
        passed.append(f"{own}({arg.name}{layout})" if tensor else arg.name)
    sizes = [f"_ktc_{kind}_{axis}" for kind in ("grid", "block") for axis in "xyz"]
    taken += [f"{size}: Int" for size in (*sizes, "_ktc_shared")]
    kernel = f"{node.name}[{chosen}]" if chosen else node.name
    word, gpu = ("fn", "gpu") if module.edition is Edition.Y2025 else ("def", "max.gpu")
    where = f'api="{api}"' if api else ""
    lines += [
        "", f"from {gpu}.host import DeviceContext as _KtcContext",
        f"from {gpu}.host._cpu import launch_at_once as _ktc_at_once", "", "", "@export",
        f"{word} {LAUNCH}({', '.join(taken)}) raises:",
        f"    var _ktc_context = _KtcContext({where})",
        "    _ktc_at_once()",
        f"    _ktc_context.enqueue_function_checked[{kernel}, {kernel}](",
        f"        {''.join([f'{one}, ' for one in passed])}",
        f"        grid_dim=({', '.join(sizes[:3])}),",
        f"        block_dim=({', '.join(sizes[3:])}),",
        "        shared_mem_bytes=_ktc_shared,",
        "    )",
        "    _ktc_context.synchronize()",
        "",
    ]  # fmt: skip
    return "\n".join(lines)
