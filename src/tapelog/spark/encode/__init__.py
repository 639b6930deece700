"""From Arrow to record batches: what the sink writes.

`columns` hands the buffers of an Arrow batch over as bytes, `records` walks the rows and appends each to the batch of
its partition (compiled with mypyc where possible), `encoder` passes full batches on.
"""
