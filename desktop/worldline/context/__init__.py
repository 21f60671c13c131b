"""What the model sees: the view of a path, its repairs, budgets and compaction. Pure functions."""
