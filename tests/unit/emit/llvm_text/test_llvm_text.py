"""llvm_text: what is read is written again, each part of the model is right, changes touch only what they name."""

from pathlib import Path

import pytest
from ktc.diag.diagnostic import Bug
from ktc.emit.llvm_text import scanning
from ktc.emit.llvm_text.functions import Function, Terminator, signature, with_names, with_plain_names
from ktc.emit.llvm_text.instructions import Instruction
from ktc.emit.llvm_text.metadata import node
from ktc.emit.llvm_text.modules import Module, attached_node, attribute_words, free_node, global_of
from ktc.emit.llvm_text.operands import Operand

FIXTURES = Path(__file__).with_name("fixtures")
TEXTS = sorted(FIXTURES.glob("*.ll"))


def function(path: str, symbol: str) -> Function:
    return Module((FIXTURES / path).read_text("utf-8")).function(symbol)


def one(path: str, symbol: str, name: str) -> Instruction:
    """Return the instruction of a fixture that defines a name."""
    return next(found for found in function(path, symbol).instructions() if found.name == name)


# ---- reading and writing ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_what_is_read_is_written(path: Path) -> None:
    text = path.read_text("utf-8")
    module = Module(text)
    assert module.text() == text
    for at, _ in module.definitions():
        read = module.at(at)
        assert read.text() == module.entities[at]
        renamed = with_names(read, lambda name: name)
        assert renamed.text() == read.text()


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_every_part_of_every_instruction_is_read(path: Path) -> None:
    for read in Module(path.read_text("utf-8")).functions():
        known = {parameter.value for parameter in read.signature.parameters}
        known |= {found.name for found in read.instructions() if found.name}
        labels = {block.name for block in read.blocks}
        for found in read.instructions():
            named = {value for value in found.values if value[:1] == "%"}
            assert named <= known and named <= set(found.uses), found
            assert set(found.targets) <= labels, found
            assert found.type != "void" or not found.name, found
            assert found.whole == found.text + found.attachments


def test_comments_debug_records_and_blank_lines_are_no_instructions() -> None:
    read = function("debug_records_19.ll", "f")
    assert [found.op for found in read.instructions()] == ["shl", "store", "ret"]
    assert [found.op for found in read.blocks[0].instructions if found.is_note] == [
        "#dbg_value", "#dbg_declare", "#dbg_value", "#dbg_label",
    ]  # fmt: skip


def test_instructions_of_several_lines() -> None:
    read = function("exceptions_15.ll", "catches")
    invoke, landing = read.blocks[0].instructions[0], read.blocks[2].instructions[0]
    assert (invoke.op, invoke.callee, invoke.targets) == ("invoke", "throws", ["%fine", "%caught"])
    assert invoke.attached("prof") == "!0"
    assert (landing.op, landing.type) == ("landingpad", "{ ptr, i32 }")
    jumps = function("exceptions_15.ll", "jumps")
    assert jumps.edges["%entry"] == ["%direct", "%indirect"]
    assert jumps.edges["%direct"] == ["%indirect", "%end"]


def test_an_entry_without_a_label_has_a_number() -> None:
    read = function("debug_intrinsics_17.ll", "main")
    assert [block.name for block in read.blocks] == ["%2", "%6", "%9"]


