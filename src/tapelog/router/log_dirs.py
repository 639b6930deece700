"""DescribeLogDirs: the directories of all nodes, each partition once, as its leader has it.

The one broker that clients see holds everything once; what followers hold is not shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tapelog.router.frames import Call, framed
from tapelog.router.upstream import NodeLostError
from tapelog.wire.messages.describe_log_dirs_response import DescribeLogDirsResponse, DescribeLogDirsResult

if TYPE_CHECKING:
    from tapelog.router.session import Session


async def describe(session: Session, call: Call) -> bytes:
    """Directories are named after their node: `node-2:/var/lib/…`."""
    catalogue = session.catalogue
    answers: dict[int, DescribeLogDirsResponse] = {}
    for node in list(catalogue.nodes):
        try:
            answers[node] = call.answer(await session.ask(node, framed(call.payload)))
        except NodeLostError:
            continue
    await catalogue.locate(
        (topic.name, part.partition_index)
        for answer in answers.values()
        for directory in answer.results
        for topic in directory.topics
        for part in topic.partitions
    )
    found: list[DescribeLogDirsResult] = []
    for node, answer in answers.items():
        for directory in answer.results:
            directory.log_dir = f"node-{node}:{directory.log_dir}"
            for topic in directory.topics:
                topic.partitions = [
                    part for part in topic.partitions if catalogue.leader(topic.name, part.partition_index) == node
                ]
            directory.topics = [topic for topic in directory.topics if topic.partitions]
            found.append(directory)
    errors = [answer.error_code for answer in answers.values() if answer.error_code]
    response = DescribeLogDirsResponse(results=found)
    if errors and call.version >= 3:
        response.error_code = errors[0]
    return call.reply(response)
