"""Coordinators: groups and offsets now, transactions and queues later, each a replayed log.

`core.Runtime` runs any of them; `groups.GroupCoordinator` is the facade the server's handlers call.
"""
