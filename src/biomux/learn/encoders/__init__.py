"""learn/encoders."""
