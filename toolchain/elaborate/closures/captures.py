"""Closures: which variables a nested function uses, and the environments through which it reaches them.

A kernel has no function around it where it runs: what it captures becomes arguments, by value, and it makes the
environments itself.

An environment is an array of addresses in the frame of the function around: of variables, and of the environments of
other closures. It is passed as an argument. What stands in it is known when the nested function has been elaborated.
"""

from typing import Any

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.instances.instance_table import Instance
from ktc.elaborate.model.declarations import FnInfo, Scope, Var
from ktc.elaborate.model.values import KV, LV, FnVal
from ktc.elaborate.statements.blocks import Statements
from ktc.elaborate.tree.free_variables import first_use, free_names
from ktc.ir import nodes, ops, types
from ktc.ir.nodes import Value
from ktc.records import replace
from ktc.syntax import ast


class Closures(Statements):
    """The part of a body that reaches variables of the functions around it."""

    def captured(self, var: Var) -> LV | None:
        """Return a variable of an enclosing body through the environment; None where there is none."""
        if self.env_value is None or self.instance is None:
            return None
        around = self.instance.fn.parent
        while around is not None and around is not var.body:
            around = around.instance.fn.parent if around.instance is not None else None
        if around is None:
            return None
        pointer = self._from_environment(var)
        mutable = isinstance(var.value, LV) and var.value.mutable
        mutable = mutable and capture_mode(self.instance.fn, var.name) != "read"
        return LV(var.ty, pointer, mutable, why="" if mutable else f"'{var.name}', which is read only")

    def _from_environment(self, item: Var | FnInfo) -> Value:
        """Return the address that stands for a variable or a closure in this function's environment."""
        assert self.instance is not None and self.env_value is not None
        slots = self.instance.fn.parent.captures_of(self.instance.fn)
        if item not in slots:
            slots.append(item)
            if isinstance(item, Var) and isinstance(item.value, LV) and item.value.local is not None:
                item.value.local.is_shared = True
        at = ops.build("offset", (self.env_value, nodes.Const(types.I64, slots.index(item))), None, types.PTR)
        return self.let(nodes.Load(at, types.PTR), types.PTR)

    def copy_captures(self, fn: FnInfo) -> None:
        """Copy, where a nested function is declared, the variables that it captures by value.

        `@parameter` functions capture by reference what `@__copy_capture` does not name, `unified` ones as their list
        says, all others by value. The copies hide the variables from the nested function.
        """
        node = fn.node
        by_reference = fn.parameter or "capturing" in node.effects
        if self.dead or (by_reference and not fn.copied):
            return
        names = free_names(node)
        if by_reference:
            names = self._named_copies(fn)
        elif node.captures is not None:
            self._check_listed(fn, names)
            names = {name for name in names if capture_mode(fn, name) in ("var", "move")}
        copies: dict[str, Var] = {}
        aside: list[tuple[Var, LV]] = []
        for name in sorted(names):
            var = self.find(name)
            if isinstance(var, Var) and isinstance(var.value, LV) and var.value.why != "foreign":
                copies[name] = self._copy_of(var, fn, aside)
        for held, made in aside:
            assert isinstance(held.value, LV)
            self.init_moved(held.ty, held.value.pointer, made, fn.span())
            self.mark("init", replace(held.value, mutable=True))
        for held, _ in aside:  # what was copied ends after the moves
            var = self.find(held.name)
            if isinstance(var, Var) and isinstance(var.value, LV) and var.value.local is not None:
                self.emit(nodes.Mark("use", var.value.local))
        if copies:
            fn.scope = Scope(self.scope, "block", copies, body=self)

    def _named_copies(self, fn: FnInfo) -> set[str]:
        """Return the names in a function's `@__copy_capture`; report what is no variable."""
        names = set()
        for item in fn.copied:
            name = item.id if isinstance(item, ast.Name) else ""
            if not isinstance(self.find(name), Var):
                text = f"'@__copy_capture' names variables around '{fn.name}'" + (f", not '{name}'" if name else "")
                self.fail(Code.UNDEFINED_NAME, text, self.at(item))
            names.add(name)
        return names

    def _check_listed(self, fn: FnInfo, names: set[str]) -> None:
        """Report a variable that a function with a list of captures uses, and the list does not name."""
        for name in sorted(names):
            var = self.find(name)
            if isinstance(var, Var) and not isinstance(var.value, KV) and not capture_mode(fn, name):
                text = f"'{fn.name}' says in braces what it captures, and '{name}' is not there"
                at = self.at(first_use(fn.node, name))
                self.fail(Code.UNDEFINED_NAME, text, at, f"write 'read {name}', 'mut {name}' or 'var {name}' there")

    def _copy_of(self, var: Var, fn: FnInfo, aside: list[tuple[Var, LV]]) -> Var:
        """Return a captured variable's copy; one whose move can be seen is made aside, and moved with the others."""
        value = self.variable(var, fn.node)
        moved = capture_mode(fn, var.name) == "move" and isinstance(value, LV) and value.local is not None
        if not moved and not self.elab.is_copied_implicitly(var.ty):
            kind = self.elab.type_name(var.ty)
            text = f"'{fn.name}' captures '{var.name}' by value, and a '{kind}' cannot be copied implicitly"
            at = fn.span() if fn.node.captures is None else var.span
            self.fail(Code.NOT_COPYABLE, text, at, "mark it '@parameter' to capture by reference")
        local = self.local(self.elab.ir(var.ty), var.name, var.ty)
        fixed = fn.node.captures is not None or bool(fn.copied)
        place = LV(var.ty, nodes.LocalAddress(local), True, local)
        held = replace(place, mutable=not fixed, why="a copy for the closure, which is read only" if fixed else "")
        copy = Var(var.name, var.ty, held, fn.span(), "var", local, self)
        if not (moved or fixed or self.elab.is_trivial(var.ty) or self.elab.moves_plainly(var.ty)):
            first = self.local(self.elab.ir(var.ty), "", var.ty)
            made = LV(var.ty, nodes.LocalAddress(first), True, first, owned=True)
            self.copy_to(var.ty, made.pointer, self.place(value), fn.span())
            self.mark("init", made)
            aside.append((copy, made))
            return copy
        if moved:
            self.init_place(var.ty, place.pointer, replace(value, owned=True), fn.span())
        elif self.elab.is_trivial(var.ty):
            self.init_place(var.ty, place.pointer, value, fn.span())
        else:
            self.copy_to(var.ty, place.pointer, self.place(value), fn.span())
        self.mark("init", place)
        return copy

    def is_by_value(self, var: Var, fn: FnInfo) -> bool:
        """Does a nested function have a copy of a variable around it, or a value that cannot change."""
        if not isinstance(var.value, LV) or not var.value.mutable:
            return True
        if fn.parameter or "capturing" in fn.node.effects:
            return any(isinstance(item, ast.Name) and item.id == var.name for item in fn.copied)
        return capture_mode(fn, var.name) in ("var", "move")

    def captures_of(self, fn: FnInfo) -> list[Any]:
        """Return what a function nested in this body reaches through its environment; the list grows.

        It is one list for all targets, so that the host can give a kernel what the kernel turned out to use.
        """
        return self.closures.setdefault(fn, [])

    def captures_anything(self, env: FnVal) -> bool:
        """Does a nested function use variables around it."""
        self.elab.drain_closures()
        return bool(env.env.captures_of(env.set.functions[0]))

    def environment(self, env: FnVal, span: Span) -> Value:
        """Return the address of the environment of a closure."""
        return self._environment(env.set.functions[0], env.env, span)

    def _environment(self, fn: FnInfo, home: Any, span: Span) -> Value:
        known = self.env_args.get(fn)
        if known is not None:
            return known
        if home is not self:
            if self.comptime:  # there is none; what is asked at compile time is about types
                return nodes.Const(types.PTR, 0)
            if self.env_value is None:
                self.fail(Code.UNSUPPORTED, f"the closure '{fn.name}' cannot be reached from here", span)
            return self._from_environment(fn)
        self.elab.drain_closures()  # the closure's body tells what it captures
        slots = self.captures_of(fn)
        local = self.env_locals.get(fn)
        if local is None:
            local = self.env_locals[fn] = nodes.Local(self.fresh(), types.ArrayType(types.PTR, 1), "env", span=span)
            local.environment_of = fn.closure
            self.hoisted.append(nodes.Declare(local))
        pins: list[nodes.Local] = []
        done = 0
        while done < len(slots):  # reaching one may add others
            item = slots[done]
            if isinstance(item, FnInfo):
                pointer = self._environment(item, item.parent, span)
                pins += [pointer.local] if isinstance(pointer, nodes.LocalAddress) else []
            else:
                place = self.environment_place(item)
                pointer = place.pointer
                if item is not self.out_var and not self.module.is_library:
                    self.require_captured(place, span)
                if place.local is not None:
                    pins.append(place.local)
                elif place.loans is None:
                    local.pins_all = True
                else:
                    pins += place.loans
            at = ops.build("offset", (nodes.LocalAddress(local), nodes.Const(types.I64, done)), None, types.PTR)
            self.emit(nodes.Store(at, pointer, span=span))
            done += 1
        local.type = types.ArrayType(types.PTR, max(1, len(slots)))
        local.pins = tuple(dict.fromkeys((*local.pins, *pins)))
        return nodes.LocalAddress(local)

    def require_captured(self, place: LV, span: Span) -> None:
        """What a closure captures must be there when the closure is used."""
        local = place.local
        if local is not None and local.name and self.tracked(local) and local not in self.trusted:
            self.emit(nodes.Mark("require", local, place.path, span))

    def environment_place(self, var: Var) -> LV:
        """Return the place of a variable that a closure captures."""
        if var.body is self:
            place: LV = self.place(var.value)
            return place
        found = self.captured(var)
        assert found is not None
        return found

    # ---- kernels ----

    def kernel_environments(self, instance: Instance, argument: Any) -> list[nodes.Statement]:
        """Make the environments of a kernel from arguments of its own, one for each value that is captured.

        Returns:
            What stands before the kernel's body.
        """
        self.elab.drain_closures()
        made: dict[FnInfo, nodes.Local] = {}
        self.dead = False
        self.open()
        for env in instance.envs:
            self._kernel_environment(env.set.functions[0], made, argument)
        return list(self.close())

    def _kernel_environment(self, fn: FnInfo, made: dict[FnInfo, nodes.Local], argument: Any) -> nodes.Local:
        known = made.get(fn)
        if known is not None:
            return known
        slots = fn.parent.captures_of(fn)
        local = self.env_locals.get(fn) or nodes.Local(self.fresh(), types.PTR, "env")
        local.type = types.ArrayType(types.PTR, max(1, len(slots)))
        made[fn] = local
        self.emit(nodes.Declare(local))
        for i, item in enumerate(slots):
            if isinstance(item, FnInfo):
                held = self._kernel_environment(item, made, argument)
            else:
                kind = self.elab.ir(item.ty)
                held = nodes.Local(self.fresh(), kind, item.name)
                self.emit(nodes.Declare(held))
                if self.elab.abi(item.ty) == "memory":
                    self._copy_whole(held, kind, argument(item.name, types.PTR))
                elif types.size_of(kind):
                    self.emit(nodes.Store(nodes.LocalAddress(held), argument(item.name, kind)))
            at = ops.build("offset", (nodes.LocalAddress(local), nodes.Const(types.I64, i)), None, types.PTR)
            self.emit(nodes.Store(at, nodes.LocalAddress(held)))
        return local

    def _copy_whole(self, held: nodes.Local, kind: types.Type, value: Any) -> None:
        """Copy what the launch passes by its address: the kernel may change its own."""
        self.whole_captures[value.index] = kind
        size = nodes.Const(types.I64, types.size_of(kind))
        self.emit(nodes.MemCopy(nodes.LocalAddress(held), value, size, types.align_of(kind)))

    def environment_local(self, fn: FnInfo) -> Value:
        """Return the place of an environment that a kernel makes itself."""
        local = self.env_locals[fn] = nodes.Local(self.fresh(), types.PTR, "env")
        return nodes.LocalAddress(local)

    def finish_closures(self) -> tuple[nodes.Statement, ...]:
        """Finish the body."""
        return self.finish()


def capture_mode(fn: FnInfo, name: str) -> str:
    """Return how a nested function captures a variable: as its list says, else "var"; "" where the list has no word."""
    if fn.node.captures is None:
        return "var"
    modes = {one: mode for mode, one in fn.node.captures}
    return modes.get(name, modes.get("", ""))
