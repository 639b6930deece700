"""`tape up` and `tape node`: run a node in the foreground. Imports nothing that a node does not need.

`tape up` writes `DIR/node-<i>/node.toml` from its options (ids are kept from an earlier start) and runs the node;
`tape node DIR/node-<i>` runs it from that file as it stands. Both keep `pid` beside it while the node lives.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tapelog.base.node_config import NodeConfig

DEFAULT_LISTEN = "127.0.0.1:9092"
DEFAULT_DATA = "./tapelog-data"

CONTROLLER_PORT_TRIES = 3

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_NOT_FOUND = 4

HELP = {
    "listen": "Where clients connect; port 0 takes a free one.",
    "data": "Where everything is kept.",
    "nodes": "How many nodes; today one.",
    "set": "A Kafka broker config, e.g. --set num.partitions=3. Repeatable.",
    "bare": "Start no front doors, only the broker.",
    "json": "Print the ready line and errors as JSON.",
    "directory": "A node's directory, made by `tape up`.",
}
PARENT_FLAG = "TAPELOG_PARENT"
"""With this in the environment the node ends when its standard input does: that is, when its parent has gone.
The value `remove` also removes the data directory then. `tapelog.testing` sets it."""


class UpError(Exception):
    """A start that cannot be: what happened, what to do next, and the exit code."""

    def __init__(self, message: str, hint: str = "", exit_code: int = EXIT_FAILED) -> None:
        super().__init__(message)
        self.message, self.hint, self.exit_code = message, hint, exit_code


def run_quick(words: Sequence[str]) -> int:
    """`up …` or `node …` as typed, without a command line framework."""
    as_json = "--json" in words
    try:
        if words[0] == "node":
            _, positional = parse(words[1:], flags=("--json",))
            if len(positional) != 1:
                raise UpError("which node?", "tape node DIR/node-1", EXIT_USAGE)
            return run_node(positional[0], as_json=as_json)
        valued = ("--listen", "--data", "--nodes", "--set")
        found, positional = parse(words[1:], valued=valued, flags=("--bare", "--json"))
        if positional:
            raise UpError(f"what is {positional[0]!r}?", "tape up --help", EXIT_USAGE)
        number = found.get("--nodes", ["1"])[-1]
        if not number.isdigit():
            raise UpError(f"--nodes {number!r} is not a number", "--nodes 1", EXIT_USAGE)
        return run_up(
            found.get("--listen", [DEFAULT_LISTEN])[-1],
            found.get("--data", [DEFAULT_DATA])[-1],
            int(number),
            found.get("--set", []),
            "--bare" in found,
            as_json=as_json,
        )
    except UpError as error:
        return _told(error, as_json)


def parse(
    words: Sequence[str], *, valued: Sequence[str] = (), flags: Sequence[str] = ()
) -> tuple[dict[str, list[str]], list[str]]:
    """Options with their values (`--name value` or `--name=value`) and what stands between them."""
    options: dict[str, list[str]] = {}
    positional: list[str] = []
    left = list(words)
    while left:
        word = left.pop(0)
        name, equals, value = word.partition("=")
        if not word.startswith("-"):
            positional.append(word)
        elif word in flags:
            options.setdefault(word, []).append("")
        elif name in valued and (equals or left):
            options.setdefault(name, []).append(value if equals else left.pop(0))
        elif name in valued:
            raise UpError(f"{name} needs a value", "tape up --help", EXIT_USAGE)
        else:
            raise UpError(f"there is no option {name}", f"known: {', '.join((*valued, *flags))}", EXIT_USAGE)
    return options, positional


def run_up(listen: str, data: str, nodes: int, settings: Sequence[str], bare: bool, *, as_json: bool = False) -> int:
    """Run one node of a new or existing data directory; returns its exit code."""
    try:
        if nodes != 1:
            raise UpError(
                f"--nodes {nodes}: a cluster of several nodes is not in this version",
                "leave --nodes out: one node runs today, with the same commands and configuration names",
                EXIT_USAGE,
            )
        host, port = parse_address(listen)
        chosen = parse_settings(settings)
        directory = os.path.join(data, "node-1")
        _refuse_live(directory)
        from tapelog.cli import node_files

        if port:
            _refuse_taken(host, port)
        try:
            config = node_files.configured(directory, host, port, chosen)
        except ValueError as error:
            raise UpError(str(error), "--set takes Kafka's broker configs; `tape up --help`", EXIT_USAGE) from None
        try:
            node_files.save(config, directory)
        except OSError as error:
            raise UpError(f"cannot write to {directory}: {error.strerror}", "give another place with --data") from None
        return _run(config, directory, as_json)
    except UpError as error:
        return _told(error, as_json)


def run_node(directory: str, *, as_json: bool = False) -> int:
    """Run the node whose directory this is; returns its exit code."""
    from tapelog.cli import node_files

    try:
        path = os.path.join(directory, node_files.CONFIG_FILE)
        if not os.path.isfile(path):
            hint = "`tape up --data DIR` makes DIR/node-1 with its node.toml"
            raise UpError(f"there is no {path}", hint, EXIT_NOT_FOUND)
        _refuse_live(directory)
        try:
            config = node_files.load(directory)
        except ValueError as error:
            raise UpError(f"{path}: {error}", "change it there", EXIT_USAGE) from None
        for listener in config.listeners:
            if listener.port:
                _refuse_taken(listener.host, listener.port)
        return _run(config, directory, as_json)
    except UpError as error:
        return _told(error, as_json)


def _run(config: NodeConfig, directory: str, as_json: bool) -> int:
    """Run the node until it is told to stop."""
    from tapelog.base.ports import DiskError
    from tapelog.cli import node_files
    from tapelog.log.manager import WrongDirectoryError
    from tapelog.node.main import DirectoryInUseError, run

    afterwards = _watch_parent(directory) if PARENT_FLAG in os.environ else None

    def ready(addresses: str) -> None:
        listener = config.listeners[0]
        if listener.port == 0 and not config.advertised_listeners:  # the system chose one: keep it for `tape node`
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
            raise _cannot_listen(listener.host, listener.port, found)
    if error.errno == errno.EADDRINUSE and not last and config.controller_listener is not None:
        config.controller_listener.port = node_files.free_port()
        node_files.save(config, directory)
    elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT):
        raise UpError(f"{directory}: {error}", "check its owner, permissions and free space, or give another --data")
    else:
        raise error


def parse_address(text: str) -> tuple[str, int]:
    """`HOST:PORT`; an IPv6 host stands in brackets."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdigit() or int(port) > 65535:
        raise UpError(f"--listen {text!r} is not HOST:PORT", f"--listen {DEFAULT_LISTEN}", EXIT_USAGE)
    return host.strip("[]"), int(port)


