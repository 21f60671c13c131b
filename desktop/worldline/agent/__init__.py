"""The loop: turns, tool execution, breaker, brakes, backtracking, cancellation."""
