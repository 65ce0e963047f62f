"""The choices that `ktc tune` searches: `tuning.tunable` of the library.

Input: a name, its values, and what it is chosen for. Output: one of the values; the elaboration notes the choice.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from ktc.config.tuned import define_of
from ktc.diag.codes import Code
from ktc.elaborate.model.values import Result
from ktc.elaborate.primitives.use import Use
from ktc.elaborate.types.primitive_types import comptime_int


def _tunable(use: Use) -> Result:
    name, dtype, shape = use.text("name"), use.text("dtype"), use.text("shape")
    choices = tuple(_signed(comptime_int(use.elab, item)) for item in use.items("choices"))
    if not choices:
        use.fail(Code.UNSATISFIED_CONSTRAINT, f"the choice '{name}' has no values")
    if len(set(choices)) < len(choices):
        use.fail(Code.UNSATISFIED_CONSTRAINT, f"the choice '{name}' has a value twice: {_listed(choices)}")
    if use.elab.coverage.speculation is None:
        known = use.elab.comptime.note_tunable(name, choices)
        if known != choices:
            text = f"the choice '{name}' has the values {_listed(choices)} here, and {_listed(known)} elsewhere"
            use.fail(Code.UNSATISFIED_CONSTRAINT, text)
    return use.index(_chosen(use, name, dtype, shape, choices))


def _chosen(use: Use, name: str, dtype: str, shape: str, choices: tuple[int, ...]) -> int:
    """Return the value from the command line, else from the tuning file's nearest class, else the first choice."""
    defines = use.elab.comptime.defines
    keys = [name, *(define_of(name, *one) for one in ((dtype, shape), (dtype, ""), ("", shape), ("", "")))]
    for key in keys:
        text = defines.get(key)
        if text is None:
            continue
        try:
            value = int(text, 0)
        except ValueError:
            use.fail(Code.UNSATISFIED_CONSTRAINT, f"the value of '{name}' is '{text}', not an integer")
        if value not in choices:
            where = "-D says" if key == name else "the tuning file says"
            text = f"{where} {value} for '{name}', whose values are {_listed(choices)}"
            use.fail(Code.UNSATISFIED_CONSTRAINT, text)
        return value
    return choices[0]


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _listed(values: tuple[int, ...]) -> str:
    return ", ".join(map(str, values))


# operation -> (what does it, number of operands, attributes)
TUNING: Mapping[str, tuple[Callable[[Use], Result], int, tuple[str, ...]]] = MappingProxyType(
    {"kgen.tunable": (_tunable, 0, ("name", "choices", "dtype", "shape"))}
)
