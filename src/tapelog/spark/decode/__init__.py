"""From record batches, as Fetch answers and tiered segments hold them, to Arrow record batches.

`walk` finds where keys and values lie, `scan` goes from batch to batch and leaves out what readers do not see,
`aborted` knows the transactions, `columns` makes the arrays, `decoder` does all of it for one range.
"""
