"""Text of messages: prose, code and tables as widgets of their own."""
