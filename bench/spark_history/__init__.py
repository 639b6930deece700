"""History read by Spark straight from an object store: what it costs the broker, and how fast it is, beside Fetch."""
