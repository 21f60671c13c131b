"""The window: widgets, item models, dialogs. Draws what the engine says and sends commands."""
