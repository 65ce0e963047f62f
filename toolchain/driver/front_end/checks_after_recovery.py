"""Type and name errors in a file that also has syntax errors.

The wrong parts of the file are removed, with everything that depends on them; the rest is checked like a program.
"""

from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic, Severity, Sink
from ktc.driver.front_end import kept_library
from ktc.driver.session import Session
from ktc.elaborate.program import elaborate
from ktc.syntax.editions import assign
from ktc.syntax.loader import Files, load, read_source
from ktc.syntax.parsing.partial_tree import PartialTree, partial_tree

_FROM_TRUNCATION = frozenset(
    (
        Code.MISSING_MAIN, Code.INVALID_MAIN, Code.COMPILE_TIME_EVALUATION_FAILED, Code.COMPILE_TIME_EVALUATION_LIMIT,
        Code.UNSATISFIED_CONSTRAINT,
    )
)  # fmt: skip
"""Errors that a truncated function can cause."""


def check_partial_tree(session: Session) -> None:
    """Report what else is wrong with a main file that does not parse."""
    source = read_source(session.config.root, Sink(), False, {}, session.overlays)
    if source is None or not session.sink.mistake_count:
        return
    assign(source, session.config.edition)
    rest = partial_tree(source, session.cache)
    if rest is None:
        return
    try:
        found = _found(session, rest)
    except Exception:  # an internal error, caused by the gaps in the tree, must not replace the syntax errors
        return
    for one in found:
        may_follow = one.code in _FROM_TRUNCATION or (rest.is_open and one.code is Code.UNDEFINED_NAME)
        if one.severity is Severity.ERROR and not may_follow:
            session.sink.report(one)


def _found(session: Session, rest: PartialTree) -> list[Diagnostic]:
    config, sink = session.config, Sink()
    files = Files(
        config.root, config.search, config.stdlib, edition=config.edition, overlays=session.overlays,
        installed=config.installed,
    )  # fmt: skip
    package = load(files, session.cache, sink, tree=rest.module)
    if package is not None:
        if "." in config.module:
            package.names[id(package.root)] = config.module
        elaborate(package, config, sink, kept_library.kept(config, session.cache))
    return sink.diagnostics
