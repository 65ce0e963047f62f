"""Parse-tree rules to syntax nodes: one mixin a kind of construct, joined in `builder.py`."""
