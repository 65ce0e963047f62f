"""Package files: a package of modules as one file, `NAME.kpypkg`, which imports find like a folder.

Input: the modules of a folder. Output: a ZIP archive with their texts and `package.json`: the form, the package's name
and version, the ktc that made it, and for each module its digest and docstring. Entries have no times, so that the same
package gives the same file everywhere.
"""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from io import BytesIO
from pathlib import Path

from ktc.base.editions import EDITIONS
from ktc.base.records import record
from ktc.base.version import VERSION

SUFFIX = ".kpypkg"
_FORM = 1
_FACTS = "package.json"
_LARGEST = 64 << 20
"""Bytes of a package's texts at most: what claims more is no package."""
_LARGEST_RATIO, _ALWAYS = 100, 1 << 20
"""How many bytes of text a byte of a package stands for at most, from 1 MiB on; programs have three to ten."""


class PackageFileError(Exception):
    """A damaged or unknown package file; the message continues a sentence that begins with the file's name."""


@record
class PackageFile:
    """A package.

    Args:
        name: under which it is imported.
        version: the maker's, or "".
        texts: of its modules, by the path inside the package with `/` between: `__init__.kpy`, `sub/a.kpy`.
        docs: docstrings of these.
        edition: of its texts; "" in a file of a ktc that knew only one.
    """

    name: str
    version: str
    texts: Mapping[str, bytes]
    docs: Mapping[str, str]
    edition: str = ""


@record
class InstalledPackage:
    """A package in Python's environment.

    Args:
        name: under which it is imported.
        folder: its modules.
        distribution: name and version of what was installed.
    """

    name: str
    folder: str
    distribution: str

    def __str__(self) -> str:
        return f"'{self.folder}' of {self.distribution}"


def written(package: PackageFile) -> bytes:
    """Return the bytes of a package file."""
    import json  # late: only for packages

    modules = {
        path: {"sha256": sha256(text).hexdigest(), "doc": package.docs.get(path, "")}
        for path, text in sorted(package.texts.items())
    }
    facts = {
        "form": _FORM, "name": package.name, "version": package.version, "ktc": VERSION,
        "edition": package.edition, "modules": modules,
    }  # fmt: skip
    first = json.dumps(facts, indent=1, sort_keys=True, ensure_ascii=False).encode()
    return _zipped([(_FACTS, first), *sorted(package.texts.items())])


def _zipped(files: Sequence[tuple[str, bytes]]) -> bytes:
    import zipfile  # late: only for packages

    made = BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files:
            entry = zipfile.ZipInfo(path)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data)
    return made.getvalue()


def read(path: Path, data: bytes) -> PackageFile:
    """Return the package in a file.

    Raises:
        PackageFileError: it is damaged, or no package.
    """
    import json  # late: only for packages
    import zipfile  # late: only for packages

    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            if _FACTS not in archive.namelist():
                raise PackageFileError("is not a package of ktc")
            unpacked = sum(entry.file_size for entry in archive.infolist())
            if unpacked > min(_LARGEST, _LARGEST_RATIO * len(data) + _ALWAYS):
                raise PackageFileError("is damaged: its texts are too long")
            facts = json.loads(archive.read(_FACTS))
            form = facts["form"] if isinstance(facts, dict) else None
            if form != _FORM:
                raise PackageFileError(f"has the form {form!r}, and this ktc ({VERSION}) reads {_FORM}")
            modules = _modules(facts["modules"])
            texts = {inner: archive.read(inner) for inner in modules}
            name, version, edition = str(facts["name"]), str(facts["version"]), str(facts.get("edition", ""))
            if edition not in ("", *EDITIONS):
                raise PackageFileError(f"has the edition '{edition}', and this ktc ({VERSION}) knows {_listed()}")
    except PackageFileError:
        raise
    except zipfile.BadZipFile as error:
        is_cut = data.startswith(b"PK")
        raise PackageFileError("is damaged" if is_cut else "is not a package of ktc") from error
    except Exception as error:  # an archive can be wrong in many ways: zlib, offsets, encodings, JSON
        raise PackageFileError(f"is damaged: {error}") from error
    for inner, text in texts.items():
        if sha256(text).hexdigest() != modules[inner].get("sha256"):
            raise PackageFileError(f"is damaged: '{inner}' is not what was packed")
    if name != path.stem:
        raise PackageFileError(f"holds the package '{name}'; name the file '{name}{SUFFIX}'")
    return PackageFile(name, version, texts, {inner: one.get("doc", "") for inner, one in modules.items()}, edition)


def _modules(found: object) -> dict[str, dict[str, str]]:
    if not isinstance(found, dict) or not all(
        isinstance(one, dict) and isinstance(one.get("doc", ""), str) for one in found.values()
    ):
        raise PackageFileError("is damaged: its list of modules is none")
    return found


def _listed() -> str:
    return " and ".join(EDITIONS)
