"""LLVM text of types, constants and pure operations."""
