"""What became of everything that was promised. Each function takes books and what was read, and names what is wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from tests.chaos.cluster.work import BALANCE, LEDGER, Book, Place, Seen

Writers = Mapping[str, tuple[int, Mapping[int, Place]]]
"""By writer: how many records it sent, and where those stand that were acknowledged."""

SHOWN = 3


def wrong_writes(writers: Writers, log: Sequence[Seen]) -> list[str]:
    """Acknowledged records that are missing or elsewhere, records that are there twice, out of order, or nobody's."""
    wrong = rising(log)
    found: dict[tuple[str, int], list[Place]] = {}
    last: dict[tuple[str, int], int] = {}
    for partition, offset, value in log:
        name, _, digits = value.decode().partition(" ")
        number = int(digits)
        found.setdefault((name, number), []).append((partition, offset))
        if name not in writers or number >= writers[name][0]:
            wrong.append(f"nobody sent {value!r}")
        if number <= last.get((name, partition), -1):
            wrong.append(f"{value!r} stands behind {last[name, partition]} of the same writer in partition {partition}")
        last[name, partition] = number
    wrong += [f"{name} {number} stands at {places}" for (name, number), places in found.items() if len(places) > 1]
    for name, (_, acknowledged) in writers.items():
        lost = [number for number in acknowledged if (name, number) not in found]
        if lost:
            wrong.append(
                f"{len(lost)} acknowledged records of {name} are lost: {lost[:SHOWN]} at "
                f"{[acknowledged[number] for number in lost[:SHOWN]]}"
            )
        moved = [
            number
            for number, place in acknowledged.items()
            if place[1] >= 0 and (name, number) in found and place not in found[name, number]
        ]
        if moved:
            wrong.append(f"{len(moved)} records of {name} are not where they were acknowledged: {moved[:SHOWN]}")
    return wrong


def wrong_transactions(books: Iterable[Book], ledger: Sequence[Seen], balance: Sequence[Seen]) -> list[str]:
    """Torn transactions, committed ones that are missing, aborted ones that are seen; from committed reads."""
    wrong = rising(ledger) + rising(balance)
    there: Counter[tuple[str, int, bytes]] = Counter((LEDGER, partition, value) for partition, _, value in ledger)
    there.update((BALANCE, partition, value) for partition, _, value in balance)
    for record, count in there.items():
        if count > 1:
            wrong.append(f"{record} is there {count} times")
    known: set[tuple[str, int, bytes]] = set()
    for book in books:
        for one in book.ended:
            known.update(one.records)
            present = sum(1 for record in one.records if there[record])
            if one.outcome == "committed" and present < len(one.records):
                wrong.append(
                    f"{book.name} {one.number} was committed: {present} of {len(one.records)} records are there"
                )
            elif one.outcome == "aborted" and present:
                wrong.append(f"{book.name} {one.number} was aborted: {present} of {len(one.records)} records are there")
            elif 0 < present < len(one.records):
                wrong.append(f"{book.name} {one.number} is torn: {present} of {len(one.records)} records are there")
    wrong += [f"nobody wrote {record}" for record in there if record not in known]
    for log in (ledger, balance):
        wrong += _out_of_order(log)
    return wrong


def _out_of_order(log: Sequence[Seen]) -> list[str]:
    last: dict[tuple[str, int], int] = {}
    wrong = []
    for partition, offset, value in log:
        name, number = value.decode().split(" ")[:2]
        if int(number) < last.get((name, partition), -1):
            wrong.append(f"{value!r} at {partition}/{offset} stands behind a later transaction of the same producer")
        last[name, partition] = int(number)
    return wrong


def wrong_views(what: str, live: Sequence[Seen], log: Sequence[Seen]) -> list[str]:
    """Where somebody who looked on saw something else than the log says in the end."""
    wrong = [f"{what}: {reason}" for reason in rising(live)]
    if list(live) != list(log):
        different = sorted(set(live) ^ set(log))
        only = "live" if different and different[0] in set(live) else "the log"
        wrong.append(f"{what}: {len(different)} records differ, the first in {only} only: {different[:SHOWN]}")
    return wrong


def rising(log: Sequence[Seen]) -> list[str]:
    """Offsets that do not rise, partition by partition."""
    last: dict[int, int] = {}
    for partition, offset, value in log:
        if offset <= last.get(partition, -1):
            return [f"offset {offset} of partition {partition} ({value!r}) comes after {last[partition]}"]
        last[partition] = offset
    return []
