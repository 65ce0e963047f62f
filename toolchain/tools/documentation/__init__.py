"""The parts of `ktc doc`: the model of a module's documentation, pages, highlighting."""
