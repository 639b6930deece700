"""What compaction costs: `python -m bench.compaction beside` and `python -m bench.compaction keys`."""
