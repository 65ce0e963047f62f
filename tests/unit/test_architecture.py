"""The rules of the house: layers, late imports, module state, sizes."""

import ast
import functools
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import metadata
from itertools import chain
from pathlib import Path

from ktc import native

TOOLCHAIN = Path(__file__).parents[2] / "toolchain"
FILES = sorted(path for path in TOOLCHAIN.rglob("*.py") if "made" not in path.parts)

LAYERS = (
    ("base", "native"),
    ("diag",),
    ("syntax",),
    ("targets",),
    ("config",),
    ("ir",),
    ("passes",),
    ("elaborate",),
    ("codegen",),
    ("emit",),
    ("interop",),
    ("driver", "formatting"),
    ("api",),
    ("torch",),
    ("bench",),
    ("tuning",),
    ("cli", "tools", "lsp", "migration", "__main__"),
)
"""What is in `toolchain/`; a file imports from its own layer and those before it."""

OUTSIDE = {
    "lark": ("syntax",),
    "llvmlite": ("targets", "codegen", "emit", "cli"),
    "platformdirs": ("config",),
    "click": ("cli", "tools"),
    "rich": ("bench", "cli"),
    "pygments": ("tools",),
    "torch": ("torch",),
    "pygls": ("lsp",),
    "lsprotocol": ("lsp",),
}
"""Outside packages, and the rooms that may import them."""

LATE = (
    "only for errors", "only for some commands", "only for some programs", "only for some requests",
    "only for some targets", "only for packages", "only with some options", "only without some options",
    "only with a shared cache", "only in a project", "only after a cache miss", "only where it is installed",
    "to answer Ctrl-C",
)  # fmt: skip
"""What may stand after `# late: ` in a line that imports inside a function: most runs of ktc do without this import."""

MAX_LINES, MAX_FUNCTION_LINES, MAX_FILES = 400, 60, 14

CHANGING = ("append", "extend", "add", "update", "pop", "clear", "setdefault", "insert", "remove", "discard")
MUTABLE = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)


ANY = {
    "ir": 58, "syntax": 37, "cli": 21, "elaborate": 31, "emit": 15, "tools": 18, "native": 9, "base": 7,
    "driver": 5, "passes": 4, "bench": 5, "lsp": 4, "tuning": 4, "codegen": 2, "migration": 1, "torch": 7,
}  # fmt: skip
"""At most so often each room names `Any`; these numbers may only fall."""


def name_of(path: Path) -> str:
    return path.relative_to(TOOLCHAIN).as_posix()


@functools.cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"), str(path))


@functools.cache
def nodes_of(path: Path) -> list[ast.AST]:
    return list(ast.walk(tree_of(path)))


@functools.cache
def functions_of(path: Path) -> list[ast.FunctionDef]:
    return [node for node in nodes_of(path) if isinstance(node, ast.FunctionDef)]


def imports(nodes: Iterable[ast.AST]) -> Iterator[tuple[ast.stmt, str]]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import in line {node.lineno}"
            module = node.module or ""
            # `from ktc import cache` names a layer, `from ktc.ir import nodes` does already.
            yield from ((node, f"{module}.{alias.name}" if module == "ktc" else module) for alias in node.names)


def for_each_file(rule: Callable[[Path], None]) -> Callable[[], None]:
    """Make a rule one test, which fails with what the rule says of all files."""

    def test() -> None:
        found = []
        for path in FILES:
            try:
                rule(path)
            except AssertionError as error:
                found.append(str(error))
        assert not found, "\n".join(found)

    test.__name__ = rule.__name__
    return test


def layer(dotted: str) -> int:
    first = dotted.split(".", maxsplit=1)[0]
    return next(number for number, rooms in enumerate(LAYERS) if first in rooms)


def room_in_toolchain(path: Path) -> str:
    return name_of(path).removesuffix(".py").split("/")[0]


@for_each_file
def test_imports_go_to_earlier_layers(path: Path) -> None:
    own = name_of(path)
    if own == "__init__.py":
        assert [name for _, name in imports(nodes_of(path)) if name.startswith("ktc")] == ["ktc.native"]
        return
    here = layer(room_in_toolchain(path))
    for node, module in imports(nodes_of(path)):
        if module.startswith("ktc."):
            there = module.removeprefix("ktc.")
            assert layer(there) <= here, f"{own}:{node.lineno} imports {module} of a later layer"


