"""Many small clients in one process: members of a group, groups that commit. `python -m bench.swarm --help`."""
