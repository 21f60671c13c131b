"""Colours for code: one pass of a regular expression a line, painted lines, code blocks."""
