"""Kernels: launches, their targets and attributes."""
