"""A small Kafka client on `wire`, as a machine over the net port: what nodes use to talk to each other."""
