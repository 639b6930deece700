"""`tape router`: a whole cluster behind one address, for networks that offer no more.

A process of its own and only a client of the cluster: it shows clients one broker, itself, and sends every request on
to the node that can answer it. `main` runs it, `session` is one client's connection, `catalogue` knows who leads what.
"""
