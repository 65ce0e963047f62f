"""The stages before LLVM: loading, elaboration, the passes. A check of a program ends here, a build goes on.

Input: a `Session`. Output: a checked `Program`, or diagnostics in the session's sink. Nothing here loads LLVM or what
emits code, so that a check starts in half the time of a build.
"""

import os
from collections.abc import Callable, Mapping
from functools import partial

from ktc import passes
from ktc.config import tuned
from ktc.diag.codes import Code
from ktc.diag.diagnostic import CompileError, Diagnostic, Severity, gate
from ktc.driver.front_end import kept_library
from ktc.driver.session import Session
from ktc.elaborate.instances.library_archive import Library
from ktc.elaborate.model.body_store import Packed
from ktc.elaborate.program import Keep, Ready, elaborate, elaborate_edited
from ktc.ir.interpreter.call_paths import HEAP_FUNCTIONS, external_call
from ktc.ir.nodes import Program, Unit
from ktc.ir.verify import verify
from ktc.syntax.linting.lint import lint
from ktc.syntax.loader import Files, Package, load
from ktc.targets.target import Target

Elaborate = Callable[[Package, Library | None, Ready | None, Keep | None], Program]


def check(session: Session, name: str = "") -> Package | None:
    """Report the main file's mistakes; nothing is compiled, and LLVM is not loaded.

    Args:
        name: the dotted name of the main file as a module, for its relative imports.

    Returns: the modules that were read, None if the main file does not parse. The mistakes are in the sink.
    """
    try:
        package = load_package(session)
        if name:
            package.names[id(package.root)] = name
        program = elaborated(session, package, kept_library.kept(session.config, session.cache))
        for unit in (program.host, *program.devices):
            passed(session, unit)
    except CompileError:
        return session.package
    return package


def check_edited(session: Session, edited_range: tuple[int, int], name: str = "") -> Package | None:
    """Do the same for the main file's declarations that touch some characters, a fraction of the work."""
    config, sink = session.config, session.sink
    try:
        package = load_package(session)
        if name:
            package.names[id(package.root)] = name
        library = kept_library.kept(config, session.cache)
        functions = elaborate_edited(package, config, sink, edited_range, library, session.observe)
        passes.check(functions, config, sink)
        if not sink.mistake_count:
            lint(package.root, package.modules.values(), sink)
    except CompileError:
        return session.package
    return package


def load_package(session: Session) -> Package:
    """Read the main file and the modules that it imports.

    Raises:
        CompileError: a file does not parse.
    """
    config = session.config
    with session.stage("load"):
        files = Files(
            config.root, config.search, config.stdlib, edition=config.edition, overlays=session.overlays,
            installed=config.installed,
        )  # fmt: skip
        package = load(files, session.cache, session.sink, reads=session.reads, tree=session.tree)
    if package is None:
        from ktc.driver.front_end.checks_after_recovery import check_partial_tree  # late: only for errors

        check_partial_tree(session)
        raise CompileError(session.sink.diagnostics)
    if "." in config.module:  # for its relative imports
        package.names[id(package.root)] = config.module
    session.package = package
    if (chosen := package.root.source.edition) is not None:
        session.notes.append(f"edition {chosen.edition.value}: {chosen.reason}")
    return package


def elaborated(
    session: Session, package: Package, library: Library | None, ready: Ready | None = None,
    slices: Elaborate | None = None,
) -> Program:  # fmt: skip
    """Elaborate a program, and check what needs no flow of control.

    Args:
        library: its kept functions; without it the units have all of its code. Functions that no program needed before
            are kept for later programs.
        ready: takes the host's unit as soon as it is there.
        slices: elaborates the host alone, where each kernel is elaborated apart.

    Raises:
        CompileError: the program has errors.
    """
    config, sink = session.config, session.sink
    keep = partial(_keep, session, package, library) if library is not None else None
    with session.stage("elaborate"):
        if slices is not None:
            program = slices(package, library, ready, keep)
        elif session.prepared is not None:
            program = session.prepared.elaboration.elaborate(package, sink, ready, session.observe, keep)
        else:
            program = elaborate(package, config, sink, library, ready, session.observe, keep)
        session.tunables = program.tunables
        _check_tuned(session)
        passes.check(program.check_only, config, sink)
        if not sink.mistake_count:  # what is odd may be a consequence of a mistake
            lint(package.root, package.modules.values(), sink)
        gate(program, sink)
        session.timeline.inside("parse", package.parsed)
    session.exports = program.host.exports
    return program


def _keep(session: Session, package: Package, library: Library, new: Mapping[str, Packed]) -> None:
    """Keep bodies and trees of the library, unless they are of files that an editor has changed."""
    inside = os.path.join(os.path.abspath(session.config.stdlib), "")
    if not any(path.startswith(inside) for path in session.overlays):
        modules = kept_library.packed_modules(package, library.modules.keys())
        if new or modules:
            kept_library.keep_bodies(session.config, session.cache, new, modules)


def passed(session: Session, unit: Unit) -> Unit:
    """Run the passes."""
    with session.stage("passes", name_of(unit)):
        _warn_of_heap(session, unit)
        return passes.run(unit, session.config, session.sink)


def _warn_of_heap(session: Session, unit: Unit) -> None:
    """Warn about kernels in which a program makes lists, texts and the like."""
    is_nvidia = isinstance(unit.target, Target) and unit.target.vendor == "nvidia"
    for kernel in unit.kernels if is_nvidia else ():  # AMD's kernels have no heap: an error
        name, span = external_call(unit, kernel.symbol, HEAP_FUNCTIONS)
        if name and span is not None:
            text = f"kernel '{kernel.title}' takes memory from the GPU's heap here"
            help = "this is slow, and 8 MB for all threads by default; use 'InlineArray' or 'stack_allocation'"
            session.sink.report(Diagnostic(Code.DEVICE_HEAP, span, text, help, severity=Severity.WARNING))


def verified(session: Session, unit: Unit) -> None:
    """Verify a unit; done while LLVM works on it, for it finds mistakes of ours only.

    Raises:
        Bug: the unit is malformed.
    """
    if unit.functions:  # in the per-kernel flow each kernel's own unit was verified
        with session.stage("verify", name_of(unit)):
            verify(unit)


def name_of(unit: Unit) -> str:
    """Return the name of a unit's target."""
    return unit.target.name  # type: ignore[attr-defined,no-any-return]


def _check_tuned(session: Session) -> None:
    """Report a tuning file with a choice that the program does not have."""
    names = dict.fromkeys(name for name in map(tuned.name_of, session.config.defines) if name)
    for name in names:
        if name not in session.tunables and not session.sink.mistake_count:
            known = ", ".join(f"'{one}'" for one in session.tunables) or "none"
            text = f"the tuning file chooses '{name}', and the program has no such choice"
            help = f"its choices: {known}; 'ktc tune' searches them"
            session.sink.report(Diagnostic(Code.FILE_ERROR, None, text, help))
