"""Types: structs, traits, functions; parameters and unification; how types print."""
