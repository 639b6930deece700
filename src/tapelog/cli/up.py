"""`tape up`, `tape node` and `tape format`: run nodes in the foreground. Imports nothing that a node does not need.

`tape up` writes `DIR/node-<i>/node.toml` from its options (ids are kept from an earlier start) and runs the node, or
with several of them a supervisor that runs each; `tape format` only writes. `tape node DIR/node-<i>` runs a node from
that file as it stands. Each keeps `pid` beside it while the node lives.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from tapelog.cli.starting import (
    DEFAULT_DATA,
    DEFAULT_LISTEN,
    EXIT_NOT_FOUND,
    EXIT_USAGE,
    UpError,
    cannot_listen,
    parse,
    parse_address,
    parse_settings,
    refuse_live,
    refuse_taken,
    told,
)

if TYPE_CHECKING:
    from tapelog.base.node_config import NodeConfig

CONTROLLER_PORT_TRIES = 3

HELP = {
    "listen": "Where clients connect; port 0 takes a free one.",
    "data": "Where everything is kept.",
    "log-dir": "Another place for logs, as a second disk; each node keeps some of its partitions there. Repeatable.",
    "nodes": "How many nodes, on ports from PORT up. Default: as many as DIR has, else one.",
    "set": "A Kafka broker config, e.g. --set num.partitions=3. Repeatable.",
    "bare": "Serve the Kafka protocol only. Changes nothing yet: a broker serves nothing else.",
    "json": "Print the ready line and errors as JSON.",
    "on": "A node on that machine; its controller is one port further. Repeatable.",
    "join": "Make a node for this running cluster, on the machine that --on names.",
    "controller": "With --join: the node can be made a voter, by `tape cluster add-voter`.",
    "id": "With --join: the new node's id. Default: one above all that are known.",
    "from": "Take settings from server.properties of Apache Kafka; names each line that is not taken over.",
    "directory": "A node's directory, made by `tape up` or `tape format`.",
}
PARENT_FLAG = "TAPELOG_PARENT"
"""With this in the environment the node ends when its standard input does: that is, when its parent has gone.
The value `remove` also removes the data directory then, `remove-node` only the node's own (and the data directory when
it was the last). `tapelog.testing` sets it."""


def run_quick(words: Sequence[str]) -> int:
    """`up …`, `node …` or `format …` as typed, without a command line framework."""
    as_json = "--json" in words
    try:
        if words[0] == "node":
            _, positional = parse(words[1:], flags=("--json",))
            if len(positional) != 1:
                raise UpError("which node?", "tape node DIR/node-1", EXIT_USAGE)
            return run_node(positional[0], as_json=as_json)
        formats = words[0] == "format"
        more = ("--on", "--join", "--id", "--from") if formats else ()
        valued = ("--listen", "--data", "--log-dir", "--nodes", "--set", *more)
        flags = ("--json", "--controller" if formats else "--bare")
        found, positional = parse(words[1:], valued=valued, flags=flags)
        if positional:
            raise UpError(f"what is {positional[0]!r}?", f"tape {words[0]} --help", EXIT_USAGE)
        nodes, settings, places = _number(found, "--nodes"), found.get("--set", []), found.get("--log-dir", [])
        data = found.get("--data", [DEFAULT_DATA])[-1]
        if formats:
            from tapelog.cli.format import Wanted, run_format

            wanted = Wanted(
                data,
                listen=_last(found, "--listen"),
                nodes=nodes,
                on=found.get("--on", []),
                join=_last(found, "--join"),
                controller="--controller" in found,
                node_id=_number(found, "--id"),
                source=_last(found, "--from"),
                settings=settings,
                places=places,
            )
            return run_format(wanted, as_json=as_json)
        listen = found.get("--listen", [DEFAULT_LISTEN])[-1]
        return run_up(listen, data, nodes, settings, "--bare" in found, places, as_json=as_json)
    except UpError as error:
        return told(error, as_json)


def _last(found: Mapping[str, list[str]], name: str) -> str | None:
    """An option's value, the last one if it was given several times."""
    return found[name][-1] if name in found else None


def _number(found: Mapping[str, list[str]], name: str) -> int | None:
    text = _last(found, name)
    if text is not None and not (text.isascii() and text.isdigit()):
        raise UpError(f"{name} {text!r} is not a number", f"{name} 3", EXIT_USAGE)
    return None if text is None else int(text)


def run_up(
    listen: str,
    data: str,
    nodes: int | None,
    settings: Sequence[str],
    bare: bool,
    places: Sequence[str] = (),
    *,
    as_json: bool = False,
) -> int:
    """Run the nodes of a new or existing data directory; returns the exit code."""
    try:
        host, port = parse_address(listen)
        chosen = parse_settings(settings)
        from tapelog.cli import up_cluster

        count = up_cluster.size(data, nodes)
        if count is not None:
            plan = up_cluster.prepared(data, host, port, count, chosen, places)
            afterwards = watch_parent(plan[0].directory) if PARENT_FLAG in os.environ else None
            code = up_cluster.run(plan, as_json)
            if afterwards is not None:
                afterwards()
            return code
        directory = os.path.join(data, "node-1")
        refuse_live(directory)
        from tapelog.cli import node_files

        if port:
            refuse_taken(host, port)
        try:
            config = node_files.configured(directory, host, port, chosen, places)
        except ValueError as error:
            from tapelog.cli.up_cluster import refused

            raise refused(error, [directory]) from None
        try:
            node_files.save(config, directory)
        except OSError as error:
            raise UpError(f"cannot write to {directory}: {error.strerror}", "give another place with --data") from None
        return _run(config, directory, as_json)
    except UpError as error:
        return told(error, as_json)


