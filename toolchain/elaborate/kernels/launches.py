"""Kernels of other targets and what they capture, and the other services that primitives ask of a body."""

import re
from typing import Any

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.closures.captures import Closures
from ktc.elaborate.instances.instance_table import TARGETS_TABLE, ArgSig, Instance, OfProgram, UnitState
from ktc.elaborate.model.call_locations import arguments_start
from ktc.elaborate.model.declarations import AliasInfo, FnInfo, Var
from ktc.elaborate.model.values import KV, RV, FnVal, StructTy, Ty, Val, show
from ktc.ir import nodes, ops, types
from ktc.ir.nodes import Value
from ktc.targets.target import Target

CONSTANT_SPACE = 4
"""The language's address space of memory that only a launch writes."""

IMAGE_KINDS = ("asm", "llvm", "llvm-opt", "object", "image")


class KernelBody(Closures):
    """The part of a body that reaches other functions as values, and other targets."""

    # ---- functions as addresses ----

    def function_address(self, fn: FnVal, span: Span) -> Value:
        """Return the address of a function."""
        instance = self.elab.instance_of(fn, span, self)
        if instance.signature.raises or instance.signature.through_memory:
            self.fail(Code.UNSUPPORTED, f"'{instance.fn.name}' cannot be called through its address", span)
        self.elab.request(instance)
        self.refs.add(instance.symbol)
        return nodes.GlobalAddress(instance.symbol)

    def function_environment(self, fn: FnVal, span: Span) -> Value:
        """Return the address of a closure's environment, which its function takes after its own arguments."""
        instance = self.elab.instance_of(fn, span, self)
        if len(instance.envs) > 1:
            self.fail(Code.UNSUPPORTED, f"'{instance.fn.name}' needs more than one environment", span)
        return self.environment(instance.envs[0], span) if instance.envs else nodes.Const(types.PTR, 0)

    # ---- kernels ----

    def _kernel(self, target: Target, fn: FnVal, span: Span) -> tuple[UnitState, Instance]:
        state, instance = self._kernel_instance(target, fn, span)
        self._check_kernel(instance, target, span)
        state.kernels.setdefault(instance.symbol, nodes.Kernel(instance.symbol, instance.title, instance.fn.span()))
        self.elab.request(instance)
        return state, instance

    def _kernel_instance(self, target: Target, fn: FnVal, span: Span) -> tuple[UnitState, Instance]:
        elab = self.elab
        state = elab.states.get(target.name)
        if state is None or state.index < 0:
            state = elab.states.get("device " + target.name)
        if state is None:
            state = UnitState(target, len(elab.states) - 1)
            elab.states["device " + target.name if target.name == elab.config.host.name else target.name] = state
        outer = elab.state
        elab.state = state
        try:
            instance = elab.instance_of(fn, span, self, kernel=True)
        finally:
            elab.state = outer
        return state, instance

    def _check_kernel(self, instance: Instance, target: Target, span: Span) -> None:
        name, signature = instance.fn.name, instance.signature
        if signature.raises:
            why = "it is a 'def'" if instance.fn.node.is_def else "it may raise"
            self.fail(
                Code.BAD_KERNEL, f"'{name}' cannot be a kernel: {why}", span, "a kernel is an 'fn' without 'raises'"
            )
        if signature.result != "none":
            self.fail(Code.BAD_KERNEL, f"'{name}' cannot be a kernel: it returns a value", span)
        for sig in signature.args:
            if sig.passing == "memory" and not self._is_passed_whole(sig, target):
                kind = self.elab.type_name(sig.ty)
                text = f"argument '{sig.name}' of kernel '{name}' has the type '{kind}', which a kernel cannot take"
                if sig.convention in ("mut", "ref"):
                    text = f"argument '{sig.name}' of kernel '{name}' is '{sig.convention}', and a kernel gets copies"
                self.fail(Code.BAD_KERNEL, text, span)

    def _is_passed_whole(self, sig: ArgSig, target: Target) -> bool:
        """Say whether a launch can pass the value of an argument that the kernel gets the address of."""
        by_value = sig.convention in ("read", "var") and not sig.variadic and isinstance(sig.ty, StructTy)
        return by_value and self._is_its_bytes(sig.ty) and bool(target.value_argument)

    def _is_its_bytes(self, ty: Ty) -> bool:
        """Say whether a value is no more than its bytes: trivial, or of a library type with a true `__is_trivial__`.

        The copies of such a type are functions all the same, for with other parameters they do more.
        """
        if self.elab.is_trivial(ty):
            return True
        if not isinstance(ty, StructTy) or not ty.info.module.is_library:
            return False
        said = ty.info.members.get("__is_trivial__")
        return isinstance(said, AliasInfo) and self.elab.alias_value(said, ty) == self.elab.bool_constant(True)

    def offload(self, target: Target, kind: int, option: str, fn: FnVal, info: StructTy, span: Span) -> Val:
        """Ask for a function's device code; the result names constants that the back end fills in."""
        state, instance = self._kernel(target, fn, span)
        name = self._image_global(state, instance, kind)
        self.refs.add(name)
        values: list[Value] = [
            self._image(name),
            self.string_global(instance.symbol),
            nodes.Const(types.I64, len(self.kernel_captures(target, fn, span)) if instance.envs else 0),
        ]
        parts = {}
        fields = self.elab.fields(info)
        if len(fields) != len(values):
            text = f"'{info}' has {len(fields)} fields, and a kernel's code has {len(values)}: image, name, captures"
            self.fail(Code.TYPE_MISMATCH, text, span)
        for (field, _), value in zip(fields, values, strict=True):
            parts[field] = value
        return RV(info, self.build_struct(info, parts))

    def _image_global(self, state: UnitState, instance: Instance, kind: int) -> str:
        name = f"image${instance.symbol}${state.target.name.replace('-', '_')}${kind}"
        if name not in self.elab.globals:
            content = nodes.ImageRef(state.index, instance.symbol, IMAGE_KINDS[kind])
            self.elab.globals[name] = nodes.Global(name, types.ArrayType(types.I8, 1), content, True)
        return name

    def _image(self, name: str) -> Value:
        """Return address and size of an image; the size is read from memory, so that the code need not wait for it."""
        pair = types.StructType((types.PTR, types.I64))
        size = nodes.ImageSize(name)
        if self.comptime:
            return nodes.Const(pair, (nodes.Address(name), size))
        held = f"{name}$size"
        self.elab.globals[held] = nodes.Global(held, types.I64, nodes.Const(types.I64, size), True)
        self.refs.add(held)
        read = self.let(nodes.Load(nodes.GlobalAddress(held), types.I64), types.I64)
        return ops.build("make", (nodes.Const(types.PTR, nodes.Address(name)), read), None, pair)

    def kernel_codes(self, fn: FnVal, targets: int, span: Span) -> Value:
        """Return the address of a table with two pointers for each of the program's targets: an image and the kernel's
        name in it, or what runs blocks of it on the processor and null. Null is what a target has that is not wanted.

        Args:
            targets: a bit for each target that the kernel is compiled for.
        """
        rows: list[tuple[nodes.Plain, nodes.Plain]] = []
        symbol = ""
        for index, target in enumerate(self.elab.targets_of_program()):
            if not targets >> index & 1:
                rows.append((0, 0))
                continue
            state, instance = self._kernel(target, fn, span)
            symbol = symbol or instance.symbol
            if target.artefact == "native":
                rows.append((nodes.Address(instance.symbol), 0))
            else:
                image = self._image_global(state, instance, IMAGE_KINDS.index("image"))
                text: Any = self.string_global(instance.symbol).value
                rows.append((nodes.Address(image), text[0]))
        name = f"codes${symbol}${targets & (1 << len(rows)) - 1}"
        if name not in self.elab.globals:
            pair = types.StructType((types.PTR, types.PTR))
            table = types.ArrayType(pair, len(rows))
            self.elab.globals[name] = nodes.Global(name, table, nodes.Const(table, tuple(rows)), True)
        self.refs.add(name)
        return nodes.GlobalAddress(name)

    def kernel_args(self, fn: FnVal, span: Span) -> list[tuple[str, Ty]]:
        """Return names and types of a kernel's declared arguments."""
        asking, targets = self.asking_span(-1) or span, self.elab.targets_of_program()
        if targets:  # the instance that the launch wants anyhow
            _, instance = self._kernel_instance(targets[0], fn, asking)
        else:
            instance = self.elab.instance_of(fn, asking, self)
        return [(sig.name, sig.ty) for sig in instance.signature.args if sig.convention != "out"]

    def kernel_captures(self, target: Target, fn: FnVal, span: Span) -> list[tuple[tuple[Any, ...], Var]]:
        """Return the variables that become arguments of a kernel, each with the way to it."""
        _, instance = self._kernel(target, fn, span)
        if not instance.envs:
            return []
        self.elab.elaborate_instance(instance)
        self.elab.drain_closures()
        found: list[tuple[tuple[Any, ...], Var]] = []
        seen: set[FnInfo] = set()

        def collect(path: tuple[Any, ...], closure: FnInfo) -> None:
            if closure in seen:
                return
            seen.add(closure)
            for i, item in enumerate(closure.parent.captures_of(closure)):
                if isinstance(item, FnInfo):
                    collect((*path, i), item)
                elif types.size_of(self.elab.ir(item.ty)):
                    self._check_capture(instance, item, target, span)
                    found.append(((*path, i), item))

        for env in instance.envs:
            collect((env,), env.set.functions[0])
        return found

    def _check_capture(self, instance: Instance, var: Var, target: Target, span: Span) -> None:
        if self.elab.abi(var.ty) == "memory" and not (self._is_its_bytes(var.ty) and target.value_argument):
            kind = self.elab.type_name(var.ty)
            text = f"'{instance.fn.name}' cannot be a kernel: it captures '{var.name}' of type '{kind}'"
            self.fail(Code.BAD_KERNEL, text + ", which a kernel cannot take", span)

    def kernel_capture(self, target: Target, fn: FnVal, index: int, span: Span) -> Value:
        """Return the address of a value that a kernel captures."""
        path, _ = self.kernel_captures(target, fn, span)[index]
        pointer = self.environment(path[0], span)
        for slot in path[1:]:
            at = ops.build("offset", (pointer, nodes.Const(types.I64, slot)), None, types.PTR)
            pointer = self.let(nodes.Load(at, types.PTR), types.PTR)
        return pointer

    # ---- other services ----

    def call_location(self) -> tuple[str, int, int]:
        """Return file, line and column of the innermost place in a user's file."""
        self.placed = True
        span, at = self.span, self.instance
        if self.elab.is_archive and (span is None or span.source.is_library):
            raise OfProgram  # the calls of the seed itself are no part of the archive
        while at is not None and (span is None or span.source.is_library):
            span, at = at.call_span, at.parent
        if span is None:
            return "", 0, 0
        line, column = span.source.position(arguments_start(span))
        return span.source.path, line, column

    def call_place(self, own: bool) -> str:
        """Return file, line and column of the innermost place in a user's file as one text.

        Args:
            own: of this very call; nothing where it is one of the library's.
        """
        self.placed = True
        if own and (self.span is None or self.span.source.is_library):
            return ""
        return "{}:{}:{}".format(*self.call_location())

    def asking_span(self, argument: int) -> Span | None:
        """Return the place of a variadic argument of the user's call that the library is at work for.

        The call itself where it has no such argument; None where the library was not called from a user's file.
        """
        self.placed = True
        at = self.instance
        while at is not None:
            if at.call_span is not None and not at.call_span.source.is_library:
                return at.rest_spans[argument] if 0 <= argument < len(at.rest_spans) else at.call_span
            at = at.parent
        return None

    def program_global(self, name: str, type: types.Type, align: int) -> Value:
        """Return the address of a variable of the program, one for each name."""
        symbol = f"var${name}"
        if symbol not in self.elab.globals:
            self.elab.globals[symbol] = nodes.Global(symbol, type, None, False, 0, align)
        self.refs.add(symbol)
        return nodes.GlobalAddress(symbol)

    def targets_table(self) -> Value:
        """Return the address of the program's list of device targets."""
        self.refs.add(TARGETS_TABLE)
        return nodes.GlobalAddress(TARGETS_TABLE)

    def shared_global(self, type: types.Type, space: int, align: int, span: Span | None, name: str = "") -> Value:
        """Return the address of memory that a block's threads share: one place for each use in each instance, or for
        each `name`. Constant memory goes by its name, under which the driver finds it."""
        if space == CONSTANT_SPACE and not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
            self.fail(Code.UNSUPPORTED, f"constant memory cannot be named '{name}': letters, digits and '_' only", span)
        owner = self.home.symbol if self.home is not None else "main"
        where = span.start if span is not None else 0
        symbol = (
            name
            if space == CONSTANT_SPACE
            else f"shared${name}"
            if name
            else f"shared${owner}${where}_{len(self.refs)}".replace(".", "_")
        )
        known = self.elab.globals.get(symbol)
        align = max(align, known.align) if known is not None else align
        self.elab.globals[symbol] = nodes.Global(symbol, type, None, False, space, align)
        self.refs.add(symbol)
        return nodes.GlobalAddress(symbol, space)

    def constant_text(self, value: KV) -> str:
        """Return a constant as text."""
        return show(value)
