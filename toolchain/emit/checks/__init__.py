"""Checks for a program's mistakes (`--check`), put into LLVM's text before it is optimised.

Input: a module for the CPU with line tables, as `codegen` made it. Output: the same with calls of the library's
checks (`stdlib/_check/hooks.kpy`) before accesses to memory, at barriers and fences, and around arithmetic.
Functions marked `alwaysinline` are inlined first and locals become values, so an access that is left is one to memory,
and each value's way through a kernel can be seen; each check names a place in the program that the optimiser cannot
move (`sites`).
"""
