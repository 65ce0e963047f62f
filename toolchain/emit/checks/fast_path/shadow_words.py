"""Who had memory: words for granules of it, and a thread's reads and writes of them (`screen`)."""

from collections.abc import Callable

from ktc.base.records import record
from ktc.emit.checks import check_locations as kinds
from ktc.emit.checks.body import Body
from ktc.emit.checks.memory import Access, lifetime_of
from ktc.emit.checks.pointers import Pointers
from ktc.emit.llvm_text.instructions import Instruction


@record
class Words:
    """The words of an access's granules.

    Args:
        place: the pointer to the first. count: how many there are. size: the access's bytes.
        me: the value that the thread writes there. floor: lower values are out of date.
        readers: the value for several threads that read, "" if this access writes.
        is_atomic: all atomics write the same.
    """

    place: str
    count: int
    size: int
    me: str
    floor: str
    readers: str = ""
    is_atomic: bool = False


class ShadowWords:
    """The tests of one kernel's function that need words of granules, and shadows of arrays on the stack.

    Args:
        names: gives so many names that nothing has.
        remember: puts before an instruction that a condition has to hold.
    """

    def __init__(
        self,
        body: Body,
        pointers: Pointers,
        names: Callable[[int], list[str]],
        remember: Callable[[Instruction, str, str], None],
    ) -> None:
        self._body, self._pointers, self._names, self._remember = body, pointers, names, remember
        self.shadows: dict[str, str] = {}
        """By array on the stack, what of it is set."""

    # ---- words ---------------------------------------------------------------------------------------------

    def must_be_set(self, one: Instruction, place: str, count: int) -> None:
        words, known, is_set = "i32" if count == 1 else f"<{count} x i32>", *self._names(2)
        self._body.put_before(
            one,
            f"{known} = load {words}, ptr {place}, align 4",
            f"{is_set} = icmp ne {words} {known}, {'0' if count == 1 else 'zeroinitializer'}",
        )
        self._remember(one, self._all(one, is_set, count), "")

    def set(self, one: Instruction, place: str, count: int, value: str) -> None:
        words, value = self._spread(one, value, count)
        self._body.put_before(one, f"store {words} {value}, ptr {place}, align 4")

    def claim(self, one: Instruction, words: Words, stride: int | None) -> None:
        """Have granules: no other thread may have had them since `words.floor`, but for readers where this is one.

        Args:
            stride: how far apart the accesses of neighbouring threads are, in bytes; None where that is not known.
        """
        body, place, count = self._body, words.place, words.count
        shares = words.is_atomic or (words.readers and stride == 0)
        me = words.readers if words.readers and stride == 0 else words.me
        if not shares and (stride is None or abs(stride) < words.size):
            # Neighbours side by side in a vector could have the same one: one after the other, then.
            address, bad, is_right = self._names(3)
            body.put_before(
                one,
                f"{address} = ptrtoint ptr {place} to i64",
                f"{bad} = call i32 @__ktc_check_claim(i64 {address}, i32 {me}, i32 {words.floor}, i32 "
                f"{words.readers or 0}, i32 {count})",
                f"{is_right} = icmp eq i32 {bad}, 0",
            )
            self._remember(one, is_right, "")
            return
        kind, own = self._spread(one, me, count)
        _, low = self._spread(one, words.floor, count)
        bits = "i1" if count == 1 else f"<{count} x i1>"
        known, is_old, is_own, is_right = self._names(4)
        body.put_before(
            one,
            f"{known} = load {kind}, ptr {place}, align 4",
            f"{is_old} = icmp ult {kind} {known}, {low}",
            f"{is_own} = icmp eq {kind} {known}, {own}",
            f"{is_right} = or {bits} {is_old}, {is_own}",
        )
        if words.readers and not shares:
            _, several = self._spread(one, words.readers, count)
            is_read, either, kept = self._names(3)
            body.put_before(
                one,
                f"{is_read} = icmp eq {kind} {known}, {several}",
                f"{either} = or {bits} {is_right}, {is_read}",
                f"{kept} = select {bits} {is_read}, {kind} {several}, {kind} {own}",
            )
            own, is_right = kept, either
        body.put_before(one, f"store {kind} {own}, ptr {place}, align 4")
        self._remember(one, self._all(one, is_right, count), "")

    def _spread(self, one: Instruction, value: str, count: int) -> tuple[str, str]:
        """Return the type and the value of so many equal words."""
        if count == 1:
            return "i32", value
        kind, first, every = f"<{count} x i32>", *self._names(2)
        self._body.put_before(
            one,
            f"{first} = insertelement {kind} poison, i32 {value}, i64 0",
            f"{every} = shufflevector {kind} {first}, {kind} poison, <{count} x i32> zeroinitializer",
        )
        return kind, every

    def _all(self, one: Instruction, bits: str, count: int) -> str:
        """Return whether all bits are set."""
        if count == 1:
            return bits
        whole, is_right = self._names(2)
        self._body.put_before(
            one,
            f"{whole} = bitcast <{count} x i1> {bits} to i{count}",
            f"{is_right} = icmp eq i{count} {whole}, -1",
        )
        return is_right

    # ---- arrays on the stack -------------------------------------------------------------------------------

    def shade_arrays(self) -> None:
        """Give each array whose accesses are all seen a shadow: for each byte one that says whether it is set."""
        body = self._body
        for root, size in self._pointers.arrays.items():
            if not size or self._pointers.escapes(root):
                continue
            shadow = self.shadows[root] = body.fresh()
            body.at_entry.append(f"  {shadow} = alloca [{size} x i8], align 16")
            body.at_entry.append(f"  call void @llvm.memset.p0.i64(ptr {shadow}, i8 0, i64 {size}, i1 false)")
        for one in body.instructions:
            root = lifetime_of(one)
            if root in self.shadows:
                shadow, size = self.shadows[root], self._pointers.arrays[root]
                body.put_after(one, f"call void @llvm.memset.p0.i64(ptr {shadow}, i8 0, i64 {size}, i1 false)")

    def access_array(self, one: Instruction, access: Access, root: str) -> None:
        body, shadow, size = self._body, self.shadows[root], access.size
        address, start, offset, states = self._names(4)
        body.put_before(
            one,
            f"{address} = ptrtoint ptr {access.pointer} to i64",
            f"{start} = ptrtoint ptr {root} to i64",
            f"{offset} = sub i64 {address}, {start}",
            f"{states} = getelementptr i8, ptr {shadow}, i64 {offset}",
        )
        if access.flags & kinds.WRITE:
            body.put_before(one, f"call void @llvm.memset.p0.i64(ptr {states}, i8 1, i64 {size}, i1 false)")
            return
        known, bits, is_right = self._names(3)
        every = int.from_bytes(bytes([1]) * size, "little")
        body.put_before(
            one,
            f"{known} = load i{8 * size}, ptr {states}, align 1",
            f"{bits} = xor i{8 * size} {known}, {every}",
            f"{is_right} = icmp eq i{8 * size} {bits}, 0",
        )
        self._remember(one, is_right, "")
