"""How long the stages of a build take, and how that is shown."""
