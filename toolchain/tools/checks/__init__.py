"""The parts of `ktc check`: diagnostics of a file, SARIF, which files are meant."""
