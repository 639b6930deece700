"""What the tests against real processes share: broker processes, a raw connection, bounded waiting."""
