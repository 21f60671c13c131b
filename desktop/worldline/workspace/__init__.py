"""What the disk looks like: states, restore plans, worktrees, diffs. The only package that speaks libgit2."""
