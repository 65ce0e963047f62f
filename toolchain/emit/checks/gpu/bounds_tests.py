"""The comparisons: each access of a kernel, or several that follow each other, against the memory that is meant."""

import re

from ktc.base.records import record
from ktc.emit.checks.body import Body, with_last_parts
from ktc.emit.checks.gpu.failure import FAIL, INDEX, NUMBERS, functions
from ktc.emit.checks.gpu.groups import PASSED, Group, bundles_of, groups_of
from ktc.emit.checks.gpu.header import Site
from ktc.emit.checks.gpu.order import addresses_first, unrolled
from ktc.emit.checks.gpu.origins import ARGUMENT, CHOSEN, Origin, Origins, choices
from ktc.emit.checks.inline import is_marker
from ktc.emit.checks.instrument import Nearest, expanded
from ktc.emit.checks.source_locations import Place, PlaceOf, SourceLocations
from ktc.emit.llvm_text.functions import symbol_of
from ktc.emit.llvm_text.instructions import Instruction
from ktc.emit.llvm_text.modules import Module
from ktc.emit.llvm_text.scanning import GLOBAL
from ktc.targets.target import Target

ON_INDEX, ON_RANGE, MISALIGNED = 128, 256, 2048
"""Flags of sites, as in `inline`."""

_GLOBAL = re.compile(GLOBAL)
_TEXT = re.compile(r'c"([^"\\]*)\\00"')


@record
class DeviceChecked:
    """A kernel's module with comparisons, and what its header says (`header`)."""

    text: str
    title: str
    pointers: tuple[int, ...]
    sites: tuple[Site, ...]


def with_device_bounds(text: str, kernel: str, target: Target, machine: object) -> DeviceChecked:
    """Return a kernel for a GPU with its bounds tested.

    Args:
        text: LLVM's text with the lines of the program. kernel: its symbol. machine: LLVM's target machine.
    """
    module = Module(unrolled(expanded(text, True, machine), machine))
    at = module.place_of(kernel)
    body, places = Body(addresses_first(module.at(at))), SourceLocations(module.nodes())
    texts = {one.name: found[1] for one in module.globals() if (found := _TEXT.match(one.initial)) is not None}
    tests = _Tests(body, Origins(body, module), Nearest(body, places).of, texts, target)
    module.entities[at] = tests.text()
    module.drop_declarations(is_marker)
    if tests.sites:
        known = module.symbols("declare ")
        more = [*functions(target, tests.has_index), "declare i64 @llvm.usub.sat.i64(i64, i64)", _WEIGHED]
        module.add([line for line in more if not (line.startswith("declare ") and symbol_of(line) in known)])
    owner = places.of_function(body.function.signature.attached("dbg"))
    return DeviceChecked(module.text(), owner.title if owner else kernel, tuple(tests.pointers), tuple(tests.sites))


