"""Event sourcing: the log is the truth, the state is what replay makes of it.

Commands (deposit, withdraw) become events, exactly once; a command that would overdraw becomes a refusal. The balance
of an account is nowhere stored: it is the sum of its events, rebuilt from the topic by whoever wants it.

Run it:  .venv/bin/python examples/event_sourcing.py [--bootstrap host:port]
"""

from __future__ import annotations

from collections import defaultdict

from _broker import bootstrap, publish, topics

from tapelog.toolkit import Record, Send, at_least_once, exactly_once

COMMANDS = [("ann", 100), ("bob", 50), ("ann", -30), ("bob", -80), ("ann", -70), ("ann", -1), ("bob", 25)]


class Accounts:
    """The state: what the events say, in order."""

    def __init__(self) -> None:
        self.balance: dict[str, int] = defaultdict(int)

    def apply(self, event: Record) -> None:
        """Replay one event."""
        fact = event.json()
        if fact["type"] == "moved":
            self.balance[fact["account"]] += fact["amount"]


def replay(address: str, events: str, group: str) -> Accounts:
    """The state as of now, from the log alone."""
    accounts = Accounts()
    at_least_once(address, group=group, topics=events, handle=accounts.apply).run(to_end=True)
    return accounts


def main() -> None:
    """Commands in, events out, state by replay."""
    with bootstrap(__doc__ or "") as address:
        commands, events = topics(address, "commands", "events", partitions=1)
        publish(
            address,
            (Send.json(commands, {"account": account, "amount": amount}, key=account) for account, amount in COMMANDS),
        )

        known = replay(address, events, f"{events}-decider")  # a decider that restarts begins by replaying

        def decide(command: Record) -> Send:
            wanted = command.json()
            enough = known.balance[wanted["account"]] + wanted["amount"] >= 0
            if enough:
                known.balance[wanted["account"]] += wanted["amount"]
            return Send.json(events, {"type": "moved" if enough else "refused", **wanted}, key=command.key)

        exactly_once(address, group=f"{commands}-decider", topics=commands, handle=decide).run(to_end=True)

        balances = dict(sorted(replay(address, events, f"{events}-auditor").balance.items()))
        print("balances by replay:", balances)
        assert balances == {"ann": 0, "bob": 75}
        print("event sourcing: ok")


if __name__ == "__main__":
    main()
