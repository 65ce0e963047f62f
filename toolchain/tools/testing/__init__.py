"""The parts of `ktc test`: finding tests, the program that runs them, results."""
