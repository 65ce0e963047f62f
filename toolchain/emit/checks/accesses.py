"""Checks of accesses: of kernels to all memory but constants, of the host where a pointer comes from outside."""

from ktc.emit.checks import check_locations as kinds
from ktc.emit.checks.check_locations import CheckLocations
from ktc.emit.checks.layout import size_of
from ktc.emit.checks.memory import Access, access_of, copy_of, lifetime_of
from ktc.emit.checks.pointers import CheckedFunction
from ktc.emit.checks.source_locations import Place
from ktc.emit.checks.uninitialised import Uninitialised, byte_count, is_used, is_used_at_once
from ktc.emit.llvm_text.instructions import Instruction


class Accesses:
    """The accesses of one function."""

    def __init__(self, function: CheckedFunction, sites: CheckLocations, checks: tuple[str, ...]) -> None:
        self._body, self._pointers, self._place_of = function.body, function.pointers, function.place_of
        self._sites = sites
        self._follows = "memory" in checks
        self._shadows: dict[str, str] = {}
        self._reads: dict[str, str] = {}

    def check(self, is_kernel: bool) -> None:
        """Put the checks in."""
        body = self._body
        self._shade_arrays()
        found = [(one, access) for one in body.instructions if (access := access_of(one)) is not None]
        asks = {one.line: self._asks_at_once(one) for one, access in found if access.kind and one.op == "load"}
        for one, access in found:
            root = self._pointers.root(access.pointer)
            if one.op != "load" or asks[one.line] is not None or not self._is_followed(root, is_kernel):
                continue
            if self._follows and byte_count(access.kind) and not access.is_atomic and self._place_of(one) is not None:
                self._reads[one.name] = body.fresh()
        numbers = Uninitialised(body, self._reads)
        numbers.spread()
        for one, access in found:
            place = self._place_of(one)
            if place is None:
                continue
            root = self._pointers.root(access.pointer)
            if self._pointers.is_unwatched(root):
                self._check_value(one, access, place, numbers)
            elif root in self._pointers.arrays:
                self._check_array(one, access, root, place, numbers, bool(asks.get(one.line)))
            elif self._pointers.is_constant(root):
                self._check_constant(one, access, root, place)
            elif self._pointers.alloca(root):
                continue
            elif is_kernel:
                self._check_kernel(one, access, root, place, numbers, bool(asks.get(one.line)))
            else:
                self._check_host(one, access, root, place)
        for value, use in numbers.sinks():
            place = self._place_of(use)
            if place is not None:
                site = self._sites.at(place)
                body.put_before(use, f"call void @__ktc_check_use(i64 {numbers.of(value)}, ptr {site})")
        self._check_copies(is_kernel)

    def _check_value(self, one: Instruction, access: Access, place: Place, numbers: Uninitialised) -> None:
        """Look at what a write that is itself not looked at is given."""
        mask = numbers.of(access.value)
        if mask != "0":
            self._body.put_before(one, f"call void @__ktc_check_use(i64 {mask}, ptr {self._sites.at(place)})")

    def _is_followed(self, root: str, is_kernel: bool) -> bool:
        """Return whether what is read there may never have been written."""
        if root in self._pointers.arrays:
            return root in self._shadows
        if self._pointers.is_unwatched(root):
            return False
        return is_kernel and not self._pointers.alloca(root) and not self._pointers.is_constant(root)

    def _asks_at_once(self, one: Instruction) -> bool | None:
        """Return whether a read is computed with at once; None if nothing of it need be followed, or it is."""
        if not self._follows or not is_used(self._body, one):
            return False
        return True if is_used_at_once(self._body, one) else None

    # ---- kernels -------------------------------------------------------------------------------------------

    def _check_kernel(
        self, one: Instruction, access: Access, root: str, place: Place, numbers: Uninitialised, asks: bool
    ) -> None:
        body = self._body
        address, start = self._address(one, access.pointer), self._address(one, root)
        flags = access.flags | (kinds.MUST_BE_SET if asks else 0)
        if access.is_atomic:
            site = self._sites.at(place, access.size, access.align, flags)
            body.put_before(one, f"call void @__ktc_check_atomic(i64 {address}, i64 {start}, ptr {site})")
            changed = self._changed(one, access)
            body.put_after(one, f"call void @__ktc_check_atomic_done(ptr {site}, i64 {changed})")
        elif one.op == "load":
            site = self._sites.at(place, access.size, access.align, flags)
            name = self._reads.get(one.name) or body.fresh()
            body.put_before(one, f"{name} = call i64 @__ktc_check_read(i64 {address}, i64 {start}, ptr {site})")
        else:
            value, by_address = self._bits(one, access)
            site = self._sites.at(place, access.size, access.align, flags | by_address)
            mask = numbers.of(access.value)
            body.put_before(
                one,
                f"call void @__ktc_check_write(i64 {address}, i64 {start}, ptr {site}, i64 {value}, i64 {mask})",
            )

    def _address(self, one: Instruction, pointer: str) -> str:
        if pointer in ("null", "0"):
            return "0"
        name = self._body.fresh()
        self._body.put_before(one, f"{name} = ptrtoint ptr {pointer} to i64")
        return name

    def _bits(self, one: Instruction, access: Access) -> tuple[str, int]:
        """Return the written value as an i64, or its address, and the flag that tells which (`BY_ADDRESS`, else 0)."""
        body, kind, value, size = self._body, access.kind, access.value, access.size
        if kind == "ptr":
            return self._address(one, value), 0
        if size <= 8 and size & (size - 1) == 0 and "i1>" not in kind and kind[0] not in "[{":
            bits = value
            width = kind if kind[0] == "i" else f"i{8 * size}"
            if kind[0] != "i":
                bits = body.fresh()
                body.put_before(one, f"{bits} = bitcast {kind} {value} to {width}")
            if width == "i64":
                return bits, 0
            wide = body.fresh()
            body.put_before(one, f"{wide} = zext {width} {bits} to i64")
            return wide, 0
        place = body.spill(kind)
        body.put_before(one, f"store {kind} {value}, ptr {place}, align 1")
        return self._address(one, place), kinds.BY_ADDRESS

    def _changed(self, one: Instruction, access: Access) -> str:
        """Return whether an atomic has changed its number, as 0 or 1."""
        body = self._body
        if access.changes == "load":
            return "0"
        if access.changes == "cmpxchg":
            flag = body.fresh()
            body.put_after(one, f"{flag} = extractvalue {{ {access.kind}, i1 }} {one.name}, 1")
        elif access.changes == "xchg" and access.kind[0] == "i" and one.name:
            flag = body.fresh()
            body.put_after(one, f"{flag} = icmp ne {access.kind} {one.name}, {access.value}")
        else:
            return "1"
        wide = body.fresh()
        body.put_after(one, f"{wide} = zext i1 {flag} to i64")
        return wide

    # ---- the host ------------------------------------------------------------------------------------------

    def _check_host(self, one: Instruction, access: Access, root: str, place: Place) -> None:
        address, start = self._address(one, access.pointer), self._address(one, root)
        flags = access.flags & kinds.WRITE
        site = self._sites.at(place, access.size, access.align, flags)
        self._body.put_before(one, f"call void @__ktc_check_host(i64 {address}, i64 {start}, ptr {site})")

    # ---- arrays on the stack -------------------------------------------------------------------------------

    def _shade_arrays(self) -> None:
        """Give each array whose accesses are all seen a shadow: for each byte one that says whether it is set."""
        if not self._follows:
            return
        body = self._body
        for root, size in self._pointers.arrays.items():
            if size and not self._pointers.escapes(root):
                shadow = self._shadows[root] = body.fresh()
                body.at_entry.append(f"  {shadow} = alloca [{size} x i8], align 16")
                body.at_entry.append(f"  call void @llvm.memset.p0.i64(ptr {shadow}, i8 0, i64 {size}, i1 false)")
        for one in body.instructions:
            root = lifetime_of(one)
            if root in self._shadows:
                size = self._pointers.arrays[root]
                body.put_after(
                    one, f"call void @llvm.memset.p0.i64(ptr {self._shadows[root]}, i8 0, i64 {size}, i1 false)"
                )

    def _check_array(
        self, one: Instruction, access: Access, root: str, place: Place, numbers: Uninitialised, asks: bool
    ) -> None:
        body, size = self._body, self._pointers.arrays[root]
        address, start, offset = self._address(one, access.pointer), self._address(one, root), body.fresh()
        flags = access.flags | (kinds.MUST_BE_SET if asks else 0)
        site = self._sites.at(place, access.size, access.align, flags)
        body.put_before(
            one,
            f"{offset} = sub i64 {address}, {start}",
            f"call void @__ktc_check_local(i64 {offset}, i64 {size}, ptr {site})",
        )
        shadow = self._shadows.get(root)
        if shadow is None:
            return
        states = self._address(one, shadow)
        if one.op == "load":
            if not (asks or one.name in self._reads):
                return
            name = self._reads.get(one.name) or body.fresh()
            body.put_before(one, f"{name} = call i64 @__ktc_check_local_read(i64 {offset}, i64 {states}, ptr {site})")
        else:
            mask = numbers.of(access.value) if access.value else "0"
            call = f"call void @__ktc_check_local_write(i64 {offset}, i64 {states}, ptr {site}, i64 {mask})"
            body.put_before(one, call)

    def _check_constant(self, one: Instruction, access: Access, root: str, place: Place) -> None:
        size = self._pointers.constants[root]
        if not size or access.pointer == root:
            return
        body = self._body
        address, start, offset = self._address(one, access.pointer), self._address(one, root), body.fresh()
        site = self._sites.at(place, access.size, access.align, access.flags | kinds.CONSTANT)
        body.put_before(
            one,
            f"{offset} = sub i64 {address}, {start}",
            f"call void @__ktc_check_local(i64 {offset}, i64 {size}, ptr {site})",
        )

    # ---- whole pieces --------------------------------------------------------------------------------------

    def _check_copies(self, is_kernel: bool) -> None:
        for one in self._body.instructions:
            copies = copy_of(one)
            if not copies:
                continue
            arguments = list(one.values)
            if copies == "memset":
                self._set_array(one, arguments[0], arguments[2], "")
                pieces = [(arguments[0], kinds.WRITE)]
            else:
                self._set_array(one, arguments[0], arguments[2], arguments[1])
                pieces = [(arguments[0], kinds.WRITE), (arguments[1], 0)]
            if not is_kernel:
                self._check_host_pieces(one, pieces, arguments[2])
            elif len(pieces) == 1:
                self._check_fill(one, arguments)
            else:
                self._check_copy(one, arguments)

    def _check_host_pieces(self, one: Instruction, pieces: list[tuple[str, int]], count: str) -> None:
        place = self._place_of(one)
        for pointer, flags in pieces if place is not None else []:
            root = self._pointers.root(pointer)
            if place is not None and not self._pointers.alloca(root) and not self._pointers.is_constant(root):
                address, start, site = (
                    self._address(one, pointer),
                    self._address(one, root),
                    self._sites.at(place, 1, 1, flags),
                )
                call = f"call void @__ktc_check_host_bytes(i64 {address}, i64 {start}, i64 {count}, ptr {site})"
                self._body.put_before(one, call)

    def _check_fill(self, one: Instruction, arguments: list[str]) -> None:
        place, root = self._place_of(one), self._pointers.root(arguments[0])
        if place is None or self._pointers.alloca(root):
            return
        site = self._sites.at(place, 1, 1, kinds.WRITE)
        address, start = self._address(one, arguments[0]), self._address(one, root)
        call = f"call void @__ktc_check_fill(i64 {address}, i64 {start}, i64 {arguments[2]}, ptr {site})"
        self._body.put_before(one, call)

    def _check_copy(self, one: Instruction, arguments: list[str]) -> None:
        place = self._place_of(one)
        roots = [self._pointers.root(pointer) for pointer in arguments[:2]]
        ours = [bool(self._pointers.alloca(root)) or self._pointers.is_constant(root) for root in roots]
        if place is None or all(ours):
            return
        names = []
        for pointer, root, is_own in zip(arguments[:2], roots, ours, strict=True):
            names += [self._address(one, pointer), "0" if is_own else self._address(one, root)]
        write = self._sites.at(place, 1, 1, kinds.WRITE | kinds.BY_ADDRESS)
        read = self._sites.at(place, 1, 1, 0)
        listed = ", ".join([f"i64 {name}" for name in names])
        self._body.put_before(
            one, f"call void @__ktc_check_copy({listed}, i64 {arguments[2]}, ptr {read}, ptr {write})"
        )

    def _set_array(self, one: Instruction, target: str, count: str, source: str) -> None:
        """Set the shadow of an array on the stack after a copy: from its source's shadow, if that has one."""
        root = self._pointers.root(target)
        if root not in self._shadows:
            return
        body, shadow = self._body, self._shadows[root]
        place = self._address(one, target)
        base, start, at = self._address(one, root), body.fresh(), body.fresh()
        body.put_before(
            one, f"{start} = sub i64 {place}, {base}", f"{at} = getelementptr i8, ptr {shadow}, i64 {start}"
        )
        origin = self._shadows.get(self._pointers.root(source)) if source else None
        is_fresh = source and self._is_never_set(self._pointers.root(source))
        if origin == shadow:
            return
        if origin is not None:
            where, low, far, began = self._address(one, source), body.fresh(), body.fresh(), self._pointers.root(source)
            other = self._address(one, began)
            body.put_before(
                one,
                f"{low} = sub i64 {where}, {other}",
                f"{far} = getelementptr i8, ptr {origin}, i64 {low}",
                f"call void @llvm.memcpy.p0.p0.i64(ptr {at}, ptr {far}, i64 {count}, i1 false)",
            )
        else:
            body.put_before(
                one, f"call void @llvm.memset.p0.i64(ptr {at}, i8 {0 if is_fresh else 1}, i64 {count}, i1 false)"
            )

    def _is_never_set(self, root: str) -> bool:
        """Return whether a local is only ever copied from: it stands for a value that is not set."""
        if not self._pointers.alloca(root) or not size_of(self._pointers.alloca(root)):
            return False
        for use in self._body.uses.get(root, ()):
            is_copied = copy_of(use) in ("memcpy", "memmove") and use.values[1] == root
            if not is_copied and not use.callee.startswith("llvm.lifetime."):
                return False
        return True
