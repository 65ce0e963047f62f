"""Which products and sums are one operation: what is known while compiling, what is computed twice, what is fused."""
