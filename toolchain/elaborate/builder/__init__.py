"""The IR of one function: statements, places, temporaries, constants, moves."""