# ---- instructions ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "symbol", "name", "values", "kind"),
    [
        ("flags_22.ll", "vectors", "%3", ("%2", "poison", "<i32 3, i32 2, i32 poison, i32 0>"), "<4 x i32>"),
        ("flags_22.ll", "vectors", "%4", ("%3", "splat (i32 7)"), "<4 x i1>"),
        ("flags_22.ll", "vectors", "%7", ("%6", "%s"), "<vscale x 4 x i1>"),
        ("flags_22.ll", "vectors", "%9", ("@plain", "splat (i64 4)"), "<2 x ptr>"),
        ("flags_22.ll", "quoted name, with (brackets)", '%"1.$"', ('%"x y"',), "i64"),
        ("flags_22.ll", "quoted name, with (brackets)", "%wide", ("%p",), "i64"),
        ("flags_22.ll", "quoted name, with (brackets)", "%old", ("%p", "%i"), "i64"),
        ("flags_22.ll", "quoted name, with (brackets)", "%pair", ("%p", "%i", "%half"), "{ i64, i1 }"),
        ("flags_22.ll", "quoted name, with (brackets)", "%more", ("%agg", "%back"), '%"a b"'),
        ("flags_22.ll", "quoted name, with (brackets)", "%slot", ('%"x y"',), "ptr"),
        ("flags_22.ll", "quoted name, with (brackets)", '%"p\\09"', ('%"x y"', "%made"), "i32"),
        ("flags_22.ll", "quoted name, with (brackets)", "%c",
         ("%slot", "getelementptr inbounds (i8, ptr @plain, i64 8)", "0"), "ptr"),
        ("typed_pointers_14.ll", "k", "%v", ("%a",), "float"),
        ("typed_pointers_14.ll", "k", "%call", ("@callback", "%sum"), "float"),
        ("typed_pointers_14.ll", "k", "%at", ("%p", "0", "1", "3"), "%struct.pair*"),
    ],
)  # fmt: skip
def test_operands_and_types(path: str, symbol: str, name: str, values: tuple[str, ...], kind: str) -> None:
    found = one(path, symbol, name)
    if name != "%at":  # with typed pointers it depends on the module's structs
        assert found.type == kind
    assert found.values == values


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("icmp eq ptr %x, getelementptr inbounds (i8, ptr @g, i64 4)",
         ("%x", "getelementptr inbounds (i8, ptr @g, i64 4)")),
        ("sub i64 ptrtoint (ptr @a to i64), ptrtoint (ptr @b to i64)",
         ("ptrtoint (ptr @a to i64)", "ptrtoint (ptr @b to i64)")),
        ("select i1 true, ptr @f, ptr null", ("true", "@f", "null")),
        ('insertvalue %"a, b" poison, { i8, ptr } { i8 1, ptr @g }, 2', ("poison", "{ i8 1, ptr @g }")),
        ("fadd <2 x float> %x, <float 1.0, float 0x7FF8000000000000>", ("%x", "<float 1.0, float 0x7FF8000000000000>")),
        ("ret { i8, ptr } { i8 0, ptr null }", ("{ i8 0, ptr null }",)),
        ("va_arg ptr %list, i32", ("%list",)),
    ],
)  # fmt: skip
def test_constants_among_operands(text: str, values: tuple[str, ...]) -> None:
    assert Instruction(f"  %r = {text}").values == values


QUOTED = "quoted name, with (brackets)"


@pytest.mark.parametrize(
    ("name", "flags"),
    [
        ("%narrow", "nuw nsw "), ("%either", "disjoint "), ("%less", "samesign "), ("%at", "inbounds nuw "),
        ("%back", "nusw "), ("%half", "exact "), ("%q", "reassoc nnan ninf nsz arcp contract afn "), ("%sign", "fast "),
    ],
)  # fmt: skip
def test_flags(name: str, flags: str) -> None:
    assert one("flags_22.ll", QUOTED, name).flags == flags


def test_accesses() -> None:
    wide, old, pair = (one("flags_22.ll", QUOTED, name) for name in ("%wide", "%old", "%pair"))
    assert (wide.is_atomic, wide.is_volatile, wide.ordering, wide.align) == (True, True, "acquire", 8)
    assert (wide.scope, wide.attached("nontemporal"), wide.accessed[0]) == ('syncscope("agent")', "!1", "i64")
    assert (old.operation, old.ordering, old.scope) == ("umax", "acq_rel", 'syncscope("a, b")')
    assert (pair.is_volatile, pair.ordering, pair.operands[2]) == (True, "acq_rel", Operand("i64", "%half"))
    slot = one("flags_22.ll", QUOTED, "%slot")
    assert (slot.allocated, slot.align) == ("[4 x i32]", 16)
    plain = one("typed_pointers_14.ll", "k", "%w")
    assert (plain.is_atomic, plain.is_volatile) == (False, False)


def test_calls() -> None:
    call = one("flags_22.ll", QUOTED, "%c")
    assert (call.callee, call.call.callee, call.call.after) == ("callee", "@callee", "#1")
    assert call.arguments[0] == Operand(
        "ptr", "%slot", "noundef nonnull captures(ret: address, provenance) dereferenceable(8)"
    )
    assembly = one("flags_22.ll", QUOTED, "%made")
    assert (assembly.callee, assembly.values, assembly.type) == ("", ('%"x y"',), "i32")
    assert assembly.call.callee.startswith("asm sideeffect inteldialect")
    assert assembly.uses == ('%"x y"',)  # not the registers
    tail = one("exceptions_15.ll", "_Z4once", "%2")
    assert (tail.tail, tail.callee, tail.uses) == ("musttail", "_Z4once", ("%0",))
    assert tail.call.after == '#1 [ "align"(ptr %0, i64 8), "deopt"() ]'
    many = one("typed_pointers_14.ll", "k", "%many")
    assert (many.callee, many.type, many.arguments[1]) == ("printf", "i32", Operand("i32", "%n"))
    indirect = Instruction('  %r = call addrspace(3) i32 %f(i32 /* by name */ 7, metadata !{!"a", i32 1})')
    assert (indirect.callee, indirect.call.callee, indirect.values[0]) == ("", "%f", "7")


