"""Clusters of several nodes side by side with Apache Kafka's: `python -m bench.cluster`."""
