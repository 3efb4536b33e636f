"""Training: the only room with torch in it."""