def test_a_call_with_other_arguments() -> None:
    call = Instruction('  %r = tail call fast noundef float @"a b"(float noundef %x, i32 1) #3, !dbg !4')
    made = call.with_arguments(call.arguments[:1]).source
    assert made == '  %r = tail call fast noundef float @"a b"(float noundef %x) #3, !dbg !4'


def test_attachments_and_what_looks_like_them() -> None:
    found = Instruction('  call void @f(metadata !1, metadata !{!2, !"a, !b !3"}), !tbaa !4, !dbg !5')
    assert (found.attachments, found.attached("tbaa"), found.dbg) == (", !tbaa !4, !dbg !5", "!4", "!5")
    assert found.text == 'call void @f(metadata !1, metadata !{!2, !"a, !b !3"})'
    assert Instruction("  ret void").attachments == ""


def test_terminators() -> None:
    read = function("typed_pointers_14.ll", "k")
    end = read.blocks[0].last
    assert end is not None and end.op == "switch" and end.condition == "%n"
    assert end.targets == ["%done", "%done", '%"odd one"']
    assert end.cases == [("0", "%done"), ("-7", '%"odd one"')]
    assert read.blocks[0].successors == ["%done", '%"odd one"']
    assert read.blocks[2].phis[0].incoming == {'"odd one"': "%call", "entry": "0.000000e+00"}
    branch = Terminator("br i1 %c, label %a, label %b, !prof !1", ["a", "b"], "%c")
    assert branch.written({"a": "x"}, "%d") == "br i1 %d, label %x, label %b, !prof !1"
    debugged = function("debug_intrinsics_17.ll", "main").blocks[0]
    assert debugged.branch == ("%5", "%6", "%9") and debugged.terminator.text.endswith("!prof !21")


def test_phis() -> None:
    phi = Instruction('  %x = phi nnan <2 x float> [ <float 1.0, float 2.0>, %"a, b" ], [ %y, %2 ], !dbg !3')
    assert phi.incoming == [("<float 1.0, float 2.0>", '%"a, b"'), ("%y", "%2")]
    assert (phi.type, phi.uses) == ("<2 x float>", ("%y",))
    assert phi.with_incoming([("%z", "%3")]).source == "  %x = phi nnan <2 x float> [ %z, %3 ], !dbg !3"


# ---- names -----------------------------------------------------------------------------------------------------


def test_names() -> None:
    assert [scanning.spelled(name) for name in ("%a.b", '%"a b"', '@"x\\22y\\5C"')] == ["a.b", "a b", 'x"y\\']
    assert [scanning.named(word, "@") for word in ("a$b", "a b", 'x"y')] == ["@a$b", '@"a b"', '@"x\\22y"']
    text = '%x = call i32 asm "mov %x", "r"(i32 %"x", ptr @"a %x")'
    assert scanning.locals_in(text) == ["%x", '%"x"']
    assert scanning.renamed(text, {"%x": "%y"}) == text.replace("%x =", "%y =")
    assert scanning.suffixed('%"a b"', ".c") == '%"a b.c"'


def test_names_in_quotation_marks_become_plain_ones() -> None:
    read = with_plain_names(function("flags_22.ll", QUOTED))
    names = [block.name for block in read.blocks]
    assert names == ["%first.20.block", "%quoted.20..22.two.22.", "%last", "%end"]
    assert read.blocks[0].last is not None and read.blocks[0].last.targets == [names[1], "%last"]
    assert not any('%"' in found.text for found in read.instructions() if "a b" not in found.text)
    taken = Function(
        ['define void @f(i32 %"a b", i32 %a.20.b) {', '  %"1" = add i32 %"a b", %a.20.b', "  ret void", "}"]
    )
    assert next(one.values for one in with_plain_names(taken).instructions()) == ("%a.20.b.", "%a.20.b")


# ---- types -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("i32 %x", "i32"), ("ptr addrspace(3) @tile", "ptr addrspace(3)"), ("ptr @f", "ptr"),
        ("float addrspace(1)* %p", "float addrspace(1)*"), ("[2 x { i8, ptr }] zeroinitializer", "[2 x { i8, ptr }]"),
        ("float (float, ...)* @f", "float (float, ...)*"), ('%"a b"** %x', '%"a b"**'),
        ("<{ i8, <vscale x 2 x i8> }> undef", "<{ i8, <vscale x 2 x i8> }>"),
        ('target("spirv.Image", void, 1) %t', 'target("spirv.Image", void, 1)'),
        ('ptr addrspace("A") %x', 'ptr addrspace("A")'),
    ],
)  # fmt: skip
def test_types(text: str, kind: str) -> None:
    assert scanning.take_type(text) == (kind, text[len(kind) :].strip())


