"""The metadata quorum: KRaft's protocol as a machine without I/O.

values.py     replica keys, endpoints, configuration; ports.py: what the machine needs of the world
voters.py     who votes (immutable); history.py: what the log says about it, offset by offset
state_file.py what a replica remembers of an election (`quorum-state`)
roles.py      unattached, prospective, candidate, leader, follower, resigned, and what may follow what
quorum.py     epoch, role, log and high watermark: every change of role goes through it
election.py   pre-votes and votes; leading.py: what a leader does by the clock; serving.py: fetches it answers
following.py  the fetch loop; download.py: snapshots; membership.py: adding and removing voters
machine.py    Raft: all of it behind one door
"""
