"""The versions of llvmlite and of the LLVM in it, for `ktc --version` and `ktc doctor`."""

import llvmlite  # type: ignore[import-untyped]
import llvmlite.binding as llvm  # type: ignore[import-untyped]


def llvm_versions() -> str:
    """Return both versions."""
    return f"llvmlite {llvmlite.__version__}, LLVM {'.'.join(str(part) for part in llvm.llvm_version_info)}"
