"""Keys of what LLVM makes of one module, for the cache."""

from ktc.base.cache import Key
from ktc.codegen.module import LlvmModule
from ktc.driver import build_cache
from ktc.driver.session import Session


def key_of(session: Session, what: str, module: LlvmModule, kind: str, stamp: str) -> Key:
    """Return the key of one module in one form: of all that decides the result, and of no path, time or line."""
    return Key.of(
        what, code=module.text + module.marked, target=build_cache.describe(module.target), kind=kind,
        level=str(session.config.level), compiler=stamp,
    )  # fmt: skip
