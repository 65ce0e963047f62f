"""Imports, and the names of the library that edition 2026 has under other names."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from ktc.migration import table
from ktc.migration.plan import Plan
from ktc.syntax import ast
from ktc.syntax.edition_names import prefixed

PRELUDE: Mapping[str, str] = MappingProxyType({
    "EqualityComparable": "Equatable", "ExplicitlyCopyable": "Copyable", "ImmutOrigin": "ImmOrigin",
    "ImmutableOrigin": "ImmOrigin", "InlineArray": "Array", "MutableOrigin": "MutOrigin",
    "ImmutAnyOrigin": "ImmUnsafeAnyOrigin", "ImmutableAnyOrigin": "ImmUnsafeAnyOrigin",
    "MutableAnyOrigin": "MutAnyOrigin", "StaticConstantOrigin": "ImmStaticOrigin", "StringSlice": "StringSpan",
    "UnsafePointer": "Pointer", "FileDescriptor": "RawFileDescriptor",
    "OpaquePointer": "MutOpaquePointer", "MutUnsafePointer": "MutPointer", "ImmutUnsafePointer": "ImmPointer",
    "LegacyUnsafePointer": "Pointer", "LegacyOpaquePointer": "MutOpaquePointer", "Stringable": "Writable",
    "StringableRaising": "Writable", "Representable": "Writable", "AnyTrivialRegType": "TrivialRegisterPassable",
})  # fmt: skip
"""Names that need no import in edition 2026, by their names in edition 2025."""
_NEED_NONE = frozenset((
    "Span", "Pointer", "List", "Dict", "Optional", "String", "AddressSpace", "StaticString", "Codepoint", "hash",
    "Hashable", "alloc",
))  # fmt: skip
_FROM = re.compile(r"from ([\w.]+) import (\w+)")
_MOVED: Mapping[tuple[str, str], tuple[str, str]] = MappingProxyType({
    ("os", "Atomic"): ("std.atomic", "Atomic"), ("os.atomic", "Atomic"): ("std.atomic", "Atomic"),
    ("os.atomic", "Consistency"): ("std.atomic", "Ordering"), ("os", "Consistency"): ("std.atomic", "Ordering"),
    ("memory", "memcpy"): ("std.memory", "unsafe_memcpy"), ("memory", "memset"): ("std.memory", "unsafe_memset"),
    ("memory", "memset_zero"): ("std.memory", "unsafe_memset_zero"),
    ("memory", "memcmp"): ("std.memory", "unsafe_memcmp"), ("memory", "memmove"): ("std.memory", "unsafe_memmove"),
    ("memory", "stack_allocation"): ("std.memory", "unsafe_stack_allocation"),
    **{
        (module, f"env_get_{kind}"): ("std.sys", f"get_defined_{kind}")
        for module in ("sys", "sys.param_env") for kind in ("bool", "dtype", "int", "string")
    },
    **{(module, "is_defined"): ("std.sys", "is_defined") for module in ("sys", "sys.param_env")},
    ("gpu", "warp"): ("max.gpu.primitives", "warp"), ("gpu", "block"): ("max.gpu.primitives", "block"),
    **{
        (module, name): ("max.algorithm", name)
        for module in ("algorithm", "algorithm.reduction")
        for name in (
            "cumsum", "map_reduce", "max", "mean", "min", "reduce", "sum", "variance", "stencil", "stencil_gpu",
        )
    },
    ("documentation", "doc_private"): ("std.documentation", "doc_hidden"),
    ("builtin._location", "_SourceLocation"): ("std.reflection", "SourceLocation"),
    ("builtin._location", "__call_location"): ("std.reflection", "call_location"),
    ("builtin._location", "__source_location"): ("std.reflection", "source_location"),
    ("algorithm", "parallelize"): ("max.algorithm", "parallelize"),
    ("algorithm", "sync_parallelize"): ("max.algorithm", "sync_parallelize"),
    ("algorithm", "elementwise"): ("max.algorithm.functional", "elementwise"),
    ("algorithm.functional", "elementwise"): ("max.algorithm.functional", "elementwise"),
    ("algorithm.functional", "parallelize"): ("max.algorithm", "parallelize"),
})  # fmt: skip
"""Names that edition 2026 has in another module: by module and name of edition 2025."""
_MODULES: Mapping[str, str] = MappingProxyType({
    "gpu.warp": "max.gpu.primitives.warp", "gpu.block": "max.gpu.primitives.block", "os.atomic": "std.atomic",
    "sys.ffi": "std.ffi", "hashlib": "std.hash", "hashlib.hasher": "std.hash", "hashlib.hash": "std.hash",
    "memory.span": "std.collections.span",
    "collections.inline_array": "std.collections.array", "builtin.sort": "std.builtin.sort",
})  # fmt: skip


def home(plan: Plan, module: str, name: str) -> tuple[str, str]:
    """Return the module and the name of edition 2026 for a name of a module; no module if it needs no import."""
    if name in PRELUDE:
        return "", PRELUDE[name]
    if name in _NEED_NONE or (module.partition(".")[0] == "builtin" and name in plan.prelude):
        return "", name
    if (module, name) in _MOVED:
        return _MOVED[module, name]
    public = _module_of(plan, module)
    for new, (inside, old) in plan.names.names.get(public, {}).items():
        if old == name and inside == module:
            return public, new
    help = plan.names.hidden(public, name) or ""
    if (found := _FROM.search(help)) is not None:
        return found[1], found[2]
    return public, name


def _module_of(plan: Plan, module: str) -> str:
    """Return the public name of a library module in edition 2026, by the table of names first."""
    found = [public for public, meant in plan.names.modules.items() if meant == module and public.startswith("std.")]
    return found[0] if module not in _MODULES and found else module_2026(module)


def module_2026(module: str) -> str:
    """Return the public name of a library module in edition 2026."""
    if module in _MODULES:
        return _MODULES[module]
    for old, new in _MODULES.items():
        if module.startswith(old + "."):
            return new + module.removeprefix(old)
    return prefixed(module) or module


def _is_library(plan: Plan, module: str) -> bool:
    return bool(prefixed(module)) and module.partition(".")[0] not in plan.users


def from_import(plan: Plan, node: ast.FromImport) -> None:
    """`from memory import a, b`."""
    if node.level or not _is_library(plan, node.module):
        return
    if node.names == (("*", ""),):
        at = plan.read.text.find(node.module, node.start)
        public = _module_of(plan, node.module)
        plan.changes.replace(table.IMPORT, at, at + len(node.module), public)
        if (more := _submodules(plan, node, public)) and plan.read.parents.get(node) is plan.read.module:
            plan.changes.insert(table.IMPORT, node.end, f"\nfrom {public} import {', '.join(more)}")
        return
    homes: dict[str, list[str]] = {}
    for name, alias in node.names:
        module, new = home(plan, node.module, name)
        if name == "LegacyUnsafePointer":
            plan.legacy.add(alias or name)
        if alias and not module:
            rename(plan, alias, new)
        if module:
            homes.setdefault(module, []).append(f"{new} as {alias}" if alias else new)
        if new != name and not alias:
            rename(plan, name, new)
    _write_imports(plan, node, homes)


def _submodules(plan: Plan, node: ast.FromImport, public: str) -> list[str]:
    """Return the modules of a package that the file uses: `import *` brings none of them in edition 2026."""
    folder = plan.library.joinpath(*node.module.split("."))
    return sorted(
        name for name, uses in plan.read.uses.items()
        if not name.startswith("_") and name != folder.name and (folder / f"{name}.kpy").is_file() and any(
            isinstance(plan.read.parents.get(one), ast.Attribute) and not _is_declared(plan, one) for one in uses
        )
    )  # fmt: skip


def _write_imports(plan: Plan, node: ast.FromImport, homes: dict[str, list[str]]) -> None:
    """Write an import as one for each module; names and layout stay where only the module changes."""
    read = plan.read
    old = [f"{name} as {alias}" if alias else name for name, alias in node.names]
    if len(homes) == 1:
        module, names = next(iter(homes.items()))
        at = read.text.find(node.module, node.start)
        plan.changes.replace(table.IMPORT, at, at + len(node.module), module)
        if names == old:
            return
        start = read.text.find("import", at) + len("import")
        if len(names) == len(old) and all(" as " not in one for one in old):
            for (name, _), new in zip(node.names, names, strict=True):
                token = read.find(name, start, node.end)
                if name != new and token >= 0:
                    plan.changes.replace(table.IMPORT, token, token + len(name), new)
            return
        plan.changes.replace(table.IMPORT, start, node.end, _listed(names))
        return
    if not homes:
        start, end = read.line_start(node.start), read.text.find("\n", node.end)
        is_alone = not read.text[start : node.start].strip() and not read.text[node.end : end].strip()
        if is_alone and not isinstance(read.parents.get(node), ast.FunctionDecl):
            plan.changes.replace(table.IMPORT, start, end + 1)
        else:
            plan.changes.replace(table.IMPORT, node.start, node.end, "pass")
        return
    indentation = "\n" + read.indentation(node.start)
    lines = [f"from {module} import{_listed(names)}" for module, names in homes.items()]
    plan.changes.replace(table.IMPORT, node.start, node.end, indentation.join(lines))


def _listed(names: list[str]) -> str:
    shown = " " + ", ".join(names)
    return shown if len(shown) < 60 else f" (\n    {(chr(10) + '    ').join(one + ',' for one in names)}\n)"


def plain_import(plan: Plan, node: ast.Import) -> None:
    """`import math`, whose uses are `math.pi`."""
    for name, alias in node.names:
        if name.startswith(".") and len(node.names) == 1:
            dots = len(name) - len(name.lstrip("."))
            package, _, last = name[dots:].rpartition(".")
            shown = f"from {name[:dots]}{package} import {last}" + (f" as {alias}" if alias else "")
            plan.changes.replace(table.IMPORT, node.start, node.end, shown)
        if not _is_library(plan, name):
            continue
        new = _module_of(plan, name)
        at = plan.read.text.find(name, node.start, node.end)
        if alias:
            plan.changes.replace(table.IMPORT, at, at + len(name), new)
        elif "." not in name:
            plan.changes.replace(table.IMPORT, at, at + len(name), f"{new} as {name}")
        else:
            plan.changes.note(table.IMPORT, node.start, f"write 'import {new}', and the new name where it is used")


def rename(plan: Plan, old: str, new: str) -> None:
    """Write the new name wherever the file names something that it imports."""
    for one in plan.read.uses.get(old, ()):
        if not _is_declared(plan, one):
            plan.changes.replace(table.NAME, one.start, one.end, new)


def names(plan: Plan, node: ast.Module) -> None:
    """Names that need no import."""
    own = {getattr(one, "name", "") for one in node.body}
    for one in node.body:
        if isinstance(one, ast.FromImport) and (one.level or not _is_library(plan, one.module)):
            own |= {new or name for name, new in one.names}
    for old, new in PRELUDE.items():
        if old not in own and new not in own:
            rename(plan, old, new)


def _is_declared(plan: Plan, node: ast.Name) -> bool:
    """Return whether a function around declares the name."""
    for one in plan.read.around(node):
        if isinstance(one, ast.FunctionDecl) and node.id in {arg.name for arg in (*one.args, *one.params)}:
            return True
        if isinstance(one, ast.StructDecl) and node.id in {
            getattr(part, "name", "") for part in (*one.params, *one.body)
        }:
            return True
    return False
