"""A directory for the path of Spark's Python workers: its `sitecustomize` runs before anything else does there.

`source/workers` puts it there, in local mode.
"""
