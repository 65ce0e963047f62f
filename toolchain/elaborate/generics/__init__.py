"""Parameters: binding, unification, archetypes, function types, conformance."""
