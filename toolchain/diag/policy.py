"""Words of the command line about warnings to a `WarningPolicy`.

    CODE    no-CODE    error    error=CODE    no-error=CODE    all    none

Each word changes what those before it said; `none` and `all` turn all warnings off and on.
"""

from collections.abc import Iterable

from ktc.diag.codes import OFF_BY_DEFAULT, Code
from ktc.diag.diagnostic import WarningPolicy


class UnknownWarning(ValueError):
    """A word names no warning; the text says so."""


def read_policy(words: Iterable[str]) -> WarningPolicy:
    """Return the policy for warnings that the words request.

    Raises:
        UnknownWarning: there is no such warning.
    """
    every = frozenset(code for code in Code if code.is_warning)
    off = OFF_BY_DEFAULT
    fatal: frozenset[Code] = frozenset()
    for word in words:
        if word in ("all", "none"):
            off = frozenset() if word == "all" else every
        elif word in ("error", "no-error"):
            fatal = every if word == "error" else frozenset()
        elif word.startswith("error="):
            code = _code(word.removeprefix("error="))
            fatal, off = fatal | {code}, off - {code}
        elif word.startswith("no-error="):
            fatal -= {_code(word.removeprefix("no-error="))}
        elif word.startswith("no-"):
            off |= {_code(word.removeprefix("no-"))}
        else:
            off -= {_code(word)}
    return WarningPolicy(off, fatal)


def _code(name: str) -> Code:
    found = next((code for code in Code if code.id == name), None)
    if found is not None and found.is_warning:
        return found
    if found is not None:
        raise UnknownWarning(f"'{name}' is an error, not a warning")
    from ktc.diag.explain import nearest  # late: only for errors

    near = [one for one in nearest(name) if any(code.id == one and code.is_warning for code in Code)]
    hint = f"did you mean '{near[0]}'?" if near else "'ktc explain' lists them"
    raise UnknownWarning(f"there is no warning called '{name}'; {hint}")
