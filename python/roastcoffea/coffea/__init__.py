"""All that touches the user's run: calls of the Runner are watched, and what they hand out is recorded."""
