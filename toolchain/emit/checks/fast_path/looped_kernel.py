"""The fast path of a kernel (`--check`): loops over threads that say whether anything in a launch may be wrong.

Input: a kernel of the CPU device, whole, before it is cut into loops. Output: the same with comparisons in its code, as
for bounds alone, and for each granule of memory that threads write a word that says who had it. Where a launch comes to
its end without a doubt, nothing is wrong with it; else what it wrote is taken back and it runs again, thread by thread,
with the exact checks (`accesses`), which alone report. So a doubt too many costs time, one too few a mistake:

- Global memory that a kernel only reads is not looked after. Of what it writes, one thread alone may touch a granule in
  a launch, or several that only read; atomics share theirs. Different arguments must be different buffers;
  `stdlib/_check/screen.kpy` sees to that.
- Shared memory is looked after between two barriers in which it is written, in the same way. A word of zero means that
  a granule was never written.
- Kernels with loops that may wait for others, with calls, copies or masks of warps are not taken.
"""

from ktc.base.records import entity
from ktc.emit.checks import check_locations as kinds
from ktc.emit.checks.body import Body
from ktc.emit.checks.check_locations import CheckLocations
from ktc.emit.checks.fast_path.barrier_shape import BARRIER, Shape
from ktc.emit.checks.fast_path.shadow_words import ShadowWords, Words
from ktc.emit.checks.fast_path.strides import Strides
from ktc.emit.checks.fast_path.usage import ATOMIC, WRITE, NoFastPath, Root, Usage
from ktc.emit.checks.inline import DECLARED, Tests, is_marker
from ktc.emit.checks.instrument import Nearest, constants_of, expanded, tidied
from ktc.emit.checks.memory import Access, access_of
from ktc.emit.checks.numbers import SHIFT, Overflows, check_divisors
from ktc.emit.checks.pointers import CheckedFunction, Pointers, unwatched_of, variables_of
from ktc.emit.checks.source_locations import Place, SourceLocations
from ktc.emit.llvm_text.functions import Signature, signature, symbol_of
from ktc.emit.llvm_text.instructions import Instruction
from ktc.emit.llvm_text.modules import Module
from ktc.emit.llvm_text.scanning import named
from ktc.targets.cpu import EXCHANGE, GROUPING_INTRINSICS, SUSPECT, WAIT_FOR_WARP

_MASKED = {EXCHANGE: 1, WAIT_FOR_WARP: 0}
"""Functions with a mask of lanes, and which argument it is; in a form in loops all lanes take part."""
_FULL_MASKS = ("4294967295", "-1")
_THREAD_BITS, _ATOMICS, _READERS = 11, 2047, 2046
"""A word of shared memory: the number of barriers so far, and the thread from 1 on, or atomics, or several readers."""
_DECLARATIONS = (
    *DECLARED,
    "declare i64 @__ktc_check_block(i64) nounwind willreturn speculatable memory(none)",
    "declare i64 @__ktc_check_own(i64) nounwind willreturn speculatable memory(none)",
    "declare i64 @__ktc_check_shared_own() nounwind willreturn speculatable memory(none)",
    "declare i64 @__ktc_check_base() nounwind willreturn speculatable memory(none)",
    "declare i32 @__ktc_check_claim(i64, i32, i32, i32, i32) nounwind",
    "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
    f"declare void @{SUSPECT}(i1) nounwind willreturn memory(inaccessiblemem: readwrite)",
)


@entity
class FastPath:
    """A kernel with a fast path, for the library: its text, its pointers, and whether its warps have to be whole."""

    text: str
    roots: list[Root]
    has_warps: bool
    has_loops: bool
    shared: list[tuple[int, int, int]]
    """Place, bytes (0: those that the launch adds) and granule of each variable in shared memory that it uses."""


