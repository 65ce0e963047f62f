"""Which candidates are right, and which of them is best for each class of inputs.

Input: outcomes, that of the default values first. Output: verdicts, and the rows of a tuning file.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import median

from ktc.base.records import record
from ktc.config.tuned import Tuned
from ktc.tuning.candidates import Measured, Outcome

_TOLERANCES = {
    "float64": 1e-10, "float32": 1e-4, "float16": 1e-2, "bfloat16": 4e-2,
}  # fmt: skip
"""By type: the tolerance of a sum over a part of a result, as a part of the sum of its magnitudes. Types of 8 bits
have the coarsest; whole numbers none."""
_COARSE = 0.1

Class = tuple[str, str, str]
"""A device, a type and a shape."""


@record
class Verdict:
    """The judgement of an outcome: nanoseconds by class, or why it does not count."""

    outcome: Outcome
    times: Mapping[Class, float]
    reason: str = ""


def judge(outcomes: Sequence[Outcome]) -> list[Verdict]:
    """Compare each outcome's results with those of the first one that was measured on the same device."""
    first: dict[Class, Measured] = {}
    verdicts = []
    for outcome in outcomes:
        why = outcome.reason if outcome.state != "measured" else ""
        times: dict[Class, float] = {}
        for one in outcome.measured:
            key = (one.device, one.dtype, one.shape)
            known = first.setdefault(key, one)
            if differs(known, one):
                why = f"its result for {one.dtype} {one.shape}".rstrip() + " differs from the first candidate's"
            times[key] = median(one.times)
        verdicts.append(Verdict(outcome, {} if why else times, why))
    return verdicts


def differs(known: Measured, other: Measured) -> bool:
    """Return whether two results differ by more than the rounding of their type."""
    if len(known.sums) != len(other.sums):
        return True
    is_whole = known.dtype.startswith(("int", "uint", "bool"))
    tolerance = 1e-12 if is_whole else _TOLERANCES.get(known.dtype, _COARSE)
    for (sum, scale), (sum_too, scale_too) in zip(known.sums, other.sums, strict=True):
        if math.isnan(sum) != math.isnan(sum_too) or math.isinf(sum) != math.isinf(sum_too):
            return True
        if math.isfinite(sum) and abs(sum - sum_too) > tolerance * max(scale, scale_too, 1e-300):
            return True
    return False


def cost(verdict: Verdict, base: Verdict | None) -> float:
    """Return the geometric mean over the classes of a candidate's times, those of `base` being 1; infinite if it does
    not count."""
    if not verdict.times:
        return math.inf
    logs = [math.log(time / base.times[key] if base and key in base.times else time) for key, time in
            verdict.times.items()]  # fmt: skip
    return math.exp(sum(logs) / len(logs))


def rows(verdicts: Sequence[Verdict], target: str) -> list[Tuned]:
    """Return the best values for each class, for each type and each shape, and for all of them."""
    good = [one for one in verdicts if one.times]
    found = []
    for device in dict.fromkeys(key[0] for one in good for key in one.times):
        classes = [*dict.fromkeys(key for one in good for key in one.times if key[0] == device)]
        groups: dict[tuple[str, str], list[Class]] = {("", ""): classes}
        dtypes, shapes = (len({key[at] for key in classes}) > 1 for at in (1, 2))
        for key in classes:
            dtype, shape = key[1] if dtypes else "", key[2] if shapes else ""
            for group in dict.fromkeys([(dtype, ""), ("", shape), (dtype, shape)]):
                if group != ("", ""):
                    groups.setdefault(group, []).append(key)
        found += [_best(good, keys, device, target, *group) for group, keys in groups.items()]
    return found


def _best(good: Sequence[Verdict], keys: Sequence[Class], device: str, target: str, dtype: str, shape: str) -> Tuned:
    whole = [one for one in good if all(key in one.times for key in keys)]
    least = {key: min(one.times[key] for one in good if key in one.times) for key in keys}

    def distance(one: Verdict) -> float:
        return sum(math.log(one.times[key] / least[key]) for key in keys)

    def mean(one: Verdict) -> float:
        return math.exp(sum(math.log(one.times[key]) for key in keys) / len(keys))

    best = min(whole, key=distance)
    return Tuned(device, target, dtype, shape, dict(best.outcome.values), mean(best), mean(whole[0]), len(whole))
