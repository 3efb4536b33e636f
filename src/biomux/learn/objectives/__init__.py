"""learn/objectives."""
