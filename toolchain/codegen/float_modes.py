"""Floating-point modes in a kernel's LLVM text. In: the text of a module. Out: the same with other flags."""

import re

from ktc.targets.float_modes import APPROXIMATE, FLUSH, REASSOCIATE, UNFUSED

_ARITHMETIC = re.compile(r"\b(fadd|fsub|fmul|fdiv|fneg|frem) contract ")
_SUMS = re.compile(r"\b(fadd|fsub|fmul) (contract )?")
_QUOTIENT = re.compile(r"\bfdiv (contract )?(?=float|<\d+ x float>)")
_ROOT = re.compile(r"\bcall (?=(?:float|<\d+ x float>) @llvm\.(?:sqrt|exp2|log2|sin|cos)\.)")
_GROUP = re.compile(r"^(attributes #\d+ = \{ )", re.MULTILINE)
_FLUSHED = '"denormal-fp-math-f32"="preserve-sign,preserve-sign" '


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
