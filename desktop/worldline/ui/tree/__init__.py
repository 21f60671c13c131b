"""The tree: painted by hand over flat arrays."""
