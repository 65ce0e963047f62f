"""Entry points for drivers: kernels for each kind of target, and the heads of functions."""
