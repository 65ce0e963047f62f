"""Metadata for AMD's runtime about a kernel that prints.

The runtime gives a kernel whose metadata has formats a buffer, and shows what is in it when the kernel has ended;
stdlib/gpu/_amd/printing.kpy writes into it. Source: ROCm's clr, `rocclr/device/rocm/rocprintf.cpp` and
`rocclr/device/devhcprintf.cpp`; LLVM's AMDGPUUsage, "Code Object V5 Metadata", `hidden_printf_buffer`.
"""

_PRINT_BUFFER = "declare ptr addrspace(1) @ktc.amd.print_buffer()"
_ARGUMENTS = "declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()"

_DEFINITION = """define internal ptr addrspace(1) @ktc.amd.print_buffer() {
  %arguments = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %place = getelementptr i8, ptr addrspace(4) %arguments, i64 72
  %buffer = load ptr addrspace(1), ptr addrspace(4) %place, align 8
  ret ptr addrspace(1) %buffer
}"""

_FORMATS = """
!llvm.printf.fmts = !{!20000000}
!20000000 = !{!"0:0:1,%s"}
"""
"""The one format: its number is 1, and it has the text as its argument."""


def with_printing(text: str) -> str:
    """Return a module in which a kernel that prints finds the buffer, and metadata that makes the runtime give it."""
    if _PRINT_BUFFER not in text:
        return text
    head, tail = text.split(_PRINT_BUFFER, 1)
    _, after = tail.split("\n", 1)  # attributes, which a definition has otherwise
    arguments = "" if _ARGUMENTS in text else _ARGUMENTS + "\n"
    return head + arguments + _DEFINITION + "\n" + after + _FORMATS