def fast_path(text: str, kernel: str, machine: object, is_inside: bool = False) -> FastPath:
    """Return a marked kernel with its tests.

    Args:
        is_inside: its accesses are known to be within their memory.

    Raises:
        NoFastPath: it is not one of those that are taken.
    """
    variables, unwatched = variables_of(text), unwatched_of(text)
    text = expanded(text, True, machine)
    if _has_unused_loads(Body(Module(text).function(f"{kernel}.body"))):
        raise NoFastPath("it reads what it does not use")
    module = Module(tidied(text, machine))
    at = module.place_of(f"{kernel}.body")
    body = Body(module.at(at))
    has_warps = _uses_warp_exchange(body)
    places = Nearest(body, SourceLocations(module.nodes()))
    if not places.has_any:
        raise NoFastPath("it is the library's")
    made = _Kernel(
        CheckedFunction(body, Pointers(body, constants_of(module), unwatched), places.of), variables, is_inside
    )
    module.entities[at] = made.text()
    module.drop_declarations(is_marker)
    module.entities = [
        _without_mask(signature(line)) if line.startswith("declare ") and symbol_of(line) in _MASKED else line
        for line in module.entities
    ]
    known = module.symbols("declare ", "define ")
    needed = [one for one in _DECLARATIONS if symbol_of(one) not in known]
    module.add(dict.fromkeys([*needed, *made.sites()]))
    sizes = dict(variables)
    shared = [(at, sizes.get(at, 0), granule) for at, granule in sorted(made.usage.granules.items())]
    return FastPath(module.text(), list(made.usage.roots.values()), has_warps, made.has_loops, shared)


def _without_mask(head: Signature) -> str:
    """Return a declaration without the parameter that is a mask."""
    at = _MASKED[head.symbol]
    return head._replace(parameters=head.parameters[:at] + head.parameters[at + 1 :]).with_parameters()


def _has_unused_loads(body: Body) -> bool:
    """Return whether there is a read, not of a local, that is not used: it would be left out, and may be wrong."""
    pointers = Pointers(body, {})
    for one in body.instructions:
        access = access_of(one) if one.op == "load" and not body.uses.get(one.name) else None
        if access is not None and not pointers.alloca(pointers.root(access.pointer)):
            return True
    return False


def with_fast_path_record(text: str, screen: FastPath, entry: str) -> str:
    """Add the fast path to a kernel's description; `entry`: the symbol of the variant in loops."""
    words = [0, int(screen.has_warps), len(screen.roots)]
    words += [word for root in screen.roots for word in (root.origin, root.flags, root.granule)]
    listed = ", ".join([f"i64 {word}" for word in words])
    kinds = ", ".join(["ptr", *["i64"] * len(words)])
    symbol = named(entry, "@")
    made = f"@ktc.screen = internal global {{ {kinds} }} {{ ptr {symbol}, {listed} }}, align 8"
    module = Module(text)
    module.entities = [made if one.startswith("@ktc.screen = ") else one for one in module.entities]
    module.add([f"declare void {symbol}(ptr, ptr, i64, i64)"])
    return module.text()


def _uses_warp_exchange(body: Body) -> bool:
    """Return whether a kernel's lanes exchange words.

    Raises:
        NoFastPath: it calls what is not known, or has lanes that take no part.
    """
    has_warps = False
    for one in body.instructions:
        if one.op in ("invoke", "callbr", "va_arg", "indirectbr"):
            raise NoFastPath(one.op)
        if one.op != "call":
            continue
        name = one.callee
        if not name.startswith(("llvm.", "ktc.check.", "ktc.cpu.")) or "trap" in name:
            raise NoFastPath(f"it calls {name}")
        if name in GROUPING_INTRINSICS:
            raise NoFastPath("its blocks wait for each other")
        if name in _MASKED:
            has_warps = True
            if one.values[_MASKED[name]] not in _FULL_MASKS:
                raise NoFastPath("it has masks")
    return has_warps


