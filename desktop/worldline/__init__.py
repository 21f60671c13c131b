"""Worldline: work with a coding agent and see the whole session as a tree."""

__version__ = "0.1.0"
