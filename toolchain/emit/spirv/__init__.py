"""SPIR-V: from an optimised module to what OpenCL loads."""