class _Kernel(Tests):
    """One kernel's function."""

    def __init__(
        self,
        function: CheckedFunction,
        variables: list[tuple[int, int]],
        is_inside: bool,
    ) -> None:
        super().__init__(function, CheckLocations(), variables)
        body, pointers = function.body, function.pointers
        self._is_inside = is_inside
        shape = Shape(body)
        self.has_loops = bool(shape.loops())
        if shape.may_wait():
            raise NoFastPath("it has a loop that may wait")
        barriers = {number for number, inside in shape.inside.items() if any(one.callee == BARRIER for one in inside)}
        self._has_barrier_loops = any(blocks & barriers for blocks in shape.loops().values())
        self._strides = Strides(body, pointers, shape.loops())
        self._of_one = self._strides.blocks_of_one(shape)
        self.usage = Usage(function, variables, shape)
        self._shadow_words = ShadowWords(body, pointers, self._names, self._remember)
        self._epoch = body.spill("i32")

    def text(self) -> str:
        """Return the function with its tests."""
        body = self._body
        self._enter()
        check_divisors(body, self._place_of, self._sites)
        Overflows(body, self._place_of, self._sites, is_doubtful=True).check()
        self._shadow_words.shade_arrays()
        for one in body.instructions:
            for lines in (body.before.get(one.line), body.after.get(one.line)):
                if lines:
                    lines[:] = [new for line in lines for new in self._plain(line)]
        for one in body.instructions:
            if one.callee == BARRIER:
                self._count_barrier(one)
            elif one.callee in _MASKED:
                body.replaced[one.line] = self._with_all_lanes(one)
        return super().text()

    def _with_all_lanes(self, one: Instruction) -> str:
        """Return a call of an exchange, or of a wait for lanes, without its mask."""
        at = _MASKED[one.callee]
        return one.with_arguments([*one.arguments[:at], *one.arguments[at + 1 :]]).source

    def sites(self) -> list[str]:
        """Return the records that overflows name."""
        return self._sites.text()

    def _plain(self, line: str) -> list[str]:
        """Return a call of the exact checks as a comparison."""
        one = Instruction(line) if "@__ktc_check_" in line else None
        if one is None or one.callee not in ("__ktc_check_zero", "__ktc_check_overflow"):
            return [line]
        (is_bad,), found = self._names(1), one.arguments[0]
        compared = f"{found.type} {found.value}, {'0' if found.type == 'i64' else 'null'}"
        return [f"  {is_bad} = icmp ne {compared}", f"  call void @{SUSPECT}(i1 {is_bad}){self._any_dbg()}"]

    # ---- who had what --------------------------------------------------------------------------------------

    def _enter(self) -> None:
        """Where a thread begins: its number in its block and in the launch."""
        self._body.at_entry += [
            f"  store i32 1, ptr {self._epoch}, align 4",
            "  %ktc.e.z = mul i32 %s2, %s7",
            "  %ktc.e.zy = add i32 %ktc.e.z, %s1",
            "  %ktc.e.row = mul i32 %ktc.e.zy, %s6",
            "  %ktc.e.t = add i32 %ktc.e.row, %s0",
            "  %ktc.e.one = add i32 %ktc.e.t, 1",
            "  %ktc.e.bz = mul i32 %s5, %s10",
            "  %ktc.e.bzy = add i32 %ktc.e.bz, %s4",
            "  %ktc.e.brow = mul i32 %ktc.e.bzy, %s9",
            "  %ktc.e.b = add i32 %ktc.e.brow, %s3",
            "  %ktc.e.yx = mul i32 %s6, %s7",
            "  %ktc.e.xyz = mul i32 %ktc.e.yx, %s8",
            "  %ktc.e.before = mul i32 %ktc.e.b, %ktc.e.xyz",
            "  %ktc.e.base64 = call i64 @__ktc_check_base()" + self._any_dbg(),
            "  %ktc.e.base = trunc i64 %ktc.e.base64 to i32",
            "  %ktc.e.from = add i32 %ktc.e.base, %ktc.e.before",
            "  %ktc.e.last = add i32 %ktc.e.from, %ktc.e.one",
            "  %ktc.e.me = add i32 %ktc.e.last, 1",
            "  %ktc.e.readers = add i32 %ktc.e.base, 1",
        ]

    def _any_dbg(self) -> str:
        return next((f", !dbg {one.dbg}" for one in self._body.instructions if one.dbg), "")

    def _count_barrier(self, one: Instruction) -> None:
        was, new = self._names(2)
        self._body.put_before(
            one,
            f"{was} = load i32, ptr {self._epoch}, align 4",
            f"{new} = add i32 {was}, 1",
            f"store i32 {new}, ptr {self._epoch}, align 4",
        )

    def _access(self, one: Instruction, access: Access, place: Place) -> None:
        pointers = self._pointers
        root = pointers.root(access.pointer)
        if pointers.is_unwatched(root) or self.usage.is_own(root):
            return
        if not self._is_inside:
            super()._access(one, access, place)
        if pointers.is_constant(root):
            return
        if pointers.alloca(root):
            if root in self._shadow_words.shadows:
                self._shadow_words.access_array(one, access, root)
        elif pointers.shared_offset(root) is not None:
            self._access_shared(one, access)
        else:
            known = self.usage.roots[pointers.argument_of(root)]
            if known.flags & (WRITE | ATOMIC):
                self._claim_global(one, access, root, known)

    def _call(self, one: Instruction, place: Place) -> None:
        if one.callee == SHIFT:
            self._body.replaced[one.line] = f"  call void @{SUSPECT}(i1 {one.values[0]}){self._any_dbg()}"
        elif not self._is_inside:
            super()._call(one, place)
        elif is_marker(one.callee):
            self._body.replaced[one.line] = ""

    def _claim_global(self, one: Instruction, access: Access, root: str, known: Root) -> None:
        number, _, _ = self._extent(one, root)
        start, own, address, distance, at, place = self._names(6)
        words_of_all = self._names(1)[0]
        self._body.put_before(
            one,
            f"{start} = call i64 @__ktc_check_block(i64 {number})",
            f"{own} = call i64 @__ktc_check_own(i64 {number})",
            f"{address} = ptrtoint ptr {access.pointer} to i64",
            f"{distance} = sub i64 {address}, {start}",
            f"{at} = {_words(distance, known.granule, access.align)}",
            f"{words_of_all} = inttoptr i64 {own} to ptr",
            f"{place} = getelementptr i8, ptr {words_of_all}, i64 {at}",
        )
        me = "%ktc.e.base" if access.is_atomic else "%ktc.e.me"
        count, is_read = access.size // known.granule, one.op == "load" and not access.is_atomic
        readers = "%ktc.e.readers" if is_read else ""
        words = Words(place, count, access.size, me, "%ktc.e.base", readers, access.is_atomic)
        self._shadow_words.claim(one, words, self._stride(one, access))

    def _stride(self, one: Instruction, access: Access) -> int | None:
        """Return how far apart neighbours' accesses are; a thread that is alone is no one of several readers."""
        return None if one.block in self._of_one else self._strides.of(access.pointer, one.block)

    def _access_shared(self, one: Instruction, access: Access) -> None:
        at = self.usage.variable_of(access)
        assert at is not None
        granule = self.usage.granules[at]
        first, address, start, distance, offset, own, words_of_all, place = self._names(8)
        self._body.put_before(
            one,
            f"{first} = ptrtoint ptr %shared to i64",
            f"{start} = add i64 {first}, {at}",
            f"{address} = ptrtoint ptr {access.pointer} to i64",
            f"{distance} = sub i64 {address}, {start}",
            f"{offset} = {_words(distance, granule, access.align)}",
            f"{own} = call i64 @__ktc_check_shared_own()",
            f"{words_of_all} = inttoptr i64 {own} to ptr",
            f"{place} = getelementptr i8, ptr {words_of_all}, i64 {offset}",
        )
        if at:
            moved = self._names(1)[0]
            self._body.put_before(one, f"{moved} = getelementptr i8, ptr {place}, i64 {4 * at}")
            place = moved
        count = access.size // granule
        reads = not access.flags & kinds.WRITE or access.flags & kinds.MUST_BE_SET
        if reads:
            self._shadow_words.must_be_set(one, place, count)
        if one.line not in self.usage.claiming:
            if access.flags & kinds.WRITE and not reads:
                self._shadow_words.set(one, place, count, str(_ATOMICS))
            return
        was, low, me = self._names(3)
        self._body.put_before(
            one,
            f"{was} = load i32, ptr {self._epoch}, align 4",
            f"{low} = shl i32 {was}, {_THREAD_BITS}",
            f"{me} = or i32 {low}, {_ATOMICS if access.is_atomic else '%ktc.e.one'}",
        )
        if self._has_barrier_loops:
            (is_known,) = self._names(1)
            self._body.put_before(one, f"{is_known} = icmp ult i32 {was}, {1 << (30 - _THREAD_BITS)}")
            self._remember(one, is_known, "")
        several = ""
        if one.op == "load" and not access.is_atomic:
            several = self._names(1)[0]
            self._body.put_before(one, f"{several} = or i32 {low}, {_READERS}")
        words = Words(place, count, access.size, me, low, several, access.is_atomic)
        self._shadow_words.claim(one, words, self._stride(one, access))

    # ---- what becomes of it --------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Nothing is kept for each thread: a doubt is the block's (`with_beginning`)."""

    def _remember(self, one: Instruction, is_right: str, site: str) -> None:
        (is_bad,) = self._names(1)
        self._body.put_before(one, f"{is_bad} = xor i1 {is_right}, true", f"call void @{SUSPECT}(i1 {is_bad})")

    def _leave(self, one: Instruction) -> None:
        """Nothing is left to be done where a thread ends."""


def _words(distance: str, granule: int, align: int) -> str:
    """Return where the word of a granule is: four bytes for each.

    Args:
        align: that of the instruction. Where it is wrong the access is suspect in any case, and any word will do.
    """
    if granule == 4:
        return f"and i64 {distance}, -4" if align < granule else f"add i64 {distance}, 0"
    if granule == 8:
        return f"lshr i64 {distance}, 1"
    return f"shl i64 {distance}, {2 if granule == 1 else 1}"
