"""What is measured: see README.md."""

import biomux  # noqa: F401  first of all, since it switches off the telemetry of runtimes that benchmarks import themselves
