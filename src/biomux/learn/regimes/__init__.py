"""learn/regimes."""
