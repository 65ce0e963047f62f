"""LLVM's textual IR: a reader, a model, a writer, and analyses of the control-flow graph.

A `Module` has its entities in order: lines, and functions, which are read when they are asked for. A `Function` has
blocks, a `Block` instructions, phis and a terminator. An `Instruction` is its text; every part of it is found when it
is asked for and then kept, so that a pass that looks at the opcodes pays for these alone. Writing what was read gives
the same text.

All else in `emit` that looks at LLVM's text asks here for names, types, operands and attachments; what a pass looks
for in an instruction is its own affair. Source: LLVM, "LLVM Language Reference Manual"; text of LLVM 14 (typed
pointers) to 22.
"""
