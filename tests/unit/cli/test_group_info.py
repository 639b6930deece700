"""Groups as values: partitions in few characters, states in words, the newer protocol's description."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tapelog.cli.group_describe import head_text, members_table
from tapelog.cli.group_info import GroupInfo, Member, from_answer, span, words_of
from tapelog.wire.messages import consumer_group_describe_response as answers


def test_partitions_are_written_in_runs() -> None:
    assert span([("b", 1), ("a", 0), ("a", 1), ("a", 2), ("a", 5)]) == "a:0-2,5 b:1"
    assert span([]) == ""


@given(st.sets(st.integers(0, 40)))
def test_runs_name_every_partition_once(numbers: set[int]) -> None:
    named: list[int] = []
    for part in span(("t", number) for number in numbers).removeprefix("t:").split(","):
        first, _, last = part.partition("-")
        if first:
            named += range(int(first), int(last or first) + 1)
    assert named == sorted(numbers)


def test_states_are_words() -> None:
    assert words_of("PreparingRebalance") == "preparing rebalance"
    assert words_of("Stable") == "stable"


def test_a_member_on_its_way_shows_what_is_still_to_change() -> None:
    def assigned(*numbers: int) -> answers.Assignment:
        return answers.Assignment([answers.TopicPartitions(topic_name="t", partitions=list(numbers))])

    told = answers.DescribedGroup(
        group_id="g",
        group_state="Reconciling",
        group_epoch=7,
        assignment_epoch=6,
        assignor_name="uniform",
        members=[
            answers.Member(
                member_id="m",
                member_epoch=5,
                client_id="c",
                client_host="/10.0.0.1",
                subscribed_topic_names=["t"],
                assignment=assigned(0, 1),
                target_assignment=assigned(1, 2),
                member_type=1,
            )
        ],
    )
    info = from_answer(GroupInfo("g", "consumer", "unknown"), told)
    assert (info.state, info.epoch, info.assignment_epoch, info.assignor) == ("reconciling", 7, 6, "uniform")
    (member,) = info.members
    assert (member.epoch, member.host, member.protocol, member.settled) == (5, "10.0.0.1", "consumer", False)
    assert info.owners == {("t", 0): member, ("t", 1): member}
    (shown,) = members_table(info, True)
    assert next(iter(shown.columns[-1].cells)).plain == "gets t:2 gives t:0"
    assert head_text(info) == "consumer group, reconciling, 1 member, assignor uniform, epoch 7"


def test_a_classic_member_has_no_target_and_is_settled() -> None:
    assert Member("m", partitions=(("t", 0),)).settled
