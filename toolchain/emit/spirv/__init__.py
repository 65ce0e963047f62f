"""SPIR-V: from an optimised module to the binary that OpenCL loads."""
