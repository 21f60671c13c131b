"""Sessions of other agents, read as trees. Source files are only ever read."""
