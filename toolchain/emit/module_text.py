"""The modules that `emit` takes from `codegen`."""

from typing import Protocol

from ktc.targets.target import Target


class ModuleText(Protocol):
    """LLVM's text of one kernel, or of the host, and the facts that `emit` needs of it.

    Fields: `target`; `text`, LLVM assembly; `kernel`, its symbol ("" for the host); `undefined`, the functions
    that are declared and not defined, without intrinsics; `marked`, the same kernel whole, to be cut (`workgroups`),
    or "".
    """

    @property
    def target(self) -> Target: ...

    @property
    def text(self) -> str: ...

    @property
    def kernel(self) -> str: ...

    @property
    def undefined(self) -> tuple[str, ...]: ...

    @property
    def marked(self) -> str: ...

    @property
    def shared_bytes(self) -> int: ...
