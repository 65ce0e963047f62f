"""Finding and reading modules."""

import pickle
from pathlib import Path

import pytest
from ktc.base.cache import Cache
from ktc.diag.codes import Code
from ktc.diag.diagnostic import Sink
from ktc.syntax import ast
from ktc.syntax.ahead import parse_library
from ktc.syntax.loader import Files, Package, load

pytestmark = pytest.mark.usefixtures("shared_tables")


def package(tmp_path: Path, files: dict[str, str | bytes], main: str = "main.kpy") -> tuple[Package | None, Sink]:
    for name, text in {"main.kpy": "alias a = 1\n", **files}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    sink = Sink()
    made = load(Files(tmp_path / main, [tmp_path / "lib"], tmp_path / "std"), None, sink)
    return made, sink


def found(tmp_path: Path, files: dict[str, str | bytes], dotted: str) -> str | None:
    made, _ = package(tmp_path, files)
    assert made is not None
    module = made.find(dotted)
    if module is None:
        return None
    if module.source.is_library:  # shown by the same name wherever the library is
        return module.source.path.replace("stdlib/", "std/", 1)
    return str(Path(module.source.path).relative_to(tmp_path))


MODULE = "alias b = 2\n"


def test_order_of_the_search(tmp_path: Path) -> None:
    names = ["std/m.kpy", "m.kpy", "lib/m.kpy"]
    for index in reversed(range(len(names))):
        assert found(tmp_path, {names[index]: MODULE}, "m") == names[index]


@pytest.mark.parametrize("name", ["a/b.kpy", "a/b.mojo", "a/b.🔥", "a/b/__init__.kpy", "a/b/__init__.mojo"])
def test_files_of_a_module(tmp_path: Path, name: str) -> None:
    assert found(tmp_path, {name: MODULE}, "a.b") == name


def test_std_means_the_library_alone(tmp_path: Path) -> None:
    made, _ = package(tmp_path, {"m.kpy": MODULE, "std/m.kpy": MODULE, "std/n.kpy": MODULE})
    assert made is not None
    library = made.find("std.m")
    assert library is not None and library.source.is_library
    assert library.source.path.startswith("stdlib/"), "the same in every installation"
    assert made.find("m") is library, "a file beside the program does not replace it"
    assert made.find("n") is made.find("std.n")
    assert made.find("m", importer=library) is library


def test_main_of_a_package_imports_relative_to_it(tmp_path: Path) -> None:
    names = ("a/b/__main__.kpy", "a/b/__init__.kpy", "a/__init__.kpy", "a/b/m.kpy", "a/n.kpy")
    files: dict[str, str | bytes] = dict.fromkeys(names, MODULE)
    made, _ = package(tmp_path, files, "a/b/__main__.kpy")
    assert made is not None
    assert made.absolute(made.root, 1, "m") == "a.b.m" and made.absolute(made.root, 2, "n") == "a.n"
    assert made.absolute(made.root, 3, "m") is None
    for dotted in ("a.b.m", "a.n", "m"):
        assert made.find(dotted) is not None
    other, _ = package(tmp_path, {"a/b/tool.kpy": MODULE}, "a/b/tool.kpy")
    assert other is not None and other.absolute(other.root, 1, "m") is None, "any other file is in no package"


def test_a_package_file_is_no_program(tmp_path: Path) -> None:
    made, sink = package(tmp_path, {"m.kpypkg": b"PK"}, "m.kpypkg")
    assert made is None
    assert [(one.code, one.message.endswith("is a package, not a program")) for one in sink.diagnostics] == [
        (Code.FILE_ERROR, True)
    ]


def test_packages_only_of_this_library_yield_to_the_programs(tmp_path: Path) -> None:
    made, _ = package(tmp_path, {"linalg.kpy": MODULE, "std/linalg.kpy": MODULE})
    assert made is not None
    assert made.find("linalg") is not made.find("std.linalg")


def test_a_program_named_like_a_package_of_this_library(tmp_path: Path) -> None:
    """It imports the library's package, not itself; its file counts as read."""
    made, _ = package(tmp_path, {"ndarray.kpy": "alias a = 1\n", "std/ndarray/__init__.kpy": MODULE}, "ndarray.kpy")
    assert made is not None
    module = made.find("ndarray")
    assert module is not None and module.source.is_library
    assert made.reads[str(tmp_path / "ndarray.kpy")]


def test_a_module_that_imports_the_program_gets_the_program_itself(tmp_path: Path) -> None:
    made, _ = package(tmp_path, {"main.kpy": "from b import x\n", "b.kpy": "from main import y\n"})
    assert made is not None
    assert made.find("b") is not made.root
    assert made.find("main") is made.root and made.names[id(made.root)] == "__main__"


def test_what_is_not_there(tmp_path: Path) -> None:
    made, sink = package(tmp_path, {})
    assert made is not None and made.find("nope") is None
    assert not made.failed and not sink.diagnostics
    assert made.reads[str(tmp_path / "nope.kpy")] is None
    assert isinstance(made.reads[str(tmp_path / "main.kpy")], str)


