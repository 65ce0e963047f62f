"""Units to objects: lowering, the cache, and LLVM for the host and all kernels side by side."""
