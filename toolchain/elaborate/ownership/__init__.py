"""The targets of references, and conflicts between accesses."""
