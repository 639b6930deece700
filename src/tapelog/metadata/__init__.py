"""Cluster metadata: the controller proposes records, the metadata log commits them, images are replayed from them.

image.py             immutable MetadataImage, what every reader sees
delta.py             ImageDelta: replay of records onto an image, the only way it changes
record_types.py      the kinds of record there are; records.py: their bytes; outcome.py: records + response
controller.py        facade over the handlers: topics, configs, features, producer_ids (placement, topic_names)
                     brokers, heartbeat, alter_partition, elect_leaders, reassignment, directories
election.py          leader, ISR and ELR of one partition: the one place that decides them, for an electorate.py;
                     partition_changes.py: for everything a broker holds; eligible.py: when the rules change
sessions.py          which brokers are alive (soft state); upkeep.py: what the active controller does by the clock
quorum.py            MetadataLog: a quorum of one over a log port; snapshot.py: its snapshots
config_layers.py     effective configuration and where it comes from; config_rules.py: what each resource accepts
describe*.py         read-only answers from an image: Metadata, DescribeCluster, DescribeConfigs, ...
"""