@for_each_file
def test_outside_packages_have_their_rooms(path: Path) -> None:
    for node, module in imports(nodes_of(path)):
        package = module.split(".")[0]
        if package != "ktc" and package not in sys.stdlib_module_names:
            rooms = OUTSIDE.get(package, ())
            assert room_in_toolchain(path) in rooms, f"{name_of(path)}:{node.lineno} imports {module}"


def test_outside_packages_are_installed_with_ktc() -> None:
    """By ktc's own dependencies and extras, or by theirs."""
    project = tomllib.loads((TOOLCHAIN.parent / "pyproject.toml").read_text("utf-8"))["project"]
    named = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    own = {re.split(r"[^\w-]", one)[0] for one in named}
    installed = [one for one in metadata.distributions() if one.name in own]
    indirect = {re.split(r"[^\w-]", one)[0] for distribution in installed for one in distribution.requires or ()}
    assert OUTSIDE.keys() <= own | indirect


@for_each_file
def test_late_imports_say_when_they_are_needed(path: Path) -> None:
    own, lines = name_of(path), path.read_text("utf-8").splitlines()
    for node, module in late_imports(path):
        text = "\n".join(lines[node.lineno - 1 : node.end_lineno])
        assert text.partition("# late: ")[2] in LATE, f"{own}:{node.lineno} imports {module}, and not why it is late"


def test_late_imports_save_something() -> None:
    """What a file loads at its start need not be imported late: the top of the file is the place for it."""
    modules = {dotted_name(path): path for path in FILES}
    early = {name: set(loaded(path, modules)) for name, path in modules.items()}
    for path in FILES:
        reached, todo = set[str](), [dotted_name(path)]
        while todo:
            new = early.get(todo.pop(), set()) - reached
            reached |= new
            todo += new
        for node, _ in late_imports(path):
            for module in imported(node, modules):
                assert module not in reached, f"{name_of(path)}:{node.lineno} imports {module} late, which is loaded"


@functools.cache
def late_imports(path: Path) -> list[tuple[ast.stmt, str]]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [found for node in nodes_of(path) if isinstance(node, kinds) for found in imports(ast.walk(node))]


def loaded(path: Path, modules: Mapping[str, Path]) -> Iterator[str]:
    """Give the modules that load with a file, and the packages that they lie in."""
    late = {node for node, _ in late_imports(path)}
    checked = {inner for node in tree_of(path).body if is_for_type_checking(node) for inner in ast.walk(node)}
    for node in nodes_of(path):
        if isinstance(node, ast.Import | ast.ImportFrom) and node not in late and node not in checked:
            for module in (dotted_name(path), *imported(node, modules)):
                parts = module.split(".")
                yield from (".".join(parts[:count]) for count in range(1, len(parts) + 1))


def imported(node: ast.stmt, modules: Mapping[str, Path]) -> list[str]:
    """Return the modules that a statement names: for `from a import b` that is `a.b` if this is a module."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    assert isinstance(node, ast.ImportFrom)
    names = [f"{node.module}.{alias.name}" for alias in node.names]
    return [name if name in modules else str(node.module) for name in names]


def is_for_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


@for_each_file
def test_no_module_level_mutable_state(path: Path) -> None:
    tree = tree_of(path)
    own = name_of(path)
    for node in nodes_of(path):
        assert not isinstance(node, ast.Global), f"{own}:{node.lineno} has 'global'"
    for name, value in module_level(tree):
        # A table in capitals is never changed; a test sees only calls of methods that would.
        assert name.lstrip("_").isupper() or not isinstance(value, MUTABLE), f"{own}: '{name}' is mutable"
    for node in nodes_of(path):
        for name in changed(node):
            assert not name.lstrip("_").isupper(), f"{own}:{node.lineno} changes the table {name}"
    for function in functions_of(path):
        for decorator in function.decorator_list:
            name = ast.unparse(decorator).split("(")[0].split(".")[-1]
            assert name not in ("cache", "lru_cache"), f"{own}:{function.lineno} caches in a decorator"


def module_level(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in tree.body:
        if isinstance(node, ast.Assign):
            yield from ((target.id, node.value) for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            yield node.target.id, node.value


def changed(node: ast.AST) -> Iterator[str]:
    """Give the names whose items this node changes, inside functions or not."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)) if method in CHANGING:
            yield name
    targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else []
    for target in targets:
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            yield target.value.id


