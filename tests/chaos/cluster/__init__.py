"""Three nodes as processes, each with a network, a disk and a clock of its own that can fail; what they promised.

`wires` (network namespaces on a bridge), `disks` (a file system each) and `clocks` (a shim) are what is broken, `nodes`
are what runs on them (Tapelog, or Apache Kafka for comparison), `faults` break one or several, `work` is what clients
do meanwhile, `verdict` says what became of it, and `story` tells it all. Root is needed for wires and disks; without
it nodes live on the loopback and in plain directories, and what cannot be broken is left out.
"""
