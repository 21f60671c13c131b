"""How a model is reached: one outcome for every exchange, visible retries, fallback, usage and cost."""