@for_each_file
def test_only_config_reads_the_environment(path: Path) -> None:
    """`native/` does too: it decides what is loaded, before anything is."""
    own = name_of(path)
    for node in nodes_of(path) if room_in_toolchain(path) not in ("config", "native") else ():
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "os":
            assert node.attr not in ("environ", "getenv", "environb"), f"{own}:{node.lineno} reads the environment"


@for_each_file
def test_files_and_functions_are_short(path: Path) -> None:
    own, text = name_of(path), path.read_text("utf-8")
    lines = text.count("\n")
    assert lines <= MAX_LINES, f"{own} has {lines} lines"
    for node in nodes_of(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            assert length <= MAX_FUNCTION_LINES, f"{own}:{node.lineno} '{node.name}' has {length} lines"


@for_each_file
def test_every_file_has_a_docstring(path: Path) -> None:
    assert ast.get_docstring(tree_of(path)), f"{name_of(path)} has no docstring"


NOUN = re.compile(
    r"(?:^\s*|[.:;] )What\b|^\s*(?:Returns?|Gives?|Yields?|Adds?|Keeps?|Notes?|Has|Holds|Says?|Finds?|Makes?|Writes?"
    r"|Reads?|Tells?|Shows?) what\b|^\s*[\w, ]+: what\b|(?:Input|Output): what\b",
    re.MULTILINE,
)
"""Sentences that say "what a thing does" where its name, unit or shape belongs."""


def test_docstrings_name_things() -> None:
    found = []
    for folder in (TOOLCHAIN, TOOLCHAIN.parent / "stdlib"):
        for path in sorted(folder.rglob("*.*py")):
            for text in re.findall(r'"""(.*?)"""', path.read_text("utf-8"), re.DOTALL):
                found += [f"{path}: {match[0].strip()} …" for match in NOUN.finditer(text)]
    assert not found, "\n".join(found)


def test_what_mypyc_cannot_compile_is_not_written() -> None:
    """It has no code for `x in (*ROWS, y)`, and then compiles nothing at all."""
    for path in FILES:
        compiled = room_in_toolchain(path) in native.PACKAGES
        for node in nodes_of(path) if compiled else ():
            if isinstance(node, ast.Compare):
                parts = [part for one in node.comparators if isinstance(one, ast.Tuple) for part in one.elts]
                assert not any(isinstance(part, ast.Starred) for part in parts), f"{name_of(path)}:{node.lineno}"


@for_each_file
def test_no_name_is_given_to_a_sequence_of_patterns(path: Path) -> None:
    """What mypyc compiles of `case (A(), *_) as items` gives the name to the first item."""
    for node in nodes_of(path):
        if isinstance(node, ast.MatchAs) and isinstance(node.pattern, ast.MatchSequence):
            raise AssertionError(f"{path}:{node.lineno}: name the sequence, and look at its items in the guard")


def test_folders_are_small() -> None:
    files = Counter(path.parent.relative_to(TOOLCHAIN).as_posix() for path in FILES if path.name != "__init__.py")
    for folder, count in files.items():
        assert count <= MAX_FILES, f"{folder} has {count} files"


def test_the_readme_has_a_row_for_every_room() -> None:
    text = (TOOLCHAIN / "README.md").read_text("utf-8")
    rows = {name for line in text.splitlines() if line.startswith("| `") for name in re.findall(r"`(\w+)/`", line)}
    rooms = {path.relative_to(TOOLCHAIN).parts[0] for path in FILES if path.parent != TOOLCHAIN}
    assert rooms <= rows and set(ROOMS) <= rows, (rooms | set(ROOMS)) - rows


GUIDES = ("toolchain/README.md", "CONTRIBUTING.md", "docs/architecture.md")
"""The pages that say where things are."""


def test_what_the_guides_name_exists() -> None:
    """Files as `passes/flow.py`, functions as `types/lookup.find`: in the project, the toolchain or the elaborator."""
    root = TOOLCHAIN.parent
    for guide in GUIDES:
        for named in re.findall(r"`([\w.-]+(?:/[\w.-]+)+)`", (root / guide).read_text("utf-8")):
            folders = (root, TOOLCHAIN, TOOLCHAIN / "elaborate")
            path, _, function = named.rpartition(".")
            declared = re.compile(rf"^(?:def |class )?{function}\b", re.MULTILINE)
            assert any(
                (folder / named).exists()
                or (folder / f"{named}.py").exists()
                or ((folder / f"{path}.py").exists() and declared.search((folder / f"{path}.py").read_text("utf-8")))
                for folder in folders
            ), f"{guide} names {named}"


def test_the_types_that_the_readme_names_exist() -> None:
    text = (TOOLCHAIN / "README.md").read_text("utf-8")
    rows = text.partition("| type | meaning |")[2].partition("\n\n")[0]
    named = {
        name for row in rows.splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1] if "|" in row else "")
    }
    model = "\n".join(
        (TOOLCHAIN / f"elaborate/model/{file}.py").read_text("utf-8") for file in ("types", "values", "declarations")
    )
    assert named and {name for name in named if not re.search(rf"^(?:class )?{name}\b", model, re.MULTILINE)} == set()


