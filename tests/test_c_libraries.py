"""Libraries for C: what a C or C++ compiler makes of their headers, and programs that call them."""

import os
import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from programs import TESTS, run_ktc

SOURCES = TESTS / "c"
CC = ["cc", "-Wall", "-Wextra", "-Werror", "-std=c11", "-D_GNU_SOURCE"]
CXX = ["c++", "-x", "c++", "-Wall", "-Wextra", "-Werror"]
ON_CPU = ["--target-accelerator", "cpu"]

pytestmark = pytest.mark.skipif(not shutil.which("cc") or not shutil.which("c++"), reason="no C compiler")


def run(words: list[str], folder: Path, **variables: str) -> str:
    done = subprocess.run(
        words, cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, f"{words}\n{done.stdout}{done.stderr}"
    return done.stdout


def build(words: list[str], cache: Path, folder: Path) -> None:
    done = run_ktc(["build", *ON_CPU, *words], cache, folder)
    said = done.stderr.splitlines()
    assert (done.returncode, said) == (0, []), done.stderr


def visible(library: Path, *options: str) -> set[str]:
    lines = run(["nm", *options, str(library)], library.parent).splitlines()
    words = [line.split() for line in lines if line]
    return {word[2] for word in words if len(word) == 3 and word[1] in "TDBRVW" and word[2] != "_DYNAMIC"}


def test_a_shared_library(program_cache: Path, tmp_path: Path) -> None:
    shapes = str(SOURCES / "shapes.kpy")
    names = ["--header", "shapes.h", "--soname", "libshapes.so.1", "--pkg-config", "shapes.pc"]
    versions = ["--symbol-version", "SHAPES_1", "--library-version", "1.2"]
    build([shapes, "--emit", "shared-lib", "-o", "libshapes.so", *names, *versions], program_cache, tmp_path)
    exported = set(re.findall(r"^@export(?:\(\"(\w+)\".*|.*)\n(?:fn|def) (\w+)", Path(shapes).read_text(), re.M))
    wanted = {name or plain for name, plain in exported}
    assert {name.partition("@@")[0] for name in visible(tmp_path / "libshapes.so", "-D", "--defined-only")} == wanted
    assert all("@@SHAPES_1" in name for name in visible(tmp_path / "libshapes.so", "-D", "--defined-only"))
    (tmp_path / "libshapes.so.1").symlink_to("libshapes.so")
    user, link = str(SOURCES / "use_shapes.c"), ["-I.", "-L.", "-lshapes", "-lpthread"]
    run([*CC, user, "-o", "c", *link], tmp_path)
    run([*CXX, user, "-x", "none", "-o", "cxx", *link], tmp_path)
    for program in ("./c", "./cxx"):
        assert run([program], tmp_path, LD_LIBRARY_PATH=".") == "good\n"
    assert "SHAPES_1" in run(["objdump", "-p", "c"], tmp_path) and "libshapes.so.1" in run(
        ["objdump", "-p", "c"], tmp_path
    )
    run([*CC, str(SOURCES / "load_twice.c"), "-o", "twice", "-ldl", "-lpthread"], tmp_path)
    assert run(["./twice", str(tmp_path / "libshapes.so")], tmp_path) == "good\n"
    text = (tmp_path / "shapes.pc").read_text()
    assert "Version: 1.2" in text and "Libs: -L${prefix} -lshapes" in text
    header = (tmp_path / "shapes.h").read_text()
    (tmp_path / "shapes.h").unlink()
    build([shapes, "--emit", "shared-lib", "-o", "libshapes.so", *names, *versions], program_cache, tmp_path)
    assert (tmp_path / "shapes.h").read_text() == header  # from the cache


@pytest.mark.thorough
def test_a_static_library_and_an_object(program_cache: Path, tmp_path: Path) -> None:
    source = tmp_path / "shapes.kpy"
    source.write_text((SOURCES / "shapes.kpy").read_text().partition("def main")[0])
    baseline = ["--target-cpu", "x86-64-v2"] if os.uname().machine == "x86_64" else []  # what valgrind knows
    build(
        ["shapes.kpy", "--emit", "static-lib", "-o", "libshapes.a", "--header", "shapes.h", *baseline],
        program_cache,
        tmp_path,
    )
    build(["shapes.kpy", "--emit", "object", "-o", "shapes.o"], program_cache, tmp_path)
    assert visible(tmp_path / "libshapes.a") == visible(tmp_path / "shapes.o") >= {"add", "ktc_scaled"}
    other = tmp_path / "other.kpy"
    other.write_text("@export\nfn other() raises:\n    raise Error('other')\n")
    build(["other.kpy", "--emit", "static-lib", "-o", "libother.a"], program_cache, tmp_path)
    user = str(SOURCES / "use_shapes.c")
    run([*CC, user, "-o", "with_archive", "-I.", "libshapes.a", "libother.a", "-lpthread", "-ldl", "-lm"], tmp_path)
    run([*CC, user, "-o", "with_object", "-I.", "shapes.o", "libother.a", "-lpthread", "-ldl", "-lm"], tmp_path)
    assert run(["./with_archive"], tmp_path) == run(["./with_object"], tmp_path) == "good\n"
    if shutil.which("valgrind"):
        checks = ["--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite", "-q"]
        assert run(["valgrind", *checks, "./with_archive"], tmp_path, KTC_CPU_THREADS="1") == "good\n"


KINDS = {
    "Int8": "int8_t", "UInt8": "uint8_t", "Int16": "int16_t", "UInt16": "uint16_t", "Int32": "int32_t",
    "UInt32": "uint32_t", "Int64": "int64_t", "Float32": "float", "Float64": "double", "Bool": "bool",
    "UnsafePointer[Int, MutAnyOrigin]": "int64_t *",
}  # fmt: skip


def random_struct(at: int, some: random.Random, simple: bool) -> tuple[str, list[tuple[str, str]]]:
    kinds = list(KINDS)
    if simple:  # what goes to registers
        kinds = some.choice([["Float32"], ["Float64"], ["Float32", "Int32"], kinds])
    fields = [(f"f{i}", some.choice(kinds)) for i in range(some.randint(1, 4 if simple else 9))]
    if at > 3 and not simple and some.random() < 0.5:
        fields.append(("inner", f"S{some.randrange(at)}"))
    if not simple and some.random() < 0.4:
        fields.append(("cells", f"InlineArray[{some.choice(kinds[:9])}, {some.randint(1, 5)}]"))
    some.shuffle(fields)
    return f"S{at}", fields


def test_layouts_and_calls_of_random_structs(program_cache: Path, tmp_path: Path) -> None:
    """The layout of 200 structs, and calls that pass and return them among other arguments."""
    some = random.Random(20251101)
    lines, checks = [], []
    for at in range(200):
        name, fields = random_struct(at, some, at % 2 == 0)
        lines += ["@fieldwise_init", f"struct {name}(Copyable, Movable, ImplicitlyCopyable):"]
        lines += [f"    var {field}: {kind}" for field, kind in fields]
        lines += ["", "", "@export", f"fn size_{name}() -> Int:"]
        lines += [f"    return sizeof[{name}]() * 1000 + alignof[{name}]()", "", "", "@export"]
        before, after = some.randint(0, 6), some.randint(0, 8)
        ints = "".join(f"i{i}: Int, " for i in range(before))
        floats = "".join(f", d{i}: Float64" for i in range(after))
        sums = " + ".join(["0", *(f"i{i}" for i in range(before)), *(f"Int(d{i})" for i in range(after))])
        lines += [f"fn pass_{name}({ints}v: {name}{floats}, sum: UnsafePointer[Int, MutAnyOrigin]) -> {name}:"]
        lines += [f"    sum[0] = {sums}", "    return v.copy()", "", ""]
        given = [str(i + 1) for i in range(before)], [f"{i + 10}.0" for i in range(after)]
        total = sum(range(1, before + 1)) + sum(range(10, after + 10))
        arguments = ", ".join([*given[0], "v", *given[1], "&sum"])
        checks.append(
            f"{{ {name} v, w; long long n = size_{name}(); int64_t sum = 0;"
            f" assert(n == (long long)sizeof(v) * 1000 + (long long)_Alignof({name}));"
            f" memset(&v, 0, sizeof v); fill(&v, sizeof v, {at}); clear_{name}(&v); w = pass_{name}({arguments});"
            f" assert(sum == {total}); assert({' && '.join(same(field, kind) for field, kind in fields)}); }}"
        )
        clears = "".join(f" v->{field} = 1;" for field, kind in fields if kind == "Bool")
        clears += "".join(f" clear_{kind}(&v->{field});" for field, kind in fields if kind.startswith("S"))
        checks[-1] = checks[-1] + f"\n// static void clear_{name}({name} *v) {{ (void)v;{clears} }}"
    (tmp_path / "layouts.kpy").write_text("from sys import alignof, sizeof\n\n\n" + "\n".join(lines))
    build(
        ["layouts.kpy", "--emit", "shared-lib", "-o", "liblayouts.so", "--header", "layouts.h"],
        program_cache,
        tmp_path,
    )
    clears = [line.removeprefix("// ") for check in checks for line in check.split("\n") if line.startswith("// ")]
    body = "\n".join(check.split("\n")[0] for check in checks)
    (tmp_path / "user.c").write_text(
        '#include "layouts.h"\n#include <assert.h>\n#include <string.h>\n'
        "static void fill(void *at, unsigned long size, int seed) {\n"
        "    unsigned char *bytes = at;\n"
        "    for (unsigned long i = 0; i < size; i++) bytes[i] = (unsigned char)((i * 7 + seed) % 100);\n}\n"
        + "\n".join(clears) + f"\nint main(void) {{\n{body}\nreturn 0; }}\n"
    )  # fmt: skip
    run([*CC, "-O1", "user.c", "-o", "user", "./liblayouts.so"], tmp_path)
    run(["./user"], tmp_path)


def same(field: str, kind: str) -> str:
    """Return the condition that a field is the same in v and w; of nested structs the bytes of the first field."""
    if kind.startswith(("S", "InlineArray")):
        return f"!memcmp(&v.{field}, &w.{field}, {'1' if kind.startswith('S') else f'sizeof v.{field}'})"
    return f"v.{field} == w.{field}"


def test_mistakes_of_libraries(program_cache: Path, tmp_path: Path) -> None:
    def error(text: str, *words: str) -> str:
        (tmp_path / "wrong.kpy").write_text(text)
        done = run_ktc(["build", *ON_CPU, "wrong.kpy", *(words or ("--emit", "shared-lib"))], program_cache, tmp_path)
        assert done.returncode == 1 and "Traceback" not in done.stderr
        assert len(re.findall(r"error\[", done.stderr)) == 1, done.stderr
        return done.stderr

    assert "wrong.kpy:1:1: error[cannot-export]: the library is empty" in error("fn f():\n    pass\n")
    assert "wrong.kpy:2:6: error[cannot-export]: 'f' cannot be exported: its argument 'x' is a 'List[Int]'" in error(
        "@export\nfn f(x: List[Int]):\n    pass\n"
    )
    assert "what it returns is a 'String'" in error("@export\nfn f() -> String:\n    return 'a'\n")
    assert "its argument 'x' is variadic" in error("@export\nfn f(*x: Int):\n    pass\n")
    assert "a function with parameters" in error("@export\nfn f[n: Int]():\n    pass\n")
    assert "two functions are exported as 'f'" in error(
        "@export\nfn f():\n    pass\n\n\n@export('f')\nfn g():\n    pass\n"
    )
    assert "'a b' is not a valid name in C" in error("@export('a b')\nfn f():\n    pass\n")
    assert 'the ABI of an exported function is "C"' in error("@export('a', ABI='D')\nfn f():\n    pass\n")
    assert "its argument 'f' is a 'fn(String) -> None'" in error("@export\nfn g(f: fn (String) -> None):\n    pass\n")
    assert "the struct 'S' cannot be exported" in error(
        "@export\nfn f():\n    pass\n\n\n@export\nstruct S:\n    var x: String\n"
    )
    main = "def main():\n    pass\n"
    assert "--header is for libraries" in error(main, "--header", "x.h")
    assert "linking failed" in error(main, "-l", "no_library_has_this_name")


NAMES = """
@export("names", ABI="C")
fn f(register: Int, int: Int, int_: Int, `a); system("x"); (`: Int) -> Int:
    return register + int + int_

@export("delete", ABI="C")
fn g(x: Int) -> Int:
    return x
"""


def test_names_that_c_does_not_have(program_cache: Path, tmp_path: Path) -> None:
    (tmp_path / "names.kpy").write_text(NAMES)
    words = ["names.kpy", "--emit", "shared-lib", "-o", "lib$(a) b.so", "--header", "3d.h", "--pkg-config", "n.pc"]
    build(words, program_cache, tmp_path)
    text = (tmp_path / "3d.h").read_text()
    assert "#ifndef H_3D_H\n" in text and "'delete' is a word of C or C++" in text
    assert "int64_t names(int64_t register_, int64_t int_, int64_t int__, int64_t a___system__x_____);" in text
    run([*CC, "-fsyntax-only", "-x", "c", "3d.h"], tmp_path)
    run([*CXX, "-fsyntax-only", "3d.h"], tmp_path)
    described = (tmp_path / "n.pc").read_text()
    assert "Name: $$(a) b\n" in described and "-l\\$$\\(a\\)\\ b\n" in described
