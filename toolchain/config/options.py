"""The user's requests (`Options`), and the settings of a build (`Config`)."""

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from ktc.base.editions import Edition
from ktc.base.package_files import InstalledPackage
from ktc.base.records import record
from ktc.targets.cpu import THREAD_FORMS
from ktc.targets.target import Target

EMIT_KINDS = ("exe", "shared-lib", "static-lib", "python-extension", "object", "llvm", "asm")
LIBRARIES = ("shared-lib", "static-lib", "python-extension")
"""Outputs without a `main` of their own."""
WITH_OR_WITHOUT_MAIN = ("object", "llvm", "asm")
"""Outputs that are a library's if the main file has no `main`."""
OFFLOAD_MODES = ("all-kernel", "per-kernel")
DIAGNOSTIC_FORMATS = ("text", "json")
SUFFIXES = (".kpy", ".mojo", ".🔥")
"""Of source files, in the order in which they are looked for."""

DEFAULT_LEVEL = 3
CHECKED_LEVEL = 2
DEBUG_LEVELS = ("none", "line-tables", "full")  # by number, as `--debug-level` names them
FULL_DEBUG = 2


@record
class Options:
    """The user's requests; None where the user requests nothing.

    Args:
        root: the main file.
        program: path of the usual output without its suffix; "": the main file's name.
        accelerators: targets of kernels, with commas between.
        defines: `name=value` or `name`.
        checks: which mistakes of the program are looked for; None: none.
        json: whether what the program reports is for tools.
        hardened: the program's own code has stack protectors.
        writes: whether `output` will be written, so that it is worth a look before the work.
        edition: of the main file's package.
        tuned: a tuning file, which chooses values of `tuning.tunable`; tuned_device: whose, of several in it.
    """

    root: Path
    output: Path | None = None
    program: str = ""
    emit: str | None = None
    level: int | None = None
    debug: int | None = None
    defines: tuple[str, ...] = ()
    search: tuple[Path, ...] = ()
    accelerators: str | None = None
    triple: str | None = None
    cpu: str | None = None
    features: str | None = None
    jobs: int | None = None
    offload_mode: str | None = None
    fp_mode: int = 0
    embed_cubin: bool = False
    cpu_threads: str | None = None
    checks: tuple[str, ...] | None = None
    json: bool = False
    hardened: bool = False
    writes: bool = False
    libraries: tuple[str, ...] = ()
    library_folders: tuple[Path, ...] = ()
    soname: str = ""
    symbol_version: str = ""
    module: str = ""
    tuned: Path | None = None
    tuned_device: str = ""
    edition: Edition | None = None


@record
class Config:
    """The settings of a build, all decided.

    Args:
        root: the main file.
        search: folders of modules beside the main file's own.
        stdlib: folder of the standard library.
        toolchain: a digest that changes with ktc itself and with its library.
        defines: values for `sys.param_env`.
        level: -O0 to -O3.
        debug: 0 none, 1 line tables, 2 full.
        host: where the program runs.
        accelerators: targets of its kernels, the best first.
        output: the file to write.
        emit: one of `EMIT_KINDS`.
        jobs: processes of LLVM at once.
        offload_mode: one of `OFFLOAD_MODES`.
        embed_cubin: the executable has machine code of NVIDIA's kernels beside their PTX.
        cpu_threads: how the CPU device runs the threads of a block, one of `targets.cpu.THREAD_FORMS`.
        places: an uncaught error names the places in the program that it came from (not with `-g0`).
        libraries: libraries to link with (`-l`); library_folders: searched for them.
        soname, symbol_version: of a shared library, "" for none.
        module: Python's name of an extension module.
        edition: the requested one of the main file's package; None: its project file or its text decides.
        installed: packages in Python's environment, which imports find after those in `search`.
    """

    root: Path
    host: Target
    accelerators: tuple[Target, ...]
    output: Path
    stdlib: Path
    toolchain: str = ""
    search: tuple[Path, ...] = ()
    defines: Mapping[str, str] = field(default_factory=dict)
    level: int = DEFAULT_LEVEL
    debug: int = 0
    emit: str = "exe"
    jobs: int = 1
    offload_mode: str = "all-kernel"
    embed_cubin: bool = False
    cpu_threads: str = THREAD_FORMS[0]
    places: bool = True
    libraries: tuple[str, ...] = ()
    library_folders: tuple[str, ...] = ()
    soname: str = ""
    symbol_version: str = ""
    module: str = ""
    edition: Edition | None = None
    installed: tuple[InstalledPackage, ...] = ()

    @property
    def is_release(self) -> bool:
        """False for a build that is made to be debugged (`-g`, `-g2`)."""
        return self.debug < FULL_DEBUG