class _Tests:
    """One kernel's function."""

    def __init__(
        self,
        body: Body,
        origins: Origins,
        place_of: PlaceOf,
        texts: dict[str, str],
        target: Target,
    ) -> None:
        self._body, self._origins, self._place_of, self._texts = body, origins, place_of, texts
        self._is_nvidia = target.vendor == "nvidia"
        self.sites: list[Site] = []
        self.pointers: list[int] = []
        self.has_index = False
        self._last: dict[str, str] = {}
        self._count = 0
        self._choices: dict[str, tuple[str, str]] = {}
        self._begins: dict[str, str] = {}
        self._even_sizes: dict[tuple[str, int], str] = {}
        self._cold: list[str] = []
        self._labels = body.labels

    def text(self) -> str:
        """Return the function with its comparisons."""
        body = self._body
        bundles = bundles_of(body, groups_of(body, self._origins, self._place_of))
        for one in list(body.instructions):
            if one.line in bundles:
                self._test(one, bundles[one.line])
            if is_marker(one.callee):
                self._call(one)
                body.replaced[one.line] = ""
        body.at_end += self._cold
        parameters = ["i64 %ktc.record", "i64 %ktc.launch", "i64 %ktc.added"]
        for number in range(len(self.pointers)):
            parameters += [f"i64 %ktc.before.{number}", f"i64 %ktc.size.{number}"]
        body.header = body.function.signature.with_parameters(*parameters)
        return with_last_parts(body.text(), self._last)

    # ---- one comparison ------------------------------------------------------------------------------------

    def _test(self, one: Instruction, groups: list[Group]) -> None:
        """Compare all of a bundle before its first access; the code of a wrong one finds out which it was."""
        found = [self._compared(one, group) for group in groups]
        right, wrong = found[0][0], found[-1][1]
        for other, _ in found[1:]:
            both = self._names(1)[0]
            self._body.put_before(one, f"{both} = and i1 {right}, {other}")
            right = both
        for is_right, code in reversed(found[:-1]):
            self._count += 1
            here, there = f"ktc.group.{self._count}", f"ktc.other.{self._count}"
            wrong = [f"  br i1 {is_right}, label %{there}, label %{here}", f"{here}:", *code, f"{there}:", *wrong]
        self._branch(one, right, wrong)

    def _compared(self, one: Instruction, group: Group) -> tuple[str, list[str]]:
        """Return whether all accesses of a group are right, and the code for when they are not."""
        body, origin = self._body, group.origin
        before, size = self._memory(origin)
        is_passed = origin.kind in PASSED
        number = self._number(one, group.pointer)
        start = self._chosen(origin.root)[0] if origin.kind == CHOSEN else self._root_number(one, group)
        first = group.at
        low = min(piece.at for piece in group.pieces)
        count = max(piece.at + piece.size for piece in group.pieces) - low
        align = max(piece.align for piece in group.pieces) if is_passed else 1
        keeps = align > 1 and self._origins.keeps_alignment(group.pointer, origin.root, align)
        distance, moved, at, right = self._names(4)
        body.put_before(
            one, f"{distance} = sub i64 {number}, {start}", f"{moved} = add i64 {distance}, {before}",
            f"{at} = add i64 {moved}, {low - first + (count - 1 if keeps and count <= align else 0)}",
        )  # fmt: skip
        whole = self._number(one, origin.root) if keeps and origin.kind == CHOSEN else start
        room = self._even(one, origin, whole, size, align) if keeps else size
        if not (keeps and count <= align):  # else no access begins before the memory and ends in it
            limit = self._names(1)[0]
            body.put_before(one, f"{limit} = call i64 @llvm.usub.sat.i64(i64 {room}, i64 {count - 1})")
            room = limit
        body.put_before(one, f"{right} = icmp ult i64 {at}, {room}")
        if align > 1 and not keeps:
            rest, even, both = self._names(3)
            body.put_before(
                one, f"{rest} = and i64 {number}, {align - 1}", f"{even} = icmp eq i64 {rest}, 0",
                f"{both} = and i1 {right}, {even}",
            )  # fmt: skip
            right = both
        return right, self._chain(group, moved, size, is_passed, start)

    def _even(self, one: Instruction, origin: Origin, start: str, size: str, align: int) -> str:
        """Return a memory's size, 0 if its pointer is no multiple of `align`."""
        known = self._even_sizes.get((origin.root, align))
        if known is not None:
            return known
        rest, even, room = self._names(3)
        is_whole = origin.root not in self._body.defined
        if is_whole:
            start = self._names(1)[0]
            self._even_sizes[origin.root, align] = room
        lines = [
            f"{rest} = and i64 {start}, {align - 1}", f"{even} = icmp eq i64 {rest}, 0",
            f"{room} = select i1 {even}, i64 {size}, i64 0",
        ]  # fmt: skip
        if is_whole:
            lines.insert(0, f"{start} = ptrtoint {self._kind(origin.root)} {origin.root} to i64")
            self._body.at_entry += [f"  {line}" for line in lines]
        else:
            self._body.put_before(one, *lines)
        return room

    def _memory(self, origin: Origin) -> tuple[str, str]:
        """Return how far a root is in its memory, and how long that is."""
        if origin.kind == CHOSEN:
            return "0", self._chosen(origin.root)[1]
        if origin.kind != ARGUMENT:
            return "0", str(origin.size) if origin.size else "%ktc.added"
        if origin.source not in self.pointers:
            self.pointers.append(origin.source)
        number = self.pointers.index(origin.source)
        return f"%ktc.before.{number}", f"%ktc.size.{number}"

    def _chosen(self, root: str) -> tuple[str, str]:
        """Return where the memory begins of a pointer that is one of several, and how long it is."""
        if root in self._choices:
            return self._choices[root]
        start, size = self._choices[root] = self._body.fresh(), self._body.fresh()
        one = self._body.defined[root]
        found = [(self._begin(value), label) for value, label in choices(one)]
        if one.op == "phi":
            rows = [", ".join([f"[ {place[at]}, {label} ]" for place, label in found]) for at in (0, 1)]
            self._body.put_after(one, f"{start} = phi i64 {rows[0]}", f"{size} = phi i64 {rows[1]}")
        else:
            asked = one.operands[0]
            rows = [", ".join([f"i64 {place[at]}" for place, _ in found]) for at in (0, 1)]
            self._body.put_after(one, f"{start} = select {asked}, {rows[0]}", f"{size} = select {asked}, {rows[1]}")
        return start, size

    def _begin(self, pointer: str) -> tuple[str, str]:
        """Return where a pointer's memory begins, as a number that is there with the pointer, and how long it is."""
        origin = self._origins.of(pointer)
        if origin is None:
            return "poison", "poison"
        if origin.kind == CHOSEN:
            return self._chosen(origin.root)
        before, size = self._memory(origin)
        if origin.root not in self._begins:
            number, start = self._names(2)
            self._begins[origin.root] = start
            held = self._body.defined.get(origin.root)
            lines = (
                f"{number} = ptrtoint {self._kind(origin.root)} {origin.root} to i64",
                f"{start} = sub i64 {number}, {before}",
            )
            if held is None:
                self._body.at_entry += [f"  {line}" for line in lines]
            else:
                self._body.put_after(held, *lines)
        return self._begins[origin.root], size

    def _number(self, one: Instruction, pointer: str) -> str:
        name = self._names(1)[0]
        self._body.put_before(one, f"{name} = ptrtoint {self._kind(pointer)} {pointer} to i64")
        return name

    def _root_number(self, one: Instruction, group: Group) -> str:
        """Return the root's address, in the address space of the group's pointers."""
        root, kind, own = group.origin.root, self._kind(group.pointer), self._kind(group.origin.root)
        if kind == own:
            return self._number(one, root)
        cast, name = self._names(2)
        self._body.put_before(
            one, f"{cast} = addrspacecast {own} {root} to {kind}", f"{name} = ptrtoint {kind} {cast} to i64"
        )
        return name

    def _kind(self, pointer: str) -> str:
        """Return a pointer's type."""
        if pointer.startswith("@"):
            return "ptr addrspace(3)"
        held = self._body.defined.get(pointer)
        if held is not None:
            return held.type
        found = (one.type for one in self._body.function.signature.parameters if one.value == pointer)
        return next(found, "ptr")

    def _chain(self, group: Group, moved: str, size: str, root: bool, start: str) -> list[str]:
        """Return the code of a group that is wrong: it finds out which access it was."""
        lines: list[str] = []
        place = start if root else "0"
        pieces = group.pieces
        may_be_uneven = root and max(piece.align for piece in pieces) > 1
        for number, piece in enumerate(pieces):
            at = self._names(1)[0]
            lines.append(f"  {at} = add i64 {moved}, {piece.at - group.at}")
            call = self._fail(Site(piece.place, piece.size, 1, piece.flags), at, size, place)
            if number == len(pieces) - 1 and not may_be_uneven:
                return [*lines, *call]
            limit, wrong = self._names(2)
            self._count += 1
            here, there = f"ktc.wrong.{self._count}", f"ktc.next.{self._count}"
            lines += [
                f"  {limit} = call i64 @llvm.usub.sat.i64(i64 {size}, i64 {piece.size - 1})",
                f"  {wrong} = icmp uge i64 {at}, {limit}",
                f"  br i1 {wrong}, label %{here}, label %{there}",
                f"{here}:", *call, f"{there}:",
            ]  # fmt: skip
        worst = max(pieces, key=lambda piece: piece.align)
        site = Site(worst.place, worst.size, worst.align, worst.flags | MISALIGNED)
        return [*lines, *self._fail(site, "0", "0", place)]

    def _fail(self, site: Site, at: str, room: str, root: str) -> list[str]:
        number = self._site(site)
        words = f"i64 %ktc.record, i64 %ktc.launch, i64 {number}, i64 {at}, i64 {room}, i64 {root}"
        return [f"  call void @{FAIL}({words})", "  unreachable"]

    def _site(self, site: Site) -> int:
        if site not in self.sites:
            self.sites.append(site)
        return self.sites.index(site)

    # ---- indices -------------------------------------------------------------------------------------------

    def _call(self, one: Instruction) -> None:
        place = self._place_of(one)
        if place is None:
            return
        values = one.values
        if one.callee.startswith("ktc.check.index"):
            self._index(one, place, self._named(values[0]), values[1:])
        elif one.callee == "ktc.check.range":
            # The library comes here only with an index that is outside.
            site = Site(place, 0, 1, ON_RANGE, self._named(values[2]) or "collection")
            self._branch(one, "false", self._fail(site, values[0], values[1], "0"))

    def _named(self, pointer: str) -> str:
        found = _GLOBAL.search(pointer)
        return self._texts.get(found.group(), "") if found else ""

    def _index(self, one: Instruction, place: Place, dtype: str, values: tuple[str, ...]) -> None:
        """`ktc.check.index(dtype, coordinates..., extents...)`: each has an extent of its own."""
        rank, right = len(values) // 2, "true"
        for axis in range(rank):
            inside, both = self._names(2)
            self._body.put_before(
                one,
                f"{inside} = icmp ult i64 {values[axis]}, {values[rank + axis]}",
                f"{both} = and i1 {right}, {inside}",
            )
            right = both
        self.has_index = True
        number = self._site(Site(place, 0, 1, ON_INDEX, dtype or "numbers"))
        listed = ", ".join([f"i64 {value}" for value in (*values, *["0"] * (NUMBERS - len(values)))])
        words = f"i64 %ktc.record, i64 %ktc.launch, i64 {number}, i64 {rank}, {listed}"
        self._branch(one, right, [f"  call void @{INDEX}({words})", "  unreachable"])

    # ---- text ----------------------------------------------------------------------------------------------

    def _branch(self, one: Instruction, right: str, wrong: list[str]) -> None:
        """Go on where a comparison is right, and else to code that stands at the function's end."""
        self._count += 1
        good, bad = f"ktc.right.{self._count}", f"ktc.bad.{self._count}"
        self._body.put_before(one, f"br i1 {right}, label %{good}, label %{bad}, !prof !{_WEIGHTS}")
        self._body.before[one.line].append(f"{good}:")
        self._cold += [f"{bad}:", *wrong]
        self._last[self._labels[one.block]] = good

    def _names(self, count: int) -> list[str]:
        return [self._body.fresh() for _ in range(count)]


_WEIGHTS = 19_000_000
"""Number of the metadata node that says how likely a right access is; those of the module are below."""
_WEIGHED = f'!{_WEIGHTS} = !{{!"branch_weights", i32 1000000, i32 1}}'
