"""The chat of the path to the cursor, and the composer."""
