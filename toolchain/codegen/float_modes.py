"""Floating-point modes in a kernel's LLVM text. Input: the text of a module. Output: the same with other flags.

A mode holds for a kernel, or for one of its functions, with all that it calls. Its callees may have other
callers, so it gets copies of its own.
"""

import re
from collections.abc import Mapping

from ktc.targets.float_modes import APPROXIMATE, FLUSH, REASSOCIATE, UNFUSED

_ARITHMETIC = re.compile(r"\b(fadd|fsub|fmul|fdiv|fneg|frem) contract ")
_SUMS = re.compile(r"\b(fadd|fsub|fmul) (contract )?")
_QUOTIENT = re.compile(r"\bfdiv (contract )?(?=float|<\d+ x float>)")
_ROOT = re.compile(r"\bcall (?=(?:float|<\d+ x float>) @llvm\.(?:sqrt|exp2|log2|sin|cos)\.)")
_GROUP = re.compile(r"^(attributes #\d+ = \{ )", re.MULTILINE)
_FLUSHED = '"denormal-fp-math-f32"="preserve-sign,preserve-sign" '
_FUNCTION = re.compile(r"^define [^\n]*?(@(?:\"[^\"\n]*\"|[-\w.$]+))\(.*?^}$", re.MULTILINE | re.DOTALL)
_SYMBOL = re.compile(r"@(?:\"[^\"\n]*\"|[-\w.$]+)")
_PLACE = re.compile(r",? !dbg !(?:DILocation\([^\n]*?\)|\d+)")


def with_modes(text: str, modes: Mapping[str, int]) -> str:
    """Return the text of a module in which functions do their arithmetic in modes of their own.

    Args:
        modes: by function, as the text writes its name.
    """
    bodies = {found[1]: found[0] for found in _FUNCTION.finditer(text)}
    made: dict[str, str] = {}
    for name, mask in sorted(modes.items()):
        work = [(name, mask)]
        while work:
            symbol, mode = work.pop()
            own = (symbol, mode) == (name, mask)
            here = symbol if own else _copy(symbol, mode)
            if here in made:
                continue
            called = {one: mode | modes.get(one, 0) for one in _SYMBOL.findall(bodies[symbol]) if one in bodies}
            new = {one: _copy(one, mode) for one, mode in called.items() if modes.get(one) != mode}
            if not own:
                new[symbol] = here
            body = in_mode(_renamed(bodies[symbol], new), mode)
            made[here] = body if own else _PLACE.sub("", body)
            work += [(one, called[one]) for one in new]
    text = _FUNCTION.sub(lambda found: made.pop(found[1], found[0]), text)
    return text + "".join([f"\n{made[name]}\n" for name in sorted(made)])


def _renamed(text: str, names: Mapping[str, str]) -> str:
    return _SYMBOL.sub(lambda found: names.get(found[0], found[0]), text)


def _copy(symbol: str, mask: int) -> str:
    return f'{symbol[:-1]}.mode{mask}"' if symbol.endswith('"') else f"{symbol}.mode{mask}"


def in_mode(text: str, mask: int) -> str:
    """Return the text of a kernel's module in which all of the kernel's arithmetic is done in a mode."""
    if mask & UNFUSED:
        text = _ARITHMETIC.sub(r"\1 ", text)
    if mask & REASSOCIATE:
        text = _SUMS.sub(r"\1 reassoc nsz \2", text)
    if mask & APPROXIMATE:
        text = _ROOT.sub("call afn ", _QUOTIENT.sub(r"fdiv afn arcp \1", text))
    if mask & FLUSH:
        text = _GROUP.sub(rf"\g<1>{_FLUSHED}", text)
    return text
