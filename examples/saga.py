"""Saga: a trip of three bookings that all succeed, or are all undone.

Each step answers `booked` or `refused`; the coordinator reads the answers and sends the next command, or compensations
for what was booked before. Every hop is an `exactly_once` loop: no booking is made or cancelled twice, and the
coordinator has no database, because its state travels in the messages.

Run it:  .venv/bin/python examples/saga.py [--bootstrap host:port]
"""

from __future__ import annotations

import time
import uuid
from collections import Counter
from contextlib import ExitStack
from typing import Any

from _broker import bootstrap, publish, topics

from tapelog.toolkit import Handler, Record, Send, at_least_once, exactly_once

STEPS = ["flight", "hotel", "car"]
TRIPS = 12
SOLD_OUT = {("hotel", 3), ("car", 5), ("car", 8), ("flight", 10)}
PATIENCE_S = 60


def service(step: str, answers: str) -> Handler:
    """Books one kind of thing: gets a command, book or cancel, and answers it."""

    def handle(record: Record) -> Send:
        command = record.json()
        refused = command["do"] == "book" and (step, command["trip"]) in SOLD_OUT
        outcome = "refused" if refused else {"book": "booked", "cancel": "cancelled"}[command["do"]]
        return Send.json(answers, {**command, "step": step, "outcome": outcome}, key=record.key)

    return handle


def coordinator(commands: dict[str, str], ended: str) -> Handler:
    """What follows from an answer: the next command, the end of the trip, or the way back."""

    def command(do: str, step: str, record: Record, done: list[str]) -> Send:
        return Send.json(commands[step], {"do": do, "trip": record.json()["trip"], "done": done}, key=record.key)

    def end(record: Record, how: str) -> Send:
        return Send.json(ended, {"trip": record.json()["trip"], "end": how}, key=record.key)

    def handle(record: Record) -> list[Send]:
        answer = record.json()
        done = answer["done"]
        if answer["outcome"] == "cancelled":
            return []
        if answer["outcome"] == "refused":
            return [*(command("cancel", step, record, []) for step in done), end(record, f"no {answer['step']}")]
        done = [*done, answer["step"]]
        if len(done) == len(STEPS):
            return [end(record, "booked")]
        return [command("book", STEPS[len(done)], record, done)]

    return handle


def read(address: str, topic: str) -> list[Any]:
    """Everything in a topic."""
    found: list[Any] = []
    at_least_once(address, group=uuid.uuid4().hex, topics=topic, handle=lambda record: found.append(record.json())).run(
        to_end=True
    )
    return found


def main() -> None:
    """Start the services and the coordinator, send trips, look what became of them."""
    with bootstrap(__doc__ or "") as address, ExitStack() as running:
        *command_topics, answers, ended = topics(address, *STEPS, "answers", "ended")
        commands = dict(zip(STEPS, command_topics, strict=True))
        handlers = {commands[step]: service(step, answers) for step in STEPS}
        handlers[answers] = coordinator(commands, ended)
        for topic, handle in handlers.items():
            running.enter_context(exactly_once(address, group=topic, topics=topic, handle=handle))

        first = commands[STEPS[0]]
        publish(
            address,
            (Send.json(first, {"do": "book", "trip": trip, "done": []}, key=str(trip)) for trip in range(TRIPS)),
        )

        refused = {trip: step for step, trip in SOLD_OUT}
        cancellations = sum(STEPS.index(step) for step in refused.values())
        deadline = time.monotonic() + PATIENCE_S
        said: Counter[tuple[str, int, str]] = Counter()
        ends: dict[int, str] = {}
        while len(ends) < TRIPS or sum(n for (*_, what), n in said.items() if what == "cancelled") < cancellations:
            assert time.monotonic() < deadline, said
            said = Counter((answer["step"], answer["trip"], answer["outcome"]) for answer in read(address, answers))
            ends = {end["trip"]: end["end"] for end in read(address, ended)}
        still = {
            step: sum(said[step, t, "booked"] - said[step, t, "cancelled"] for t in range(TRIPS)) for step in STEPS
        }
        print("ended:", dict(sorted(ends.items())))
        print("still booked:", still)
        assert set(said.values()) == {1}, "something was done twice"
        assert ends == {trip: f"no {refused[trip]}" if trip in refused else "booked" for trip in range(TRIPS)}
        assert still == dict.fromkeys(STEPS, TRIPS - len(refused))
        print("saga: ok")


if __name__ == "__main__":
    main()
