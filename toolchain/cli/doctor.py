"""The report of `ktc doctor`: tools, devices, caches and packages of this machine.

Input: the cache. Output: rows of a name and what was found; where something is missing, what that means.
"""

import platform
from importlib import metadata
from pathlib import Path

import click
from ktc import config as configs
from ktc import native
from ktc.base.cache import Cache
from ktc.base.editions import Edition
from ktc.base.version import VERSION
from ktc.cli.output import human_size
from ktc.diag.diagnostic import Sink
from ktc.diag.render import render_text
from ktc.emit.linking.tools import find_link_tools
from ktc.emit.tools import find_ptxas
from ktc.syntax.editions import EditionFinder
from ktc.syntax.loader import read_source
from ktc.targets.detection import drivers, opencl
from ktc.targets.llvm_version import llvm_versions

_PACKAGES = ("llvmlite", "lark", "click", "rich", "platformdirs", "cuda-python")


def findings(cache: Cache) -> list[tuple[str, str]]:
    """Look around; asks the GPUs' drivers again."""
    processor = configs.processor(cache)
    info = cache.info()
    kept = f"{info.folder}, {human_size(info.size_bytes)} of at most {human_size(info.max_bytes)}"
    return [
        ("ktc", f"{VERSION}, {llvm_versions()}"),
        ("runs as", "machine code" if native.is_used() else "Python: 'python -m ktc.native' compiles what is slow"),
        ("python", f"{platform.python_version()}, {platform.system()} {platform.machine()}"),
        ("processor", f"{processor.cpu}, {processor.triple}"),
        (
            "linker",
            find_link_tools().title or "none: 'ktc run' works, 'ktc build' needs cc, ld or 'pip install ziglang'",
        ),
        *_gpu_rows(),
        *_opencl_rows(),
        ("ptxas", find_ptxas() or "none: not needed; 'ktc emit --kind object' gives PTX"),
        ("cache", kept if info.is_writable else f"{info.folder}: not writable, nothing is kept"),
        ("standard library", str(configs.stdlib_folder())),
        *_installed_rows(cache),
        ("packages", ", ".join(f"{name} {version}" for name in _PACKAGES if (version := _version_of(name)))),
    ]


def edition_of(path: Path, requested: Edition | None) -> list[tuple[str, str]]:
    """Return the edition in which a file is read and the reason, or the error."""
    sink = Sink()
    source = read_source(path, sink, False, {})
    if source is not None:
        source.edition = EditionFinder(requested, {}, sink).of_main(path, source.text)
    if source is None or source.edition is None or sink.error_count:
        raise click.ClickException(render_text(sink.diagnostics, False).rstrip())
    return [("edition", f"{source.edition.edition.value}, by {source.edition.reason}")]


def _gpu_rows() -> list[tuple[str, str]]:
    version = drivers.cuda_driver_version()
    rows = [("NVIDIA driver", f"CUDA {version // 1000}.{version % 1000 // 10}" if version else "none (libcuda.so.1)")]
    rows.append(("AMD driver", "found" if drivers.has_hip() else "none (libamdhip64.so)"))
    gpus = drivers.gpus()
    rows += [("GPU", f"{gpu.target}, {gpu.title}") for gpu in gpus]
    if not gpus:
        rows.append(("GPU", "none: kernels are compiled for the processor"))
    return rows


def _installed_rows(cache: Cache) -> list[tuple[str, str]]:
    """Return the packages that programs can import from Python's environment; two of one name are a mistake."""
    found = configs.installed_packages(cache)
    names = [one.name for one in found]
    rows = []
    for one in found:
        wrong = "" if Path(one.folder).is_dir() else ": there is no such folder"
        if names.count(one.name) > 1:
            wrong += ": not the only one of this name"
        rows.append((f"package {one.name}", f"{one.distribution}, {one.folder}{wrong}"))
    return rows


def _opencl_rows() -> list[tuple[str, str]]:
    devices = opencl.opencl_devices()
    if not devices:
        return [("OpenCL", "none (libOpenCL.so.1, and a driver for it)")]
    return [("OpenCL", f"{one.name}: {one.spirv or 'takes no SPIR-V, so ktc cannot use it'}") for one in devices]


def _version_of(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
