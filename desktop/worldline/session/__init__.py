"""What happened: the append-only session document (SQLite), its tree, search, import and export."""