def test_parts_of_types_and_lists() -> None:
    assert scanning.split('i32 1, { i8, i8 } %x, c"a,b", ') == ["i32 1", "{ i8, i8 } %x", 'c"a,b"']
    assert scanning.members("<{ i8, [2 x i32] }>") == ("i8", "[2 x i32]")
    assert scanning.members("[3 x ptr]") == ("ptr",) * 3
    assert scanning.counted("<vscale x 4 x i32>") == (4, "i32")
    assert scanning.last_type('define internal noundef range(i32 0, 5) "a"="b" i8 addrspace(1)*') == "i8 addrspace(1)*"
    assert scanning.inside('f("(", (a)) b', 1) == '"(", (a)'
    with pytest.raises(Bug):
        scanning.inside("(a", 0)
    spaces = {0: 4, 1: 1, 3: 2}
    text = 'call void @llvm.memcpy.p0.p3.i64(ptr %ptr, ptr addrspace(3) @p0, i64 1), "ptr"'
    assert scanning.respaced(text, spaces.__getitem__) == (
        'call void @llvm.memcpy.p4.p2.i64(ptr addrspace(4) %ptr, ptr addrspace(2) @p0, i64 1), "ptr"'
    )


# ---- functions and modules ---------------------------------------------------------------------------------------


def test_signatures() -> None:
    head = function("exceptions_15.ll", "_Z4once").signature
    assert (head.symbol, head.type, head.group) == ("_Z4once", "ptr", "0")
    assert head.parameters == (Operand("ptr", "%0", "noundef nonnull returned align 8 dereferenceable(8)"),)
    assert signature("declare i32 @printf(i8* nocapture readonly, ...) #1").parameters == (
        Operand("i8*", "", "nocapture readonly"), Operand("...", ""),
    )  # fmt: skip
    body = function("debug_intrinsics_17.ll", "main").signature
    assert (body.attached("dbg"), [one.value for one in body.parameters]) == ("!10", ["%0", "%1"])
    line = 'define void @"a (b"({ ptr, i64 } %x, float) #0 {'
    assert signature(line).with_parameters("i32 %n") == line.replace("float)", "float, i32 %n)")


def test_globals() -> None:
    found = {one.symbol: one for one in Module((FIXTURES / "flags_22.ll").read_text("utf-8")).globals()}
    assert found.keys() == {"a b", "plain", "text", "thread"}
    assert (found["a b"].is_constant, found["a b"].type, found["a b"].align) == (True, "%packed", 8)
    assert found["a b"].initial == "<{ i8 1, i64 ptrtoint (ptr @plain to i64) }>"
    assert (found["text"].type, found["text"].initial) == ("[9 x i8]", 'c"%x, \\22[({\\00"')
    assert (found["thread"].initial, found["plain"].is_constant) == ("", False)
    tile = global_of("@tile = internal addrspace(3) global [64 x float] undef, align 16")
    assert tile is not None and (tile.space, tile.type) == (3, "[64 x float]")


def test_metadata() -> None:
    module = Module((FIXTURES / "debug_intrinsics_17.ll").read_text("utf-8"))
    nodes = module.nodes()
    assert nodes["!2"].fields["producer"] == "a \\22quoted\\22 producer, (with) commas"
    assert nodes["!3"].fields == {"filename": "main.c", "directory": "/a b/c, d"}
    assert (nodes["!16"].kind, nodes["!16"].fields["scope"], nodes["!10"].is_distinct) == ("DILocation", "!10", True)
    assert nodes["!21"].members == ['!"branch_weights"', "i32 2000", "i32 1"]
    assert module.named_nodes()[0] == ("llvm.dbg.cu", ["!2"])
    assert (free_node(module.text()), attached_node(module.text(), "range")) == (22, 20)
    assert node("i32 1") is None


def test_groups_structs_and_targets() -> None:
    module = Module((FIXTURES / "flags_22.ll").read_text("utf-8"))
    assert module.structs()['%"a b"'] == "{ i32, { ptr, <2 x float> }, [3 x i8] }"
    assert module.target("triple") == "x86_64-unknown-linux-gnu"
    words = attribute_words(module.groups()["0"])
    assert words[:2] == ["nounwind", "memory(read, argmem: readwrite, inaccessiblemem: none)"]
    assert words[-1] == '"probe"="a #1, {b}"'


def test_changes_of_a_module() -> None:
    module = Module(
        "declare void @a()\ndeclare void @b()\ndefine void @k() {\nentry:\n  call void @a()\n  ret void\n}\n"
    )
    module.drop_declarations(lambda symbol: symbol == "b")
    module.begin("k", ["  call void @c()"])
    module.add(["declare void @c()"])
    module.rename(lambda symbol: "a b" if symbol == "a" else symbol)
    assert module.text() == (
        'declare void @"a b"()\ndefine void @k() {\nentry:\n  call void @c()\n  call void @"a b"()\n  ret void\n}\n'
        "declare void @c()\n"
    )
    assert module.symbols("declare ") == {"a b", "c"}
    with pytest.raises(Bug):
        module.function("missing")
