"""A node's directory: `node.toml` (its configuration), `pid`, and `logs`. Called by `tape up` and `tape node`.

Paths in node.toml are relative to the directory it lies in, so that a data directory can be copied or moved.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Sequence

from tapelog.base import ids
from tapelog.base.config_values import split_list
from tapelog.base.node_config import PORT_TRIES, PORTS, Listener, NodeConfig

CONFIG_FILE = "node.toml"
PID_FILE = "pid"
LOG_DIR = "logs"
METADATA_DIR = "metadata.log.dir"
CORDONED_DIRS = "cordoned.log.dirs"

DEFAULTS = {"group.initial.rebalance.delay.ms": "0", "socket.send.buffer.bytes": str(384 << 10)}
"""What `tape up` sets unless told otherwise: a first consumer should not wait three seconds for company, and large
fetches are fastest with a send buffer of this size (ADR 0006)."""


def configured(
    directory: str, host: str, port: int, settings: dict[str, str], places: Sequence[str] = ()
) -> NodeConfig:
    """A configuration from the command line; ids and the controller's port come from an earlier node.toml if any.

    Raises ValueError for one that no node can run with.
    """
    before = load(directory) if os.path.isfile(os.path.join(directory, CONFIG_FILE)) else None
    controller = before.controller_listener if before is not None else None
    if controller is None or listen_error(controller.host, controller.port) is not None:
        controller = Listener("CONTROLLER", "127.0.0.1", free_port(avoid=port))
    return NodeConfig(
        node_id=1 if before is None else before.node_id,
        cluster_id=new_cluster_id() if before is None else before.cluster_id,
        listeners=[Listener("PLAINTEXT", host, port)],
        controller_listener=controller,
        log_dirs=log_dirs(directory, places, before),
        voters=[] if before is None else before.voters,
        settings={**DEFAULTS, **settings},
    )


def log_dirs(directory: str, places: Sequence[str], before: NodeConfig | None) -> list[str]:
    """A node's log directories: its own first, then one in each of the places; without any, those it had."""
    own = os.path.join(directory, LOG_DIR)
    if places:
        return [own, *(os.path.join(os.path.abspath(place), os.path.basename(directory)) for place in places)]
    return before.log_dirs if before is not None else [own]


class _SystemEntropy:
    def below(self, bound: int) -> int:
        return int.from_bytes(os.urandom(8), "big") % bound

    def token(self, size: int) -> bytes:
        return os.urandom(size)


def new_cluster_id() -> str:
    """A random cluster id in Kafka's text form."""
    return ids.to_text(ids.new_id(_SystemEntropy()))


def load(directory: str) -> NodeConfig:
    """The configuration in a node's directory, its paths made usable from here."""
    with open(os.path.join(directory, CONFIG_FILE), encoding="utf-8") as opened:
        config = NodeConfig.from_toml(opened.read())
    config.log_dirs = [os.path.join(directory, path) for path in config.log_dirs]
    if config.settings.get(METADATA_DIR):
        config.settings[METADATA_DIR] = os.path.join(directory, config.settings[METADATA_DIR])
    return config


def anchor(config: NodeConfig) -> None:
    """Make its paths mean the same in every directory: a broker tells them to clients, who name them to it again."""
    config.log_dirs = [os.path.abspath(path) for path in config.log_dirs]
    for name in (METADATA_DIR, CORDONED_DIRS):
        if config.settings.get(name):
            paths = [path if path == "*" else os.path.abspath(path) for path in split_list(config.settings[name])]
            config.settings[name] = ",".join(paths)


def save(config: NodeConfig, directory: str) -> None:
    """Write node.toml, whole or not at all even if the power goes, if it would change."""
    paths, settings = config.log_dirs, config.settings
    config.log_dirs = [_told(path, directory) for path in paths]
    if settings.get(METADATA_DIR):
        config.settings = {**settings, METADATA_DIR: _told(settings[METADATA_DIR], directory)}
    text = config.to_toml()
    config.log_dirs, config.settings = paths, settings
    path = os.path.join(directory, CONFIG_FILE)
    with contextlib.suppress(OSError), open(path, encoding="utf-8") as opened:
        if opened.read() == text:
            return
    os.makedirs(directory, exist_ok=True)
    replace(path, text.encode())


def replace(path: str, content: bytes) -> None:
    """Write a file whole or not at all, and make it and its directory durable."""
    with open(path + ".tmp", "wb") as opened:
        opened.write(content)
        opened.flush()
        os.fsync(opened.fileno())
    os.replace(path + ".tmp", path)
    directory = os.path.dirname(os.path.abspath(path))
    for named_in in (directory, os.path.dirname(directory)):
        fd = os.open(named_in, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def _told(path: str, directory: str) -> str:
    return os.path.relpath(path, directory) if _is_inside(path, directory) else path


def _is_inside(path: str, directory: str) -> bool:
    return os.path.abspath(path).startswith(os.path.abspath(directory) + os.sep)


def live_pid(directory: str) -> int | None:
    """The process that runs this node, if its pid file names a live one that is not ours."""
    try:
        with open(os.path.join(directory, PID_FILE), encoding="ascii") as opened:
            pid = int(opened.read())
        os.kill(pid, 0)
    except PermissionError:
        return pid
    except (OSError, ValueError):
        return None
    return pid if pid != os.getpid() else None


def write_pid(directory: str) -> None:
    """Say who runs the node."""
    with open(os.path.join(directory, PID_FILE), "w", encoding="ascii") as opened:
        opened.write(f"{os.getpid()}\n")


def remove_pid(directory: str) -> None:
    """The node has stopped."""
    with contextlib.suppress(OSError):
        os.remove(os.path.join(directory, PID_FILE))


def listen_error(host: str, port: int) -> OSError | None:
    """Why one cannot listen there; None if one can."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((host, port))
            tried.listen(1)
        except OSError as error:
            return error
    return None


def free_port(avoid: int = 0) -> int:
    """A port of the loopback that nobody listens on just now.

    Not one of those that the system gives to outgoing connections, if possible: a node that is started again must
    find its port free.
    """
    for _ in range(PORT_TRIES):
        port = PORTS[0] + int.from_bytes(os.urandom(4), "big") % (PORTS[1] - PORTS[0])
        if port != avoid and listen_error("127.0.0.1", port) is None:
            return port
    while True:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as chosen:
            chosen.bind(("127.0.0.1", 0))
            port = int(chosen.getsockname()[1])
        if port != avoid:
            return port
