"""learn/heads."""
