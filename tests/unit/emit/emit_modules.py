"""Hand-written modules that the tests of `emit` compile."""

from dataclasses import dataclass

from ktc.targets.target import Target


@dataclass(frozen=True)
class Module:
    """What `codegen` hands to `emit`."""

    target: Target
    text: str
    kernel: str = ""
    undefined: tuple[str, ...] = ()
    shared_bytes: int = 0
    marked: str = ""


_IDS = {
    "nvidia": ("@llvm.nvvm.read.ptx.sreg.tid.x", "@llvm.nvvm.read.ptx.sreg.ctaid.x"),
    "amd": ("@llvm.amdgcn.workitem.id.x", "@llvm.amdgcn.workgroup.id.x"),
}


def vector_add(target: Target, name: str = "vadd", body: str = "%s = fadd float %va, %vb") -> Module:
    """c[i] = (a[i] + b[i]) * table[i & 3], with a counter in a global, and a pointer in another."""
    space, constant = target.spaces[1], target.spaces[4]
    thread, block = _IDS[target.vendor]
    pointer = f"ptr addrspace({space})"
    return Module(
        target,
        f"""{head(target)}
@table = internal addrspace({constant}) constant [4 x float] [float 1.0, float 2.0, float 3.0, float 4.0]
@counter = internal addrspace({space}) global i32 0
@where = internal addrspace({space}) global {pointer} @counter
define {target.kernel_convention} void @{name}({pointer} %a, {pointer} %b, {pointer} %c, i32 %n)
    {target.kernel_attributes} {{
  %t = call i32 {thread}()
  %w = call i32 {block}()
  %m = mul i32 %w, 256
  %i = add i32 %t, %m
  %k = icmp slt i32 %i, %n
  br i1 %k, label %inside, label %end
inside:
  %pa = getelementptr float, {pointer} %a, i32 %i
  %pb = getelementptr float, {pointer} %b, i32 %i
  %pc = getelementptr float, {pointer} %c, i32 %i
  %q = and i32 %i, 3
  %pt = getelementptr float, ptr addrspace({constant}) @table, i32 %q
  %va = load float, {pointer} %pa
  %vb = load float, {pointer} %pb
  %vt = load float, ptr addrspace({constant}) %pt
  {body}
  %s2 = fmul float %s, %vt
  store float %s2, {pointer} %pc
  %at = load volatile {pointer}, {pointer} @where
  store volatile i32 1, {pointer} %at
  store {pointer} %pc, {pointer} @where
  br label %end
end:
  ret void
}}
{flags(target)}""",
        name,
    )


def head(target: Target) -> str:
    """The lines that every module begins with."""
    return f'target datalayout = "{target.data_layout}"\ntarget triple = "{target.triple}"'


def flags(target: Target) -> str:
    """The module flags that the target asks for."""
    if not target.module_flags:
        return ""
    nodes = [f"!{index} = {node}" for index, node in enumerate(target.module_flags)]
    return "\n".join([f"!llvm.module.flags = !{{{', '.join(f'!{i}' for i in range(len(nodes)))}}}", *nodes, ""])


def hello(target: Target, exit_code: int = 0) -> tuple[Module, Module]:
    """A program of two objects: `main` prints what the second one computes."""
    main = f"""{head(target)}
@format = private constant [11 x i8] c"%s: %d %g\\0A\\00"
declare i32 @printf(ptr, ...)
declare i32 @seven_times(i32)
define i32 @main(i32 %count, ptr %words) {{
  %last = sub i32 %count, 1
  %place = getelementptr ptr, ptr %words, i32 %last
  %word = load ptr, ptr %place
  %many = call i32 @seven_times(i32 %count)
  call i32 (ptr, ...) @printf(ptr @format, ptr %word, i32 %many, double 1.5)
  ret i32 {exit_code}
}}"""
    other = f"""{head(target)}
define i32 @seven_times(i32 %n) {{
  %x = mul i32 %n, 7
  ret i32 %x
}}
define i32 @never_called(i32 %n) {{
  ret i32 %n
}}"""
    return Module(target, main), Module(target, other)
