"""Pages that say more about a kind of error: `ktc explain CODE`.

In: a code's id. Out: its page, `explain/ID.md`, with the title of the code in front; the title alone where no page is.
"""

from difflib import get_close_matches
from pathlib import Path

from ktc.diag.codes import Code


def explain(code: str) -> str | None:
    """Return the page for an id (`type-mismatch`), or None if there is no such id."""
    found = next((one for one in Code if one.id == code.strip().lower()), None)
    if found is None:
        return None
    page = Path(__file__).parent / "explain" / f"{found.id}.md"
    head = f"{found.id}: {found.title}\n"
    return f"{head}\n{page.read_text('utf-8')}" if page.is_file() else head


def nearest(code: str) -> list[str]:
    """Return ids that look like `code`, likeliest first."""
    return get_close_matches(code.strip().lower(), [one.id for one in Code], n=3)
