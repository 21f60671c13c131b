"""Rows, positions and texts of the window, computed without Qt."""
