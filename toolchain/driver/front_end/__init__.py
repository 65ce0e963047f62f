"""The stages that need no LLVM, and what the cache has of the library for them."""
