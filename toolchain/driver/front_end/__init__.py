"""The stages that need no LLVM, and the library's kept functions for them."""