def test_every_package_is_installed() -> None:
    folders = {path.parent.relative_to(TOOLCHAIN) for path in FILES}
    assert [name.as_posix() for name in folders if not (TOOLCHAIN / name / "__init__.py").is_file()] == []
    project = tomllib.loads((TOOLCHAIN.parent / "pyproject.toml").read_text("utf-8"))
    listed = {name for name in project["tool"]["setuptools"]["packages"] if name not in ("ktc.grammar", "ktc.stdlib")}
    assert listed == {".".join(("ktc", *folder.parts)) for folder in folders}


# ---- the rooms of the elaborator ----

ROOMS = (
    "model", "tree", "resolve", "types", "generics", "instances", "builder", "ownership", "calls", "closures",
    "comptime", "kernels", "primitives", "expressions", "statements", "functions", "checks",
)  # fmt: skip
"""The sub-packages of `elaborate/` in the order of processing; a room imports only rooms before it."""

MAX_API = 35


def elaborator_files() -> list[Path]:
    return [path for path in FILES if name_of(path).startswith("elaborate/")]


def room_of(dotted: str) -> int:
    """Return the number of the room of a module; what lies above all rooms comes last."""
    parts = dotted.split(".")
    return ROOMS.index(parts[2]) if len(parts) > 3 or parts[2] in ROOMS else len(ROOMS)


def dotted_name(path: Path) -> str:
    return ".".join(("ktc", *path.relative_to(TOOLCHAIN).with_suffix("").parts)).removesuffix(".__init__")


def file_imports(path: Path, modules: dict[str, Path]) -> Iterator[str]:
    """Give the modules of ktc that a file imports, type-checking imports included."""
    for node in nodes_of(path):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                target = full if full in modules else node.module
                if target in modules and target != dotted_name(path):
                    yield target


def test_rooms_import_only_rooms_before_them() -> None:
    modules = {dotted_name(path): path for path in FILES}
    for path in elaborator_files():
        own = dotted_name(path)
        for there in file_imports(path, modules):
            if there.startswith("ktc.elaborate.") and room_of(own) < len(ROOMS):
                assert room_of(there) <= room_of(own), f"{own} imports {there}, a room after its own"


def test_no_file_is_part_of_a_circle() -> None:
    modules = {dotted_name(path): path for path in FILES}
    waiting = {name: set(file_imports(path, modules)) for name, path in modules.items()}
    while free := [name for name, needs in waiting.items() if not needs & waiting.keys()]:
        for name in free:
            del waiting[name]
    assert not waiting, f"circles among {sorted(waiting)}"


def test_no_chain_of_classes() -> None:
    bases: dict[str, list[str]] = {}
    for path in FILES:
        for node in nodes_of(path):
            if isinstance(node, ast.ClassDef):
                bases[node.name] = [base.id for base in node.bases if isinstance(base, ast.Name)]

    def depth(name: str) -> int:
        return 1 + max((depth(base) for base in bases[name] if base in bases), default=0)

    assert max(map(depth, bases)) <= 2, sorted(bases, key=depth)[-1]


