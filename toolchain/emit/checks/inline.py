"""Bounds alone (`--check=bounds`): tests in the kernel's own code, which stays loops over threads, made vectors.

Input: a kernel of the CPU device, whole, before it is cut into loops. Output: the same with a comparison before each
access; an access that is outside is left out, and the thread remembers the place of the first one. When it ends it
writes that to its row of a table (`stdlib/_check/found.kpy`), which the library looks through when the launch has
ended. There is no call and no way out of a loop, so nothing hinders the vectoriser; where a pointer's memory begins and
how long it is say functions without side effects, once for what all threads have alike.
"""

from ktc.emit.checks import check_locations as kinds
from ktc.emit.checks.body import Body, with_last_parts
from ktc.emit.checks.check_locations import CheckLocations
from ktc.emit.checks.instrument import Nearest, constants_of, expanded
from ktc.emit.checks.layout import size_of
from ktc.emit.checks.memory import Access, access_of, copy_of
from ktc.emit.checks.pointers import CheckedFunction, Pointers, step_of, unwatched_of, variables_of
from ktc.emit.checks.source_locations import Place, SourceLocations
from ktc.emit.llvm_text.instructions import Instruction
from ktc.emit.llvm_text.modules import Module

INDEX, RANGE, SHARED, ARRAY, MISALIGNED = 128, 256, 512, 1024, 2048
"""Flags of a check's location: the kind of mistake, if it is not an access to a buffer."""
ALIGN_SHIFT = 16
"""Where in the flags the alignment of an access to a buffer is, as a power of two."""
THREADS = 1024
"""Rows of the table: a site's number and, from bit 16 on, that of the block; after them the sites' table's address."""

_SITES = "@ktc.sites"
_TABLE = '@"var$ktc.check.found"'
DECLARED = (
    "declare i64 @__ktc_check_start(i64) nounwind willreturn speculatable memory(none)",
    "declare i64 @__ktc_check_size(i64) nounwind willreturn speculatable memory(none)",
    "declare i64 @__ktc_check_added() nounwind willreturn speculatable memory(none)",
    "declare i64 @llvm.usub.sat.i64(i64, i64)",
)
"""Functions of the library without side effects."""
_TABLE_DECLARED = f"{_TABLE} = external hidden global [{THREADS + 1} x i64], align 8"
_OWN = "%ktc.right."


def with_bounds(text: str, kernel: str, machine: object) -> str:
    """Return a marked kernel with its bounds tested.

    Args:
        text: LLVM's text with the lines of the program. kernel: its symbol. machine: LLVM's target machine.
    """
    variables, unwatched = variables_of(text), unwatched_of(text)
    module = Module(expanded(text, True, machine))
    at = module.place_of(f"{kernel}.body")
    body, sites = Body(module.at(at)), CheckLocations()
    places = Nearest(body, SourceLocations(module.nodes()))
    pointers = Pointers(body, constants_of(module), unwatched)
    module.entities[at] = Tests(CheckedFunction(body, pointers, places.of), sites, variables).text()
    # The kernel's entry says where its sites are, after the table's rows.
    place = f"getelementptr (i8, ptr {_TABLE}, i64 {8 * THREADS})"
    module.begin(kernel, [f"  store ptr {_SITES}, ptr {place}, align 8"])
    module.drop_declarations(is_marker)
    module.add([*sites.text(), sites.table(_SITES), *DECLARED, _TABLE_DECLARED])
    return module.text()


def is_marker(symbol: str) -> bool:
    """Return whether a function is one of those that `codegen` calls where something is to be looked at."""
    return symbol.startswith("ktc.check.")


