"""Cluster metadata: the controller proposes records, the metadata log commits them, images are replayed from them.

image.py             immutable MetadataImage, what every reader sees
delta.py             ImageDelta: replay of records onto an image, the only way it changes
record_types.py      the kinds of record there are; records.py: their bytes; outcome.py: records + response
controller.py        facade over the handlers: topics, configs, brokers, features, producer_ids (placement, topic_names)
quorum.py            MetadataLog: a quorum of one over a log port; snapshot.py: its snapshots
config_layers.py     effective configuration and where it comes from; config_rules.py: what each resource accepts
describe*.py         read-only answers from an image: Metadata, DescribeCluster, DescribeConfigs, ...
"""
