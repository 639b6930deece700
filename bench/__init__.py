"""Side by side in one run: Tapelog, Apache Kafka and, where present, Redis Streams, NATS JetStream and RabbitMQ.

`python -m bench` (or `make bench`) is the one command; README.md says what is measured and how to read it.
Nothing here imports the broker: it is measured from outside, as a process.
"""
