"""The `tape` command. `main.py` is the entry; every command group has its own file.

The broker commands (`up`, `node`) start without typer, rich or a Kafka client; all the others are
clients of the Kafka protocol and work against any cluster that speaks it.
"""