def run_node(directory: str, *, as_json: bool = False) -> int:
    """Run the node whose directory this is; returns its exit code."""
    from tapelog.cli import node_files

    try:
        path = os.path.join(directory, node_files.CONFIG_FILE)
        if not os.path.isfile(path):
            from tapelog.cli.cluster_files import directory_of, present

            inside = [directory_of(directory, number) for number in present(directory)]
            hint = "`tape up --data DIR` and `tape format --data DIR` make DIR/node-1 with its node.toml"
            if inside:
                also = f" (there are {len(inside)} nodes)" if len(inside) > 1 else ""
                hint = f"did you mean `tape node {inside[0]}`?{also}"
            raise UpError(f"there is no {path}", hint, EXIT_NOT_FOUND)
        refuse_live(directory)
        try:
            config = node_files.load(directory)
        except ValueError as error:
            raise UpError(f"{path}: {error}", "change it there", EXIT_USAGE) from None
        for listener in config.listeners:
            if listener.port:
                refuse_taken(listener.host, listener.port)
        return _run(config, directory, as_json)
    except UpError as error:
        return told(error, as_json)


def _run(config: NodeConfig, directory: str, as_json: bool) -> int:
    """Run the node until it is told to stop."""
    from tapelog.base.ports import DiskError
    from tapelog.cli import node_files
    from tapelog.log.manager import WrongDirectoryError
    from tapelog.metadata.delta import MetadataReplayError
    from tapelog.node.main import DirectoryInUseError, run

    afterwards = watch_parent(directory) if PARENT_FLAG in os.environ else None
    node_files.anchor(config)

    def ready(addresses: str) -> None:
        listener = config.listeners[0] if config.listeners else None
        if listener is not None and listener.port == 0 and not config.advertised_listeners:
            # the system chose one: keep it for `tape node`
            listener.port = int(addresses.split(",")[0].rpartition(":")[2])
            node_files.save(config, directory)
        node_files.write_pid(directory)
        sys.stdout.write(f'{{"ready": "{addresses}"}}\n' if as_json else f"ready {addresses}\n")
        sys.stdout.flush()

    try:
        for attempt in range(CONTROLLER_PORT_TRIES):
            try:
                code = run(config, on_ready=ready)
                break
            except OSError as error:
                _after_listen_failure(config, directory, error, last=attempt == CONTROLLER_PORT_TRIES - 1)
    except DirectoryInUseError as error:
        raise UpError(str(error), "stop the other process, or give another directory with --data") from None
    except WrongDirectoryError as error:
        raise UpError(str(error), "the files belong to another node: put them back, or give another --data") from None
    except MetadataReplayError as error:
        advice = "restore the directory from a copy"
        if config.voters:
            advice += "; or give the node a new one, as after the loss of a disk (docs/operate/cluster.md)"
        raise UpError(f"{directory}: {error}", advice) from None
    except DiskError as error:
        raise UpError(f"{directory}: {error}", "check the disk and its free space, then start again") from None
    node_files.remove_pid(directory)
    if afterwards is not None:
        afterwards()
    return code


def _after_listen_failure(config: NodeConfig, directory: str, error: OSError, *, last: bool) -> None:
    """Someone took an address after we had looked: another controller port will do, another listener will not.

    Any other failure of the system is told (no permission, no space) or, if it makes no sense to a user, raised.
    """
    from tapelog.cli import node_files

    for listener in config.listeners:
        found = node_files.listen_error(listener.host, listener.port) if listener.port else None
        if found is not None:
            raise cannot_listen(listener.host, listener.port, found)
    controller = config.controller_listener
    if controller is not None and config.voters:  # the other nodes know this port
        found = node_files.listen_error(controller.host, controller.port)
        if found is not None:
            raise cannot_listen(controller.host, controller.port, found)
    if error.errno == errno.EADDRINUSE and not last and controller is not None:
        controller.port = node_files.free_port()
        node_files.save(config, directory)
    elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT):
        raise UpError(f"{directory}: {error}", "check its owner, permissions and free space, or give another --data")
    else:
        raise error


def watch_parent(directory: str) -> Callable[[], None]:
    """End with the parent: when standard input ends, stop cleanly. Returns what is to be done after the stop."""
    import signal
    import threading

    orphaned = threading.Event()
    remove = os.environ[PARENT_FLAG]

    def watch() -> None:
        try:
            while os.read(0, 4096):
                pass
        except OSError:
            pass
        orphaned.set()
        os.kill(os.getpid(), signal.SIGTERM)

    def afterwards() -> None:
        if remove.startswith("remove") and orphaned.is_set():
            import shutil

            whole = os.path.dirname(os.path.abspath(directory))
            shutil.rmtree(whole if remove == "remove" else directory, ignore_errors=True)
            with contextlib.suppress(OSError):
                os.rmdir(whole)  # the last of several nodes finds it empty

    threading.Thread(target=watch, name="parent", daemon=True).start()
    return afterwards