def test_the_interface_of_the_recursion_is_small_and_implemented_by_one_statement_each() -> None:
    methods: dict[str, list[ast.FunctionDef]] = {}
    for file, name in (("model/elaboration.py", "ElaborationApi"), ("dispatch.py", "Dispatch")):
        tree = tree_of(TOOLCHAIN / "elaborate" / file)
        found = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
        methods[name] = [node for node in found.body if isinstance(node, ast.FunctionDef)]
    assert [one.name for one in methods["Dispatch"]] == [one.name for one in methods["ElaborationApi"]]
    assert len(methods["Dispatch"]) <= MAX_API
    assert all(len(one.body) == 1 for one in methods["Dispatch"])


def test_no_private_name_of_another_file() -> None:
    for path in elaborator_files():
        for node, _ in imports(nodes_of(path)):
            for alias in node.names if isinstance(node, ast.ImportFrom) else ():
                assert not alias.name.startswith("_"), f"{name_of(path)}:{node.lineno} imports {alias.name}"


OWNERS = {
    "frame": "statements", "flow": "statements", "assignments": "statements", "facts": "builder",
    "captures": "closures", "site": "expressions",
    "modules": "resolve", "types": "types", "generics": "generics", "instances": "instances", "comptime": "comptime",
    "coverage": "checks", "reporter": "model",
}  # fmt: skip
"""The room that owns each part of the state (`model/elaboration_state.py`, `model/body_state.py`)."""


def changed_attributes(tree: ast.AST) -> Iterator[ast.Attribute]:
    """Give the attributes that are assigned, of which an item is set or deleted, or whose changing method is called."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Attribute() as changed, attr=method)) if method in CHANGING:
                yield changed
            case ast.Assign(targets=targets) | ast.Delete(targets=targets):
                yield from changed_in(targets)
            case ast.AugAssign(target=target) | ast.AnnAssign(target=target) | ast.For(target=target):
                yield from changed_in([target])


def changed_in(targets: list[ast.expr]) -> Iterator[ast.Attribute]:
    for target in targets:
        if isinstance(target, ast.Tuple | ast.List):
            yield from changed_in(target.elts)
        elif isinstance(target, ast.Subscript | ast.Starred):
            yield from changed_in([target.value])
        elif isinstance(target, ast.Attribute):
            yield target


def test_only_its_methods_change_a_body() -> None:
    tree = tree_of(TOOLCHAIN / "elaborate/model/body_state.py")
    builder = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "IrBuilder")
    own = {one.attr for one in changed_attributes(builder)}
    assert {"statements", "blocks", "dead", "refs"} <= own
    for path in elaborator_files():
        for one in changed_attributes(tree_of(path)):
            if isinstance(one.value, ast.Name) and one.value.id in ("body", "scratch"):
                assert one.attr not in own, f"{name_of(path)}:{one.lineno} changes {ast.unparse(one)}"


def test_only_owners_change_the_state() -> None:
    states = [tree_of(TOOLCHAIN / "elaborate/model" / name) for name in ("elaboration_state.py", "body_state.py")]
    documented = [
        ast.get_docstring(node) or "" for tree in states for node in tree.body if isinstance(node, ast.ClassDef)
    ]
    assert sum("Owner: `" in text for text in documented) == len(OWNERS) - 1
    assert all(any(f"Owner: `{room}`." in text for text in documented) for room in OWNERS.values() if room != "model")
    for path in elaborator_files():
        folders = path.relative_to(TOOLCHAIN).parts
        room = folders[1] if len(folders) > 2 else ""
        for one in changed_attributes(tree_of(path)):
            part = one.value.attr if isinstance(one.value, ast.Attribute) else ""
            owner = OWNERS.get(part, room)
            assert room in (owner, "model"), f"{name_of(path)}:{one.lineno} changes {ast.unparse(one)} of '{owner}'"


def test_any_is_rare() -> None:
    counted = Counter(name_of(path).split("/")[0] for path in FILES for node in nodes_of(path) if is_any(node))
    assert {room: count for room, count in counted.items() if count > ANY.get(room, 0)} == {}


def is_any(node: ast.AST) -> bool:
    named = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return named == "Any"
