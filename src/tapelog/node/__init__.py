"""A running node: the synchronous core, and the thin shell that gives it sockets, files and time."""