class Tests:
    """One kernel's function."""

    def __init__(
        self,
        function: CheckedFunction,
        sites: CheckLocations,
        variables: list[tuple[int, int]],
    ) -> None:
        self._body, self._pointers, self._place_of = function.body, function.pointers, function.place_of
        self._sites = sites
        self._variables = variables
        self._labels = function.body.labels
        self._last: dict[str, str] = {}
        self._extents: dict[str, tuple[str, str, str]] = {}
        self._count = 0

    def text(self) -> str:
        """Return the function with its tests."""
        body = self._body
        self._begin()
        for one in list(body.instructions):
            place = self._place_of(one)
            if one.op == "ret":
                self._leave(one)
            elif one.op == "call":
                if place is not None:
                    self._call(one, place)
                elif is_marker(one.callee):  # in a function of the library that is looked at by itself
                    body.replaced[one.line] = ""
            elif place is not None and (access := access_of(one)) is not None:
                self._access(one, access, place)
        return with_last_parts(body.text(), self._last, [_OWN])

    # ---- what is tested ------------------------------------------------------------------------------------

    def _access(self, one: Instruction, access: Access, place: Place) -> None:
        pointer, root = access.pointer, self._pointers.root(access.pointer)
        if (
            self._pointers.is_unwatched(root)
            or self._pointers.is_constant(root)
            or (self._pointers.alloca(root) and root not in self._pointers.arrays)
        ):
            return
        checks_align = access.align > 1 and root not in self._pointers.arrays
        steps = checks_align and self._keeps_alignment(pointer, root, access.align)
        flags = access.flags | (access.align.bit_length() - 1) << ALIGN_SHIFT
        is_right = self._within(one, pointer, str(access.size), flags, place, access.align if steps else 1)
        if checks_align and not steps:
            low, is_even, both = self._names(3)
            address = self._number(one, pointer)
            self._body.put_before(
                one, f"{low} = and i64 {address}, {access.align - 1}", f"{is_even} = icmp eq i64 {low}, 0"
            )
            self._remember(one, is_even, self._sites.at(place, access.size, access.align, access.flags | MISALIGNED))
            self._body.put_before(one, f"{both} = and i1 {is_right}, {is_even}")
            is_right = both
        self._guard(one, is_right)

    def _keeps_alignment(self, pointer: str, root: str, align: int) -> bool:
        """Return whether a pointer is as aligned as the one that it was computed from."""
        while pointer != root:
            one = self._body.defined.get(pointer)
            step = step_of(one) if one is not None and one.op == "getelementptr" else None
            if step is None:
                return False
            distance = step.distance
            if (distance is None and (len(step.indices) > 1 or size_of(step.kind) % align)) or (distance or 0) % align:
                return False
            pointer = step.base
        return True

    def _within(self, one: Instruction, pointer: str, count: str, flags: int, place: Place, align: int = 1) -> str:
        """Remember bytes that are outside; return whether they are inside.

        Args:
            count: how many bytes, a number or a value. align: what the memory's pointer has to be a multiple of.
        """
        body, root = self._body, self._pointers.root(pointer)
        size_of_variable = self._pointers.arrays.get(root)
        flags |= ARRAY if size_of_variable is not None else 0
        shared, inside = self._pointers.shared_offset(root), 0
        if shared is not None:
            inside, size_of_variable = self._variable(shared)
            flags |= SHARED
        address, distance, offset, room, some, is_right = self._number(one, pointer), *self._names(5)
        before, origin, is_even = str(inside), 0, "true"
        if size_of_variable:
            start, size = self._number(one, root), str(size_of_variable)
        elif shared is not None:
            start, size = self._number(one, root), self._names(1)[0]
            body.put_before(one, f"{size} = call i64 @__ktc_check_added()")
        else:
            start, before, size = self._extent(one, root)
            origin = self._pointers.argument_of(root)
            if align > 1:
                low, is_even = self._names(2)
                body.put_before(one, f"{low} = and i64 {start}, {align - 1}", f"{is_even} = icmp eq i64 {low}, 0")
        bytes_ = int(count) if count.isdigit() else 1
        site = self._sites.at(place, bytes_, origin, flags)
        if count.isdigit():
            body.put_before(one, f"{some} = call i64 @llvm.usub.sat.i64(i64 {size}, i64 {max(bytes_ - 1, 0)})")
        else:
            less = self._names(1)[0]
            body.put_before(
                one,
                f"{less} = call i64 @llvm.usub.sat.i64(i64 {count}, i64 1)",
                f"{some} = call i64 @llvm.usub.sat.i64(i64 {size}, i64 {less})",
            )
        body.put_before(
            one,
            f"{distance} = sub i64 {address}, {start}",
            f"{offset} = add i64 {distance}, {before}",
            f"{room} = icmp ult i64 {offset}, {some}",
        )
        if count.isdigit():
            body.put_before(one, f"{is_right} = and i1 {is_even}, {room}")
        else:
            none = self._names(1)[0]
            body.put_before(one, f"{none} = icmp eq i64 {count}, 0", f"{is_right} = or i1 {none}, {room}")
        self._remember(one, is_right, site)
        return is_right

    def _variable(self, offset: int) -> tuple[int, int]:
        """Return how far in its variable a place in shared memory is, and the variable's bytes; 0: the launch's."""
        for at, size in self._variables:
            if at <= offset < at + size:
                return offset - at, size
        return offset - max([at for at, size in self._variables if not size], default=offset), 0

    def _extent(self, one: Instruction, root: str) -> tuple[str, str, str]:
        """Return a pointer as a number, how far it is in its memory, and how long that is."""
        body = self._body
        if root in self._extents:
            return self._extents[root]
        number, start, before, size = self._names(4)
        lines = [
            f"{number} = ptrtoint ptr {root} to i64",
            f"{start} = call i64 @__ktc_check_start(i64 {number})",
            f"{before} = sub i64 {number}, {start}",
            f"{size} = call i64 @__ktc_check_size(i64 {number})",
        ]
        if root.startswith("%") and root not in body.defined:
            self._extents[root] = number, before, size
            dbg = f", !dbg {one.dbg}" if one.dbg else ""
            body.at_entry += [f"  {line}{dbg if 'call ' in line else ''}" for line in lines]
        else:
            body.put_before(one, *lines)
        return number, before, size

    def _call(self, one: Instruction, place: Place) -> None:
        if copies := copy_of(one):
            self._copy(one, place, copies)
        elif one.callee.startswith("ktc.check.index"):
            self._index(one, place)
        elif one.callee == "ktc.check.range":
            # The library comes here only with an index that is outside.
            self._remember(one, "false", self._sites.at(place, 0, 1, RANGE))
        if is_marker(one.callee):
            self._body.replaced[one.line] = ""

    def _copy(self, one: Instruction, place: Place, word: str) -> None:
        arguments = one.values
        pieces = [(arguments[0], kinds.WRITE)] if word == "memset" else [(arguments[0], kinds.WRITE), (arguments[1], 0)]
        right = "true"
        for pointer, flags in pieces:
            root = self._pointers.root(pointer)
            if self._pointers.alloca(root) or self._pointers.is_constant(root):
                continue
            both = self._names(1)[0]
            inside = self._within(one, pointer, arguments[2], flags, place)
            self._body.put_before(one, f"{both} = and i1 {right}, {inside}")
            right = both
        if right != "true":
            self._guard(one, right)

    def _index(self, one: Instruction, place: Place) -> None:
        """`ktc.check.index(dtype, coordinates..., extents...)`: each has an extent of its own."""
        values = one.values[1:]
        rank, right = len(values) // 2, "true"
        for axis in range(rank):
            inside, both = self._names(2)
            self._body.put_before(
                one,
                f"{inside} = icmp ult i64 {values[axis]}, {values[rank + axis]}",
                f"{both} = and i1 {right}, {inside}",
            )
            right = both
        self._remember(one, right, self._sites.at(place, 0, 1, INDEX))

    # ---- what becomes of it --------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Where the thread begins, it has seen no mistake."""
        self._found = self._body.spill("i32")
        self._body.at_entry.append(f"  store i32 0, ptr {self._found}, align 4")

    def _remember(self, one: Instruction, is_right: str, site: str) -> None:
        """Keep the place of the thread's first mistake, without a branch."""
        was, is_none, kept, new = self._names(4)
        self._body.put_before(
            one,
            f"{was} = load i32, ptr {self._found}, align 4",
            f"{is_none} = icmp ne i32 {was}, 0",
            f"{kept} = or i1 {is_right}, {is_none}",
            f"{new} = select i1 {kept}, i32 {was}, i32 {self._sites.number(site)}",
            f"store i32 {new}, ptr {self._found}, align 4",
        )

    def _guard(self, one: Instruction, is_right: str) -> None:
        """Leave an access out that is not right."""
        body = self._body
        self._count += 1
        own = self._labels[one.block]
        before = self._last.get(own, own)
        then, join = f"{_OWN[1:]}{self._count}", f"ktc.joined.{self._count}"
        body.put_before(one, f"br i1 {is_right}, label %{then}, label %{join}")
        body.before[one.line].append(f"{then}:")
        tail = [f"  br label %{join}", f"{join}:"]
        access = access_of(one)
        if one.name and access is not None:
            kind = f"{{ {access.kind}, i1 }}" if one.op == "cmpxchg" else access.kind
            renamed = self._names(1)[0]
            body.replaced[one.line] = one.source.replace(f"  {one.name} = ", f"  {renamed} = ", 1)
            tail.append(f"  {one.name} = phi {kind} [ {renamed}, %{then} ], [ zeroinitializer, %{before} ]")
        body.after[one.line] = [*tail, *body.after.get(one.line, [])]
        self._last[own] = join

    def _leave(self, one: Instruction) -> None:
        """Write the thread's first mistake to its row of the table, where the thread ends."""
        body = self._body
        was, is_any, row, wide, high, both = self._names(6)
        self._count += 1
        tell, gone = f"ktc.tell.{self._count}", f"ktc.gone.{self._count}"
        body.put_before(
            one,
            f"{was} = load i32, ptr {self._found}, align 4",
            f"{is_any} = icmp ne i32 {was}, 0",
            f"br i1 {is_any}, label %{tell}, label %{gone}",
        )
        body.before[one.line].append(f"{tell}:")
        number = self._linear(one, ("%s0", "%s1", "%s2"), ("%s6", "%s7"))
        block = self._linear(one, ("%s3", "%s4", "%s5"), ("%s9", "%s10"))
        body.put_before(
            one,
            f"{row} = getelementptr i64, ptr {_TABLE}, i64 {number}",
            f"{wide} = zext i32 {was} to i64",
            f"{high} = shl i64 {block}, 16",
            f"{both} = or i64 {high}, {wide}",
            f"store i64 {both}, ptr {row}, align 8",
            f"br label %{gone}",
        )
        body.before[one.line].append(f"{gone}:")

    def _linear(self, one: Instruction, indices: tuple[str, str, str], extents: tuple[str, str]) -> str:
        rows, row, before, number, wide = self._names(5)
        self._body.put_before(
            one,
            f"{rows} = mul i32 {indices[2]}, {extents[1]}",
            f"{row} = add i32 {rows}, {indices[1]}",
            f"{before} = mul i32 {row}, {extents[0]}",
            f"{number} = add i32 {before}, {indices[0]}",
            f"{wide} = zext i32 {number} to i64",
        )
        return wide

    # ---- text ----------------------------------------------------------------------------------------------

    def _names(self, count: int) -> list[str]:
        return [self._body.fresh() for _ in range(count)]

    def _number(self, one: Instruction, pointer: str) -> str:
        if pointer in ("null", "0"):
            return "0"
        name = self._body.fresh()
        self._body.put_before(one, f"{name} = ptrtoint ptr {pointer} to i64")
        return name
