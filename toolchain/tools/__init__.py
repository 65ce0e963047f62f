"""The commands around the compiler: each file is one of them, over the same driver as `ktc build`."""
