"""The data of elaboration: types, values, declarations, instances, its state, and the interface of the recursion."""
