"""Cluster metadata: the controller proposes records, the metadata log commits them, images are replayed from them.

image.py       immutable MetadataImage, what every reader sees
delta.py       ImageDelta: replay of records onto an image, the only way it changes
records.py     Kafka's metadata record framing: bytes <-> record values, and their batches
controller.py  the facade over the handlers (topics, configs, producer_ids, features, brokers)
quorum.py      MetadataLog: a quorum of one over a log port; proposes, commits, publishes, snapshots
describe.py    read-only answers built from an image: Metadata, DescribeCluster, DescribeConfigs, ...
"""
