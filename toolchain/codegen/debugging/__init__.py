"""Debug information: lines, variables and their types, and printers for values of the library."""
