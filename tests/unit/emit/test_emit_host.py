"""The host's objects: linked, and run by the JIT."""

import os
import signal
import stat
import subprocess
import sys
import textwrap

import pytest
from emit_modules import Module, head, hello
from ktc.diag.diagnostic import Bug
from ktc.emit import host, jit
from ktc.emit.linking import link, tools
from ktc.targets.host import host_target

TARGET = host_target()
UNDEFINED = "declare void @nowhere_defined()\ndefine i32 @main() {\n call void @nowhere_defined()\n ret i32 0\n}"
TOOLS = tools.find_link_tools()

needs_linker = pytest.mark.skipif(not TOOLS.title, reason="no linker is installed")
linux = pytest.mark.skipif(sys.platform != "linux", reason="reads ELF files")


def objects(text, level=2):
    return [host.object_file(Module(TARGET, f"{head(TARGET)}\n{textwrap.dedent(text)}"), level)]


@pytest.fixture(scope="module")
def program():
    return [host.object_file(module, 2) for module in hello(TARGET, 42)]


@needs_linker
def test_an_executable_of_two_objects(program, tmp_path):
    made = link.link(program, tmp_path / "hello", TOOLS)
    assert made.size_bytes == (tmp_path / "hello").stat().st_size
    assert (tmp_path / "hello").stat().st_mode & stat.S_IXUSR
    done = subprocess.run([made.path, "word"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (42, "word: 14 1.5\n")
    assert [path.name for path in tmp_path.iterdir()] == ["hello"]


@linux
@needs_linker
def test_it_needs_libc_only(program, tmp_path):
    from elftools.elf.elffile import ELFFile

    link.link(program, tmp_path / "hello", TOOLS)
    with (tmp_path / "hello").open("rb") as file:
        elf = ELFFile(file)
        needed = [tag.needed for tag in elf.get_section_by_name(".dynamic").iter_tags() if tag["d_tag"] == "DT_NEEDED"]
        flags = [tag["d_val"] for tag in elf.get_section_by_name(".dynamic").iter_tags() if tag["d_tag"] == "DT_FLAGS"]
        names = {section.name for section in elf.iter_sections()}
    assert needed == ["libc.so.6"]
    assert ".symtab" not in names and ".note.gnu.build-id" in names
    assert flags == [8]  # DF_BIND_NOW: with -z relro nothing of the linker's tables can be written


@needs_linker
def test_fma_where_the_processor_has_none(tmp_path):
    """LLVM calls `fma` of the C library's mathematical part then."""
    text = """
        define i32 @main(i32 %count, ptr %words) {
            %a = sitofp i32 %count to double
            %b = call double @fma(double %a, double 40.0, double 2.0)
            %c = fptosi double %b to i32
            ret i32 %c
        }
        declare double @fma(double, double, double)
    """
    link.link(objects(text), tmp_path / "prog", TOOLS)
    assert subprocess.run([tmp_path / "prog"], check=False).returncode == 42


@needs_linker
def test_the_same_bytes_in_any_folder(program, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    for folder in ("a", "b"):
        link.link(program, tmp_path / folder / f"name-in-{folder}", TOOLS)
    assert (tmp_path / "a/name-in-a").read_bytes() == (tmp_path / "b/name-in-b").read_bytes()


@needs_linker
def test_what_the_linker_refuses(tmp_path):
    with pytest.raises(link.LinkFailed, match="nowhere_defined"):
        link.link(
            objects(UNDEFINED),
            tmp_path / "no", TOOLS,
        )  # fmt: skip
    assert list(tmp_path.iterdir()) == []


def test_no_linker(tmp_path):
    with pytest.raises(link.LinkFailed):
        link.link([], tmp_path / "no", tools.LinkTools())


@needs_linker
def test_an_output_that_cannot_be_written(program, tmp_path):
    with pytest.raises(OSError):
        link.link(program, tmp_path / "no folder" / "hello", TOOLS)
    (tmp_path / "taken").mkdir()
    with pytest.raises(OSError):
        link.link(program, tmp_path / "taken", TOOLS)
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


@needs_linker
def test_an_executable_replaces_an_old_one(program, tmp_path):
    (tmp_path / "hello").write_text("old")
    link.link(program, tmp_path / "hello", TOOLS)
    assert (tmp_path / "hello").read_bytes()[:4] != b"old"


@needs_linker
def test_a_compiler_links_too(program, tmp_path):
    command = tools.find_link_tools(compiler="cc")
    try:
        made = link.link(program, tmp_path / "hello", command)
    except FileNotFoundError:
        pytest.skip("no cc")
    assert subprocess.run([made.path], capture_output=True, check=False).returncode == 42


@linux
@needs_linker
def test_a_shared_library(tmp_path):
    import ctypes

    code = objects("define i32 @answer() {\n ret i32 42\n}")
    made = link.link(code, tmp_path / "libanswer.so", TOOLS, link.LinkOptions(shared=True))
    assert ctypes.CDLL(str(made.path)).answer() == 42


def test_the_data_object_defines_the_images(capfd):
    data = bytes(range(32, 127)) + b'"quoted"\\'
    code = objects(
        f"""
        @image = external hidden constant [{len(data) + 1} x i8]
        declare i64 @write(i32, ptr, i64)
        define i32 @main() {{
          call i64 @write(i32 1, ptr @image, i64 {len(data) + 1})
          ret i32 0
        }}"""
    )
    assert jit.run([*code, host.data_object(TARGET, {"image": data, "other": b""})], ["prog"]) == 0
    assert capfd.readouterr().out.endswith('"quoted"\\\0')


@linux
@needs_linker
def test_data_object_is_linked(tmp_path):
    code = objects(
        """
        @image = external hidden constant [4 x i8]
        define i32 @main() {
          %p = getelementptr i8, ptr @image, i32 2
          %v = load i8, ptr %p
          %w = zext i8 %v to i32
          ret i32 %w
        }"""
    )
    made = link.link([*code, host.data_object(TARGET, {"image": b"\x01\x02\xc8"})], tmp_path / "x", TOOLS)
    assert subprocess.run([made.path], check=False).returncode == 200


def test_assembly_and_text():
    module = hello(TARGET)[1]
    assert "seven_times" in host.assembly(module, 2)
    assert "define i32 @seven_times" in host.llvm_text(module, 2)


def test_the_host_is_vectorised():
    module = Module(
        TARGET,
        f"""{head(TARGET)}
define void @scale(ptr noalias %a, i64 %n) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr float, ptr %a, i64 %i
  %v = load float, ptr %p
  %w = fmul float %v, 2.0
  store float %w, ptr %p
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}}""",
    )
    assert "x float>" in host.llvm_text(module, 3)
    assert "x float>" not in host.llvm_text(module, 1)


def test_a_mistake_names_the_host():
    with pytest.raises(Bug, match=r"the host: .* in line 3: nonsense"):
        objects("nonsense")


def test_jit(program, capfd):
    assert jit.run(program, ["prog", "word"]) == 42
    assert capfd.readouterr().out == "word: 14 1.5\n"


@pytest.mark.parametrize(("call", "status"), [("abort", 128 + signal.SIGABRT), ("llvm.trap", None), ("getpid", 0)])
def test_jit_reports_signals_as_a_shell_does(call, status):
    code = objects(f"declare void @{call}()\ndefine i32 @main() {{\n call void @{call}()\n ret i32 0\n}}")
    status = (
        status if status is not None else 128 + (signal.SIGILL if os.uname().machine == "x86_64" else signal.SIGTRAP)
    )
    assert jit.run(code, ["prog"]) == status


def test_jit_of_exit_and_of_the_error_stream(capfd):
    code = objects(
        """
        @text = private constant [5 x i8] c"oops\\0A"
        declare void @exit(i32)
        declare i64 @write(i32, ptr, i64)
        define i32 @main() {
          call i64 @write(i32 2, ptr @text, i64 5)
          call void @exit(i32 300)
          ret i32 0
        }"""
    )
    assert jit.run(code, ["prog"]) == 300 & 0xFF
    assert capfd.readouterr().err == "oops\n"


@linux
def test_jit_with_threads_and_dlopen(capfd):
    code = objects(
        """
        @name = private constant [12 x i8] c"libc.so.6\\00\\00\\00"
        @symbol = private constant [5 x i8] c"puts\\00"
        @text = private constant [5 x i8] c"here\\00"
        @total = internal global i32 0
        declare i32 @pthread_create(ptr, ptr, ptr, ptr)
        declare i32 @pthread_join(i64, ptr)
        declare ptr @dlopen(ptr, i32)
        declare ptr @dlsym(ptr, ptr)
        declare ptr @malloc(i64)
        declare void @free(ptr)
        define internal ptr @task(ptr %x) {
          atomicrmw add ptr @total, i32 5 seq_cst
          ret ptr null
        }
        define i32 @main() {
          %slot = call ptr @malloc(i64 8)
          call i32 @pthread_create(ptr %slot, ptr null, ptr @task, ptr null)
          %thread = load i64, ptr %slot
          call i32 @pthread_join(i64 %thread, ptr null)
          call void @free(ptr %slot)
          %lib = call ptr @dlopen(ptr @name, i32 2)
          %puts = call ptr @dlsym(ptr %lib, ptr @symbol)
          call i32 %puts(ptr @text)
          %n = load i32, ptr @total
          ret i32 %n
        }"""
    )
    assert jit.run(code, ["prog"]) == 5
    assert capfd.readouterr().out == "here\n"


def test_jit_of_an_undefined_function():
    code = objects(
        "declare void @nowhere_defined()\ndefine i32 @main() {\n call void @nowhere_defined()\n ret i32 0\n}"
    )
    with pytest.raises(jit.MissingSymbols, match="nowhere_defined"):
        jit.run(code, ["prog"])


def test_jit_leaves_ctrl_c_as_it_was(program, capfd):
    before = signal.getsignal(signal.SIGINT)
    jit.run(program, ["prog"])
    assert signal.getsignal(signal.SIGINT) is before


def test_a_pipe_is_written_to_and_stays(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    link.install(b"data", pipe)
    assert os.read(reader, 10) == b"data"
    os.close(reader)
    assert pipe.is_fifo()
    assert sorted(tmp_path.iterdir()) == [pipe]
