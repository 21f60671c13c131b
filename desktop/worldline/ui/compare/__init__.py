"""Attempts side by side."""
