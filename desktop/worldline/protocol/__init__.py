"""All that crosses between the window and the engine: commands, results and notifications, versioned."""
