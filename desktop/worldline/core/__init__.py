"""What happened, as seen from both processes: kinds, stop reasons, errors, ids, usage, paths."""
