"""Old segments in an object store: layout, manifest, and the machines that upload, delete and verify (ADR 0015)."""
