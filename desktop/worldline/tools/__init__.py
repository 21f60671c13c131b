"""What the model can do: the tool set and the one pipeline that every call goes through."""
