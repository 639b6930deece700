"""`tape cluster add-voter`: a node with a new disk, or a new node, joins the metadata quorum.

A disk that was replaced has another directory id, so its node is no voter any more: it observes until it is added. What
the quorum remembers of the old disk is taken out first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from tapelog.cli.options import DEFAULT_BOOTSTRAP, Bootstrap, Json, Properties, Timeout, Yes
from tapelog.cli.output import EXIT_FAILED, EXIT_NOT_FOUND, EXIT_USAGE, CliError, emit
from tapelog.cli.prompt import confirm
from tapelog.cli.txn_options import open_wire

if TYPE_CHECKING:
    from tapelog.base.node_config import NodeConfig
    from tapelog.cli.raw import Wire


def add_voter(
    directory: Annotated[str, typer.Argument(metavar="DIR/node-N", help="The node's directory, on its machine.")],
    yes: Yes = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    timeout: Timeout = 30.0,
    json: Json = False,
) -> None:
    """Make a running node a voter of the metadata quorum, after its disk was replaced, say.

    Example: tape cluster add-voter ./tapelog-data/node-2 --yes
    """
    from tapelog.base.ids import to_text
    from tapelog.cli import cluster_asks

    config, directory_id = _identity(directory)
    with open_wire(bootstrap, properties, timeout) as wire:
        quorum = cluster_asks.describe_quorum(wire)
        same = [one for one in quorum.voters if one.id == config.node_id]
        if any(one.directory_id == directory_id for one in same):
            raise CliError(
                f"node {config.node_id} is a voter already", "`tape cluster describe` shows them", EXIT_FAILED
            )
        replaced = f" in place of its old disk {to_text(same[0].directory_id)}" if same else ""
        confirm(f"make node {config.node_id} a voter{replaced}?", yes)
        for one in same:
            remove(wire, one.id, one.directory_id)
        _add(wire, config, directory_id, timeout)
    document = {"voter": config.node_id, "directory_id": to_text(directory_id), "replaced": bool(same)}
    emit(json, document, lambda: [Text(f"node {config.node_id} votes now{replaced}")])


def _identity(directory: str) -> tuple[NodeConfig, bytes]:
    """Who the node is: from its node.toml and its log directory."""
    from tapelog.cli import cluster_files, node_files

    try:
        config = node_files.load(directory)
    except FileNotFoundError:
        raise CliError(f"there is no node.toml in {directory}", "give a node's directory", EXIT_NOT_FOUND) from None
    except ValueError as error:
        raise CliError(f"{directory}: {error}", "change its node.toml", EXIT_USAGE) from None
    directory_id = cluster_files.directory_id_in(config.metadata_log_dir)
    if directory_id is None:
        raise CliError(
            f"the node in {directory} has never run", f"start it first: `tape node {directory}`", EXIT_FAILED
        )
    if config.controller_listener is None:
        raise CliError(
            f"node {config.node_id} has no controller_listener",
            'in its node.toml set roles = ["broker", "controller"] and controller_listener, and restart it',
            EXIT_USAGE,
        )
    return config, directory_id


def _add(wire: Wire, config: NodeConfig, directory_id: bytes, timeout_s: float) -> None:
    from tapelog.cli.raw import check
    from tapelog.wire.messages.add_raft_voter_request import AddRaftVoterRequest, Listener
    from tapelog.wire.messages.add_raft_voter_response import AddRaftVoterResponse

    listener = config.controller_listener
    assert listener is not None
    request = AddRaftVoterRequest(
        config.cluster_id,
        int(timeout_s * 1000),
        config.node_id,
        directory_id,
        [Listener(listener.name, listener.host, listener.port)],
    )
    told = wire.ask(request, AddRaftVoterResponse)
    check(
        told.error_code,
        told.error_message or f"node {config.node_id} cannot vote",
        "is it running, and has it caught up? `tape cluster describe`",
    )


def remove(wire: Wire, number: int, directory_id: bytes) -> None:
    """Take a voter out of the quorum."""
    from tapelog.cli.raw import check
    from tapelog.wire.messages.remove_raft_voter_request import RemoveRaftVoterRequest
    from tapelog.wire.messages.remove_raft_voter_response import RemoveRaftVoterResponse

    told = wire.ask(RemoveRaftVoterRequest(None, number, directory_id), RemoveRaftVoterResponse)
    check(
        told.error_code,
        told.error_message or f"voter {number} cannot leave the quorum",
        "a quorum with a fixed list of voters (controller.quorum.voters) cannot change",
    )
