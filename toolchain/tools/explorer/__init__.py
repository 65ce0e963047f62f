"""The parts of `ktc explore`: one look at a program, and where each line comes from."""
