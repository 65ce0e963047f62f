"""What debuggers are told: lines, variables and their types, and how values of the library are shown."""
