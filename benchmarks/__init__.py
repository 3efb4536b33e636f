"""What is measured: see README.md."""
