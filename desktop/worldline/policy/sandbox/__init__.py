"""Confinement of the commands that the agent runs: what is enforced, what was refused, and what it was called.

Linux with user namespaces: bubblewrap + seccomp + an observer that names refusals ("complete"). Linux without them:
Landlock + seccomp ("partial"). macOS: a sandbox profile (written, not tested). Elsewhere: nothing ("none"), and said so.
"""
