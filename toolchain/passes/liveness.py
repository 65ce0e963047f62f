"""Which locals a statement uses, also through pointers that were made from their addresses.

Input: statements, one by one in program order, and a `SlotTable` of the locals that are destroyed. Output: for each the
`Effect` on liveness and on who holds a value. A temp with a pointer in it whose `Let` mentions a local is derived from
that local: using the temp uses the local. A use of a local also uses the locals that it keeps alive. Bit 0 stands for
"every local in scope" and never leaves this module.
"""

from collections.abc import Sequence

from ktc.ir.nodes import Argument, Declare, Let, Local, LocalAddress, Mark, Op, Return, Statement, Temp, Value
from ktc.ir.types import has_pointer
from ktc.ir.walk import operands
from ktc.passes.flow import Effect
from ktc.passes.slots import Slots, SlotTable

FIRST_BIT = 1
_ALL = 1


class Uses:
    """Follows one function's statements; `of` is what `flow.build` asks, `enter` and `leave` are its scopes.

    `last_temp` and `last_local` are the highest ids met.
    """

    def __init__(self, table: SlotTable, declared: frozenset[Local]) -> None:
        self.table = table
        self.derived: dict[int, tuple[int, ...]] = {}
        self.masks: dict[Local, int] = {}
        # A local without `Declare` is in scope everywhere.
        self.scope = sum(row.mask for local, row in table.rows.items() if local not in declared)
        self.last_temp = self.last_local = 0
        self.behind = {local.at.index: local for local in table.rows if local.at is not None}
        self.divided = list(dict.fromkeys(mask for row in table.rows.values() for mask in linked_bits(row)))
        self.is_caller_owned = sum(row.mask for local, row in table.rows.items() if local.is_caller_owned)

    def enter(self) -> object:
        """Begin a scope."""
        return self.scope

    def leave(self, scope: object) -> None:
        """End the scope that `enter` began."""
        assert isinstance(scope, int)
        self.scope = scope

    def of(self, statement: Statement) -> Effect | None:
        """Return a statement's effect, None if it has none."""
        match statement:
            case Declare(local):
                return self.declare(local)
            case Mark():
                return self.mark(statement)
            case Return():
                # No use: the value is computed, and what it was made from is destroyed before leaving.
                return Effect(use=self.is_caller_owned) if self.is_caller_owned else None
        found = self.mentions(operands(statement))
        if isinstance(statement, Let) and statement.temp is not None:
            self.last_temp = max(self.last_temp, statement.temp.id)
            if found and has_pointer(statement.temp.type):
                self.derived[statement.temp.id] = found
        return self.use(found)

    def use(self, found: tuple[int, ...]) -> Effect | None:
        """Return the effect of using these sets in this order."""
        if not found:
            return None
        mask = 0
        for one in found:
            mask |= one
        return Effect(use=self.in_scope(mask), keep=self.wholes(mask), mentioned=found)

    def wholes(self, mask: int) -> int:
        """Return the bits of the locals of which the mask names parts that live and die with the whole."""
        found = 0
        for row_mask in self.divided:
            if mask & row_mask:
                found |= row_mask
        return found

    def in_scope(self, mask: int) -> int:
        """Replace the bit for everything by every local that is in scope now."""
        return (mask & ~_ALL) | self.scope if mask & _ALL else mask

    def declare(self, local: Local) -> Effect | None:
        """Return the effect of a declaration, and take the local into the scope."""
        self.last_local = max(self.last_local, local.id)
        row = self.table.get(local)
        if row is None:
            return None
        self.scope |= row.mask
        return Effect(kill=row.mask, lose=row.mask)

    def mark(self, mark: Mark) -> Effect | None:
        """Return the effect of a mark."""
        self.last_local = max(self.last_local, mark.local.id)
        row = self.table.get(mark.local)
        if mark.kind in ("require", "result", "copied"):
            return None
        if row is None:
            return self.use((self.mask(mark.local),)) if mark.kind in ("use", "consume") else None
        bits, pinned = row.at(mark.path), self.in_scope(self.mask(mark.local) & ~row.mask)
        whole = bits | self.wholes(bits)
        kind = mark.kind if row.is_exact(mark.path) or mark.kind == "consume" else "use"
        match kind:
            case "init":
                # Its destructor may look at what it points to, even if nothing else uses the value. The init does not
                # end the life of an older value (`overwrite` does that): what fills the place would look like a use.
                # A value that dies as a whole is kept alive by its only field.
                kept = whole if mark.path and self.wholes(bits) == bits else whole & ~bits
                return Effect(use=pinned & ~row.mask, keep=kept, gain=bits)
            case "consume":
                return Effect(use=bits | pinned, keep=whole & ~bits, lose=bits, mentioned=(whole,))
            case "copy":
                return Effect(use=bits | pinned, keep=whole & ~bits)
            case "overwrite" if not mark.path or not self.wholes(bits):
                return Effect(kill=bits)
            case "overwrite":
                # A field of a whole that lives on: when it dies depends on all of it (`flow.replaced_early`).
                # A value that is taken apart, but must die as a whole, waits until it is replaced.
                waits = any(part.bound and row.at(part.path) & bits for part in row.local.parts)
                return Effect(use=bits if waits and bits.bit_count() > 1 else 0, lead=bits)
        return Effect(use=whole | pinned, mentioned=(whole,))

    def mentions(self, values: Sequence[Value]) -> tuple[int, ...]:
        """Return the sets that the values mention, in the order of mention; a shared operation is visited once."""
        found: list[int] = []
        seen: set[int] = set()
        stack = list(reversed(values))
        while stack:
            value = stack.pop()
            match value:
                case LocalAddress(local):
                    found.append(self.address(local, ()))
                case Argument(index):
                    if index in self.behind:
                        found.append(self.address(self.behind[index], ()))
                case Temp(id_):
                    found.extend(self.derived.get(id_, ()))
                case Op("field") if (place := self.field_of(value)) is not None:
                    found.append(self.address(*place))
                case Op(_, args) if args and id(value) not in seen:
                    seen.add(id(value))
                    stack += reversed(args)
        return tuple(filter(None, found))

    def field_of(self, value: Value) -> tuple[Local, tuple[tuple[object, int], ...]] | None:
        """Return the local in which the address of a field lies, and the steps to it; None if it lies in none."""
        steps: list[tuple[object, int]] = []
        while isinstance(value, Op) and value.name == "field" and isinstance(value.attr, tuple):
            steps.append((value.attr[0], value.attr[1]))
            value = value.args[0]
        if isinstance(value, Argument):
            behind = self.behind.get(value.index)
            return None if behind is None else (behind, tuple(reversed(steps)))
        return (value.local, tuple(reversed(steps))) if isinstance(value, LocalAddress) else None

    def address(self, local: Local, steps: tuple[tuple[object, int], ...]) -> int:
        """Return the bits to which the address of a local, or of one of its fields, refers."""
        self.last_local = max(self.last_local, local.id)
        mask, row = self.mask(local), self.table.get(local)
        if not steps or row is None or not row.by_field:
            return mask
        bits = row.at((steps[0][1],))
        for part in local.parts:  # all that the address lies in, and the innermost of these
            if part.steps == steps[: len(part.steps)]:
                bits &= row.at(part.path)
        return (mask & ~row.mask) | bits if bits else mask

    def mask(self, local: Local) -> int:
        """Return the bits of a local and of the locals that it keeps alive, directly or indirectly."""
        known = self.masks.get(local)
        if known is not None:
            return known
        mask, seen, pending = 0, {local}, [local]
        while pending:
            one = pending.pop()
            row = self.table.get(one)
            mask |= (row.mask if row else 0) | (_ALL if one.points_to_all else 0)
            fresh = [other for other in one.points_to if other not in seen]
            seen.update(fresh)
            pending += fresh
        self.masks[local] = mask
        return mask


def linked_bits(row: Slots) -> tuple[int, ...]:
    """Return the sets of bits that live and die together: all where there is a destructor of the whole, else those of
    a field that is taken apart itself."""
    if not row.by_field:
        return ()
    if row.local.drop:
        return (row.mask,)
    groups = (row.at((i,)) for i in dict.fromkeys(path[0] for path in row.paths))
    return tuple(group for group in groups if group.bit_count() > 1)
