"""Fused products and sums: known values, value numbers, and the pairs that become one operation."""
