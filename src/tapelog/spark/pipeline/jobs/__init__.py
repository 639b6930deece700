"""Built-in jobs: some are pipelines that nobody has to write (`documents`), others look at history once and report."""
