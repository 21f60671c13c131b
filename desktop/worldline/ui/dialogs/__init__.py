"""Dialogs. Opened, never executed; every one can be left without harm."""
