"""Loops of GPU kernels, rewritten in the text that LLVM's passes gave."""
