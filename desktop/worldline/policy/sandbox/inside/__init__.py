"""Runs inside the sandbox, before the command. Standard library only, and as few imports as possible: these files are
started by `python -I -S` for every command, and importing `json`, `socket` or `re` would cost more than the sandbox."""
