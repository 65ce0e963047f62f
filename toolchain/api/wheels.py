"""Wheels of packages with `.kpy` sources, and the build backend of PEP 517 that pip asks for them.

Input: a folder with a pyproject.toml. Output: a wheel with its Python files and an extension module, with its stub, for
each `.kpy` file that exports something. Who installs it needs neither ktc nor a compiler.

    [build-system]
    requires = ["ktc"]
    build-backend = "ktc.api.wheels"

    [tool.ktc]
    target = "sm_80,cpu"           # devices of kernels; "cpu" if nothing is said
    target-cpu = "x86-64-v3"       # the processor; the baseline if it is left out

Source: PEP 427 (wheels), PEP 517 (backends), PEP 621 (the project's table), the specification of core metadata 2.1.
"""

import base64
import hashlib
import os
import platform
import re
import sysconfig
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from ktc.api import building
from ktc.api.building import BuildOptions, BuildRequest
from ktc.base.records import record
from ktc.config import SUFFIXES
from ktc.config.project import KEYS, WHEEL_KEYS
from ktc.interop.python_stubs import stub

_LEFT_OUT = ("__pycache__", "build", "dist", "tests", ".venv", "venv", "node_modules")
_BASELINES = {"x86_64": "x86-64-v2", "AMD64": "x86-64-v2"}
_TIME = (2020, 1, 1, 0, 0, 0)


class ProjectError(Exception):
    """The project's pyproject.toml is missing or wrong."""


@record
class Project:
    """The content of pyproject.toml.

    Args:
        source: the folder with the packages: the project's own, or its `src`.
        facts: the table [project].
    """

    folder: Path
    source: Path
    name: str
    version: str
    facts: Mapping[str, object]
    options: BuildOptions

    @property
    def title(self) -> str:
        """Name and version as file names have them."""
        name = re.sub(r"[-_.]+", "_", self.name).lower()
        return f"{name}-{self.version}"


def read_project(folder: Path) -> Project:
    """Read a project's table.

    Raises:
        ProjectError: it is not there, or has no name or version.
    """
    path = folder / "pyproject.toml"
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ProjectError(f"'{folder}' has no pyproject.toml") from error
    except tomllib.TOMLDecodeError as error:
        raise ProjectError(f"'{path}': {error}") from error
    facts = table.get("project", {})
    for key in ("name", "version"):
        if not isinstance(facts.get(key), str):
            raise ProjectError(f"'{path}' has no '{key}' in [project]")
    own = table.get("tool", {}).get("ktc", {})
    unknown = set(own) - {*KEYS, *WHEEL_KEYS}
    if unknown:
        raise ProjectError(f"'{path}': [tool.ktc] has no '{min(unknown)}'")
    options = BuildOptions(target=own.get("target", "cpu"))
    baseline = own.get("target-cpu", _BASELINES.get(platform.machine(), ""))
    if baseline:
        options["target_cpu"] = baseline
    if "optimization-level" in own:
        options["optimization_level"] = own["optimization-level"]
    source = folder / "src" if (folder / "src").is_dir() else folder
    return Project(folder, source, facts["name"], facts["version"], facts, options)


def make_wheel(folder: Path, output: Path) -> Path:
    """Write a project's wheel into a folder; return its path.

    Raises:
        ProjectError: pyproject.toml is wrong, or nothing is exported.
        CompileError: a source has errors.
    """
    project = read_project(folder)
    files = dict(_files(project))
    if not any(name.endswith(".so") for name in files):
        raise ProjectError(f"no source file in '{project.source}' exports anything: write '@export' above a function")
    tag = f"cp311-abi3-{re.sub(r'[^0-9a-zA-Z]', '_', sysconfig.get_platform())}"
    about = f"{project.title}.dist-info"
    files[f"{about}/METADATA"] = _metadata(project).encode()
    files[f"{about}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: ktc\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    record_name = f"{about}/RECORD"
    files[record_name] = "".join([*map(_recorded, files, files.values()), f"{record_name},,\n"]).encode()
    output.mkdir(parents=True, exist_ok=True)
    path = output / f"{project.title}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, _TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o755 if name.endswith(".so") else 0o644) << 16
            archive.writestr(entry, data)
    return path


def _files(project: Project) -> Iterator[tuple[str, bytes]]:
    """Yield the files of the wheel: Python's own, and those made of `.kpy` files."""
    for path in _sources(project):
        name = path.relative_to(project.source)
        if path.suffix not in SUFFIXES:
            if len(name.parts) > 1 or (path.suffix == ".py" and path.name != "setup.py"):
                yield name.as_posix(), path.read_bytes()
        elif re.search(r"^@export\b", path.read_text("utf-8", "replace"), re.MULTILINE):
            dotted = ".".join([*name.parts[:-1], path.stem])
            options = BuildOptions(**{**project.options, "include": [project.source]})
            made = building.make(BuildRequest(path, "python-extension", options, module=dotted))
            yield name.with_suffix(".abi3.so").as_posix(), made.data
            yield name.with_suffix(".pyi").as_posix(), stub(made.exports).encode()


def _sources(project: Project) -> Iterator[Path]:
    """Give the project's files that may belong into a wheel."""
    for folder, folders, names in os.walk(project.source):
        here = Path(folder)
        is_top = here == project.source
        own = [one for one in folders if one not in _LEFT_OUT and not one.startswith(".")]
        folders[:] = sorted([one for one in own if not is_top or (here / one / "__init__.py").is_file()])
        for name in sorted(names):
            if not name.endswith((".pyc", ".so")) and not name.startswith("."):
                yield here / name


def _recorded(name: str, data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def _metadata(project: Project) -> str:
    facts = project.facts
    lines = ["Metadata-Version: 2.1", f"Name: {project.name}", f"Version: {project.version}"]
    if "description" in facts:
        lines.append(f"Summary: {facts['description']}")
    lines.append(f"Requires-Python: {facts.get('requires-python', '>=3.11')}")
    needed = facts.get("dependencies", ())
    lines += [f"Requires-Dist: {one}" for one in (needed if isinstance(needed, list) else ())]
    readme = facts.get("readme")
    text = ""
    if isinstance(readme, str) and (project.folder / readme).is_file():
        lines.append(f"Description-Content-Type: text/{'markdown' if readme.endswith('.md') else 'plain'}")
        text = (project.folder / readme).read_text("utf-8")
    return "\n".join(lines) + "\n" + (f"\n{text}" if text else "")


# ---- PEP 517 ----


def build_wheel(
    wheel_directory: str, config_settings: Mapping[str, object] | None = None, metadata_directory: str | None = None
) -> str:
    """Make the wheel of the current folder's project, as PEP 517 has it."""
    return make_wheel(Path(), Path(wheel_directory)).name


def build_sdist(sdist_directory: str, config_settings: Mapping[str, object] | None = None) -> str:
    """Make an archive of the current folder's project, as PEP 517 has it."""
    project = read_project(Path())
    name = f"{project.title}.tar.gz"
    with tarfile.open(Path(sdist_directory, name), "w:gz") as archive:
        for path in sorted({project.folder / "pyproject.toml", *_sources(project)}):
            archive.add(path, f"{project.title}/{path.relative_to(project.folder).as_posix()}")
    return name
