"""Changed files and their diffs."""