def parse_settings(texts: Sequence[str]) -> dict[str, str]:
    """`name=value` options; the last one of a name counts."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise UpError(f"--set {text!r} is not name=value", "--set num.partitions=3", EXIT_USAGE)
        found[name.strip()] = value.strip()
    return found


def _refuse_live(directory: str) -> None:
    """A second process on the same directory would do harm: name the first."""
    from tapelog.cli.node_files import live_pid

    pid = live_pid(directory)
    if pid is None:
        return
    from tapelog.cli.holder import command

    words = command(pid)
    if "tape" in words or words == "?":  # else the pid went to someone else after a crash
        raise UpError(f"{directory} is in use by pid {pid} ({words})", f"stop it (kill {pid}), or give another --data")


def _refuse_taken(host: str, port: int) -> None:
    """Fail early and name the holder if the port cannot be had."""
    from tapelog.cli.node_files import listen_error

    error = listen_error(host, port)
    if error is not None:
        raise _cannot_listen(host, port, error)


def _cannot_listen(host: str, port: int, error: OSError) -> UpError:
    if error.errno != errno.EADDRINUSE:
        return UpError(f"cannot listen on {host}:{port}: {error.strerror}", "--listen takes an address of this machine")
    from tapelog.cli.holder import holder

    who = holder(port)
    return UpError(
        f"port {port} is taken" + (f" by {who}" if who else ""),
        f"stop it, or take another port: --listen {host}:{port + 1} (port 0 takes a free one)",
    )


def _watch_parent(directory: str) -> Callable[[], None]:
    """End with the parent: when standard input ends, stop cleanly. Returns what is to be done after the stop."""
    import signal
    import threading

    orphaned = threading.Event()
    remove = os.environ[PARENT_FLAG] == "remove"

    def watch() -> None:
        try:
            while os.read(0, 4096):
                pass
        except OSError:
            pass
        orphaned.set()
        os.kill(os.getpid(), signal.SIGTERM)

    def afterwards() -> None:
        if remove and orphaned.is_set():
            import shutil

            shutil.rmtree(os.path.dirname(os.path.abspath(directory)), ignore_errors=True)

    threading.Thread(target=watch, name="parent", daemon=True).start()
    return afterwards


def _told(error: UpError, as_json: bool) -> int:
    if as_json:
        import json

        document = {"error": error.message, "hint": error.hint or None, "exit_code": error.exit_code}
        sys.stderr.write(json.dumps(document) + "\n")
    else:
        sys.stderr.write(f"error: {error.message}\n" + (f"  try: {error.hint}\n" if error.hint else ""))
    return error.exit_code
