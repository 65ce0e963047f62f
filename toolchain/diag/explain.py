"""Pages that say more about a kind of error or warning: `ktc explain CODE`.

Input: a code's id, of the compiler or of what programs with checks report. Output: its page, `explain/ID.md` or
`explain/checks/ID.md`, with its title in front. Every code has one.
"""

from pathlib import Path

from ktc.base.similarity import close_matches
from ktc.diag.codes import Code
from ktc.diag.faults import FAULTS


def explain(code: str) -> str | None:
    """Return the page for an id (`type-mismatch`), or None if there is no such id."""
    name = code.strip().lower()
    found = next((one for one in Code if one.id == name), None)
    if name in FAULTS:
        return f"error[{name}]: {FAULTS[name]}\n\n{fault_path(name).read_text('utf-8')}"
    if found is None:
        return None
    kind = "warning" if found.is_warning else "error"
    return f"{kind}[{found.id}]: {found.title}\n\n{page_path(found).read_text('utf-8')}"


def page_path(code: Code) -> Path:
    """Return the file of a code's page."""
    return Path(__file__).parent / "explain" / f"{code.id}.md"


def fault_path(fault: str) -> Path:
    """Return the file of the page of a mistake that `--check` finds."""
    return Path(__file__).parent / "explain" / "checks" / f"{fault}.md"


def listed() -> list[tuple[str, str, str]]:
    """Return kind, id and title of every code: errors, warnings, then the mistakes that `--check` finds."""
    kinds = (("error", False), ("warning", True))
    found = [(kind, one.id, one.title) for kind, is_warning in kinds for one in Code if one.is_warning is is_warning]
    return found + [("--check", fault, title) for fault, title in FAULTS.items()]


def nearest(code: str) -> list[str]:
    """Return ids that look like `code`, likeliest first."""
    return close_matches(code.strip().lower().replace("_", "-"), [*(one.id for one in Code), *FAULTS], n=3)
