"""The window's side of the protocol: starts the engine process, sends commands, delivers batches to the GUI thread."""
