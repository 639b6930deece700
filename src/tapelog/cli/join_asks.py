"""What `tape format --join` asks a running cluster, and the command itself."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tapelog.cli.cluster_files import PlanError, PlannedNode
from tapelog.cli.join import Joining, RunningBroker, RunningCluster, Voter, planned_join, unreachable
from tapelog.cli.starting import EXIT_USAGE, UpError

if TYPE_CHECKING:
    from tapelog.cli.cluster_state import Broker
    from tapelog.cli.raw import Wire
    from tapelog.wire.messages.describe_configs_response import DescribeConfigsResult
    from tapelog.wire.messages.describe_quorum_response import DescribeQuorumResponse

ASK_S = 10.0
CONNECT_S = 2.0
STATIC_BROKER_CONFIG = 4
"""DescribeConfigs: the value comes from the broker's start, not from a change made later."""


def joined(
    bootstrap: str,
    data: str,
    address: tuple[str, int],
    *,
    controller: bool,
    node_id: int | None,
    settings: Mapping[str, str],
    places: Sequence[str] = (),
) -> Joining:
    """The new node's directory, planned. UpError says why it cannot be."""
    from tapelog.cli.output import EXIT_UNREACHABLE, CliError
    from tapelog.cli.txn_options import open_wire

    try:
        with open_wire(bootstrap, None, ASK_S) as wire:
            cluster = running(wire)
    except CliError as error:
        ours = error.exit_code in (EXIT_UNREACHABLE, EXIT_USAGE)
        hint = "--join takes the address of a running broker of the cluster, as clients use it: HOST:PORT"
        raise UpError(error.message, hint if ours else error.hint, error.exit_code) from None
    try:
        plan = planned_join(
            cluster, data, address, controller=controller, node_id=node_id, settings=settings, places=places
        )
    except PlanError as error:
        raise UpError(str(error), error.hint, EXIT_USAGE) from None
    except ValueError as error:
        raise UpError(str(error), "--set takes Kafka's broker configs; `tape format --help`", EXIT_USAGE) from None
    return Joining(plan.node, (*plan.remarks, *unreachable(cluster.voters, _silent(cluster.voters))))


def next_steps(node: PlannedNode, bootstrap: str) -> list[str]:
    """What the operator does when the node runs."""
    steps = [f"`tape rebalance --plan --bootstrap {bootstrap}` then shows what would move to it"]
    if node.config.is_controller:
        where = f"{node.directory} --bootstrap {bootstrap}"
        steps.append(f"`tape cluster add-voter {where}` makes it a voter, once it runs")
    return steps


def running(wire: Wire) -> RunningCluster:
    """The cluster now."""
    from tapelog.cli import cluster_asks
    from tapelog.wire.messages.api_versions_request import ApiVersionsRequest
    from tapelog.wire.messages.api_versions_response import ApiVersionsResponse

    cluster_id, _, found = cluster_asks.brokers(wire)
    quorum = cluster_asks.ask_quorum(wire)
    part = quorum.topics[0].partitions[0]
    features = wire.ask(
        ApiVersionsRequest(client_software_name="tape", client_software_version="1"), ApiVersionsResponse
    )
    answers = [_asked(wire, one) for one in found if not one.fenced]
    return RunningCluster(
        cluster_id,
        [one for one in answers if one is not None],
        _voters(quorum),
        frozenset([one.id for one in found] + [one.replica_id for one in (*part.current_voters, *part.observers)]),
        {one.name: one.max_version_level for one in features.finalized_features},
    )


def _voters(quorum: DescribeQuorumResponse) -> list[Voter]:
    from tapelog.base.ids import to_text
    from tapelog.cli.output import CliError

    endpoints = {node.node_id: node.listeners[0] for node in quorum.nodes if node.listeners}
    found = []
    for one in quorum.topics[0].partitions[0].current_voters:
        listener = endpoints.get(one.replica_id)
        if listener is None:
            raise CliError(
                f"the cluster does not tell where the controller of node {one.replica_id} listens",
                "write node.toml by hand, with `voters` as another node has them (docs/operate/cluster.md)",
            )
        found.append(Voter(one.replica_id, listener.host, listener.port, to_text(one.replica_directory_id)))
    return found


def _asked(wire: Wire, broker: Broker) -> RunningBroker | None:
    """What the broker says of itself; None if it is not there, though nobody has noticed yet."""
    from tapelog.cli.cluster_asks import BROKER
    from tapelog.cli.output import EXIT_UNREACHABLE, CliError
    from tapelog.wire.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
    from tapelog.wire.messages.describe_configs_response import DescribeConfigsResponse

    request = DescribeConfigsRequest([DescribeConfigsResource(BROKER, str(broker.id), None)], include_synonyms=True)
    try:
        (result,) = wire.ask(request, DescribeConfigsResponse, broker.node).results
    except CliError as error:
        if error.exit_code == EXIT_UNREACHABLE:
            return None
        raise
    tapelog = any(entry.name.startswith("tapelog.") for entry in result.configs)
    return RunningBroker(broker.id, broker.node.host, broker.node.port, static_settings(result), tapelog)


def static_settings(result: DescribeConfigsResult) -> dict[str, str]:
    """What the broker was started with, also where it was changed since."""
    return {
        entry.name: synonym.value
        for entry in result.configs
        for synonym in entry.synonyms
        if (synonym.source, synonym.name) == (STATIC_BROKER_CONFIG, entry.name) and synonym.value is not None
    }


def _silent(voters: Sequence[Voter]) -> dict[int, str]:
    """Voter id → why its controller cannot be connected to from here."""
    found = {}
    for one in voters:
        try:
            socket.create_connection((one.host, one.port), CONNECT_S).close()
        except OSError as error:
            found[one.id] = str(error.strerror or error)
    return found
