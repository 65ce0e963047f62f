"""Targets by name. A vendor's file is imported when a name or a list asks for it, not before.

Input: a name as the user wrote it. Output: `Target` or None; the caller words the error (`nearest` gives the likely
names).
"""

from importlib import import_module

from ktc.base.similarity import close_matches
from ktc.targets.target import Target

_DEVICE_FILES = ("nvptx", "amdgcn", "air", "spirv")
"""In the order of `ktc targets`; each has `TARGETS`. `cpu` is made from the host's target."""


def device_targets() -> tuple[Target, ...]:
    """Return every GPU target, by vendor and age. Asks nothing of this machine."""
    found: list[Target] = []
    for file in _DEVICE_FILES:
        found.extend(import_module(f"ktc.targets.{file}").TARGETS)
    return tuple(found)


def all_targets(host: Target | None = None) -> tuple[Target, ...]:
    """Return every target of kernels, the CPU last; `host` saves detecting it."""
    return (*device_targets(), _processor(host))


def names() -> tuple[str, ...]:
    """Return the name of each target of kernels, without aliases."""
    return (*(target.name for target in device_targets()), "cpu")


def find(name: str, host: Target | None = None) -> Target | None:
    """Return the target that is called `name` or has it as an alias; None if there is none.

    Args:
        host: the host of "cpu"; by default the CPU is detected, which loads LLVM.
    """
    normalized = name.strip().lower()
    if normalized == "cpu":
        return _processor(host)
    for target in device_targets():
        if normalized == target.name or normalized in target.aliases:
            return target
    return None


def nearest(name: str, limit: int = 3) -> list[str]:
    """Return up to `limit` names that a person who wrote `name` may have meant, likeliest first."""
    normalized = name.strip().lower()
    spelled = {alias: target.name for target in device_targets() for alias in (target.name, *target.aliases)}
    spelled["cpu"] = "cpu"
    close = [spelled[match] for match in close_matches(normalized, spelled, n=4 * limit, cutoff=0.6)]
    family = [spelled[alias] for alias in spelled if _stem(normalized) and _stem(alias) == _stem(normalized)]
    return list(dict.fromkeys([*close, *family]))[:limit]


def _processor(host: Target | None) -> Target:
    return import_module("ktc.targets.cpu").cpu_target(host)  # type: ignore[no-any-return]


def _stem(name: str) -> str:
    """Return the part of a name before its first digit."""
    return name[: next((index for index, letter in enumerate(name) if letter.isdigit()), len(name))]
