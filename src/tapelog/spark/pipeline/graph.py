"""The graph of sources and steps: who is made from whom, in which order, and what is a stream."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tapelog.spark.pipeline.model import FileSource, Part, TopicSource
from tapelog.spark.pipeline.problems import Problems


def upstream(name: str, parts: Mapping[str, Part]) -> tuple[str, ...]:
    """A part and everything that it is made from."""
    seen: dict[str, None] = {}
    todo = [name]
    while todo:
        one = todo.pop()
        if one not in seen:
            seen[one] = None
            todo += [other for other in parts[one].inputs if other in parts]
    return tuple(seen)


def wanted(order: list[str], parts: Mapping[str, Part], origins: Iterable[str]) -> list[str]:
    """What these are made from, in order."""
    used = {name for origin in origins for name in upstream(origin, parts)}
    return [name for name in order if name in used]


def ordered(parts: Mapping[str, Part], problems: Problems) -> list[str]:
    """Inputs before what reads them, otherwise as declared; a circle is a mistake, named by its members."""
    made: dict[str, None] = {}
    waiting = list(parts)
    while waiting:
        ready = [name for name in waiting if all(one in made for one in parts[name].inputs)]
        if not ready:
            circle = _circle(waiting[0], parts, made)
            problems.add(parts[circle[0]].line, f"{' → '.join((*circle, circle[0]))} is a circle: break it.")
            return list(made)
        made |= dict.fromkeys(ready)
        waiting = [name for name in waiting if name not in made]
    return list(made)


def _circle(name: str, parts: Mapping[str, Part], made: Mapping[str, None]) -> list[str]:
    walked: list[str] = []
    while name not in walked:
        walked.append(name)
        name = next(one for one in parts[name].inputs if one not in made)
    circle = walked[walked.index(name) :][::-1]
    first = min(range(len(circle)), key=lambda place: parts[circle[place]].line)
    return circle[first:] + circle[:first]


def streams_of(order: list[str], parts: Mapping[str, Part]) -> set[str]:
    """Parts whose rows keep coming."""
    found: set[str] = set()
    for name in order:
        does = parts[name].does
        reads = isinstance(does, TopicSource | FileSource) and does.stream
        if reads or any(one in found for one in parts[name].inputs):
            found.add(name)
    return found
