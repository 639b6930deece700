"""Bytes and values of the Kafka protocol: primitives, messages, record batches, error codes.

Imports nothing else of Tapelog.
"""
