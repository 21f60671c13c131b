"""Sessions as files for others: JSON lines (lossless, read back by `import`), one HTML page, Markdown of a branch."""
