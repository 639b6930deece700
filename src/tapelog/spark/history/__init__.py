"""History straight from storage: sealed segments of a tiered topic, read from its bucket without asking a broker.

On the driver `shelves` reads manifests and tells which objects hold what of a partition; `plan.history` cuts ranges by
them; in the executors `reading` gives record batches as a Fetch would. The layout is the tier's own (`log/tier`, of
which only its pure descriptions are imported), documented in docs/operate/tier-format.md.
"""