def test_a_module_with_errors_is_reported_once(tmp_path: Path) -> None:
    made, sink = package(tmp_path, {"m.kpy": "fn (\n"})
    assert made is not None
    assert made.find("m") is None and made.find("m") is None
    assert made.failed == {"m"} and len(sink.diagnostics) == 1


def test_modules_that_are_not_imported_are_not_read(tmp_path: Path) -> None:
    made, sink = package(tmp_path, {"broken.kpy": "fn (\n"})
    assert made is not None and not sink.diagnostics


def test_relative_names(tmp_path: Path) -> None:
    made, _ = package(tmp_path, {"p/__init__.kpy": MODULE, "p/q/__init__.kpy": MODULE, "p/q/r.kpy": MODULE})
    assert made is not None
    init, leaf = made.find("p.q"), made.find("p.q.r")
    assert init is not None and leaf is not None
    assert made.absolute(leaf, 1, "s") == "p.q.s"
    assert made.absolute(leaf, 2, "") == "p"
    assert made.absolute(init, 1, "s") == "p.q.s"
    assert made.absolute(init, 2, "x") == "p.x"
    assert made.absolute(leaf, 3, "x") is None
    assert made.absolute(made.root, 1, "x") is None
    assert made.absolute(made.root, 0, "x.y") == "x.y"


def test_line_ends_and_byte_order_mark(tmp_path: Path) -> None:
    made, _ = package(tmp_path, {"main.kpy": b"\xef\xbb\xbfalias a = 1\r\nalias b = 2\r"})
    assert made is not None and made.root.source.text == "alias a = 1\nalias b = 2\n"


def test_line_ends_in_literals(tmp_path: Path) -> None:
    text = '"""Says\n."""\nalias a = """x\ny\\\nz\\n"""\nalias b = r"""\\\n"""\nalias c = 1 \\\n    + 2\n'
    for end in ("\n", "\r\n", "\r"):
        made, _ = package(tmp_path, {"main.kpy": text.replace("\n", end).encode()})
        assert made is not None and made.root.doc == "Says\n."
        values = [one.value for one in made.root.body if isinstance(one, ast.Alias)]
        assert isinstance(values[0], ast.StrLit) and values[0].value == f"x{end}yz\n"
        assert isinstance(values[1], ast.StrLit) and values[1].value == f"\\{end}"
        assert made.root.source.as_read() == text.replace("\n", end)
        copied = pickle.loads(pickle.dumps(made.root.source))
        assert (copied.text, copied.line_ends) == (text, made.root.source.line_ends)


def test_an_empty_file_is_a_module(tmp_path: Path) -> None:
    made, sink = package(tmp_path, {"main.kpy": b""})
    assert made is not None and not sink.diagnostics and made.root.body == ()


def test_not_utf8(tmp_path: Path) -> None:
    made, sink = package(tmp_path, {"main.kpy": b"a\r\nb\xff"})
    assert made is None
    (one,) = sink.diagnostics
    assert one.code is Code.INVALID_UTF8 and "byte 0xff at offset 4, in line 2" in one.message


@pytest.mark.parametrize(("main", "said"), [("no.kpy", "no such file"), ("folder.kpy", "a folder")])
def test_files_that_cannot_be_opened(tmp_path: Path, main: str, said: str) -> None:
    made, sink = package(tmp_path, {"folder.kpy/x": ""}, main)
    assert made is None
    assert sink.diagnostics[0].code is Code.FILE_ERROR and said in sink.diagnostics[0].message


def test_another_suffix_is_not_a_source(tmp_path: Path) -> None:
    made, sink = package(tmp_path, {"main.txt": ""}, "main.txt")
    assert made is None and ".kpy, .mojo, .🔥" in sink.diagnostics[0].message


def test_a_parsed_library_needs_no_parser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, sink = package(tmp_path, {"std/shapes/__init__.kpy": MODULE, "std/shapes/round.kpy": "fn area(): pass\n"})
    assert made is not None
    made.cache = Cache(tmp_path / "cache")
    parse_library(made.stdlib, made.cache)
    monkeypatch.delattr("ktc.syntax.parsing.lalr.Parser")
    module = made.find("shapes.round")
    assert module is not None
    assert [getattr(one, "name", "") for one in module.body] == ["area"]
    assert made.find("shapes") is not None
    assert not sink.error_count


def test_mistakes_in_the_library_wait_for_their_import(tmp_path: Path) -> None:
    made, sink = package(tmp_path, {"std/broken.kpy": "fn (:\n", "std/good.kpy": MODULE})
    assert made is not None
    parse_library(made.stdlib, Cache(tmp_path / "cache"))
    assert made.find("good") is not None
    assert not sink.error_count
    assert made.find("broken") is None
    assert sink.error_count
