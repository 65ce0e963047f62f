"""The failure of a thread of a GPU that would leave its memory: if it is the first it writes one record, and it ends.

The record lies in pinned memory of the host, which is still there when the device has given up:
`stdlib/_check/gpu.kpy` has the same layout. On NVIDIA the first thread traps, so that no thread waits for it forever;
others that fail just end, so that it can write all. On AMD a trap would end the program before it can report, so the
wave ends there.
"""

from ktc.targets.target import Target

FAIL = "ktc.check.fail"
"""`void (i64 record, i64 launch, i64 site, i64 at, i64 room, i64 root)`; does not return."""
INDEX = "ktc.check.index"
"""`void (i64 record, i64 launch, i64 site, i64 rank, i64 number...)`; does not return."""
NUMBERS = 10
"""Coordinates and extents that a record has room for."""

_FREE, _TAKEN, _WRITTEN = 0, 1, 2
_LAUNCH, _SITE, _BLOCK, _THREAD, _AT, _ROOM, _ROOT, _RANK, _NUMBERS = 8, 16, 24, 36, 48, 56, 64, 72, 80

_NVIDIA_IDS = tuple(f"llvm.nvvm.read.ptx.sreg.{what}.{axis}" for what in ("ctaid", "tid") for axis in "xyz")
_AMD_IDS = tuple(f"llvm.amdgcn.{what}.id.{axis}" for what in ("workgroup", "workitem") for axis in "xyz")


def functions(target: Target, has_index: bool) -> list[str]:
    """Return the lines of the functions for a target."""
    is_nvidia = target.vendor == "nvidia"
    ids = _NVIDIA_IDS if is_nvidia else _AMD_IDS
    lines = [f"declare i32 @{name}()" for name in ids]
    end = "llvm.nvvm.exit" if is_nvidia else "llvm.amdgcn.endpgm"
    lines.append(f"declare void @{end}(){' noreturn nounwind' if not is_nvidia else ' nounwind'}")
    if is_nvidia:
        lines.append("declare void @llvm.trap() cold noreturn nounwind")
    words = ((_AT, "%at"), (_ROOM, "%room"), (_ROOT, "%root"), (_RANK, "0"))
    listed = "i64 %record, i64 %launch, i64 %site, i64 %at, i64 %room, i64 %root"
    lines += _function(FAIL, listed, [_store(place, "i64", value) for place, value in words], ids, end, is_nvidia)
    if has_index:
        numbers = [f"%n{number}" for number in range(NUMBERS)]
        listed = ", ".join(["i64 %record, i64 %launch, i64 %site, i64 %rank", *[f"i64 {one}" for one in numbers]])
        copied = [_store(_RANK, "i64", "%rank")]
        copied += [_store(_NUMBERS + 8 * at, "i64", number) for at, number in enumerate(numbers)]
        lines += _function(INDEX, listed, copied, ids, end, is_nvidia)
    return lines


def _function(name: str, parameters: str, stores: list[str], ids: tuple[str, ...], end: str, traps: bool) -> list[str]:
    return [
        f"define internal void @{name}({parameters}) noinline cold noreturn nounwind {{",
        "  %place = inttoptr i64 %record to ptr",
        f"  %was = cmpxchg ptr %place, i32 {_FREE}, i32 {_TAKEN} seq_cst seq_cst",
        "  %first = extractvalue { i32, i1 } %was, 1",
        "  br i1 %first, label %write, label %end",
        "write:",
        _store(_LAUNCH, "i64", "%launch"),
        _store(_SITE, "i64", "%site"),
        *stores,
        *[line for number, one in enumerate(ids) for line in _id(number, one)],
        "  fence seq_cst",
        f"  store atomic i32 {_WRITTEN}, ptr %place release, align 4",
        "  fence seq_cst",
        *(["  call void @llvm.trap()", "  unreachable"] if traps else ["  br label %end"]),
        "end:",
        f"  call void @{end}()",
        "  unreachable",
        "}",
    ]


def _id(number: int, name: str) -> tuple[str, str]:
    return f"  %id{number} = call i32 @{name}()", _store(_BLOCK + 4 * number, "i32", f"%id{number}")


def _store(place: int, kind: str, value: str) -> str:
    """Return a store at so many bytes of the record."""
    return (
        f"  %p{place} = getelementptr i8, ptr %place, i64 {place}\n"
        f"  store volatile {kind} {value}, ptr %p{place}, align {4 if kind == 'i32' else 8}"
    )
