"""A node's complete configuration: who it is, where it listens, where its files are, what the operator set.

`tape up` makes one per node and keeps it as `node.toml`; `tape node` and the node read it back. Texts only: reading
and writing the file is the caller's. Every error is a ValueError that says what to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from tapelog.base import ids
from tapelog.base.addresses import host_port
from tapelog.base.config import BrokerSettings
from tapelog.base.config_refusals import check_static, unavailable
from tapelog.base.config_values import split_list

ROLE_BROKER: Final = "broker"
ROLE_CONTROLLER: Final = "controller"
SECURITY_PROTOCOLS: Final = {"PLAINTEXT": 0, "SSL": 1, "SASL_PLAINTEXT": 2, "SASL_SSL": 3}
PORTS: Final = (20_000, 32_000)
"""Where a port is chosen from: below those that systems give to outgoing connections."""
PORT_TRIES: Final = 100
_WILDCARDS: Final = ("", "0.0.0.0", "::")

# Names that have a place of their own in the configuration: setting them twice would let them disagree.
_STRUCTURAL: Final = {
    "broker.id": "node_id",
    "node.id": "node_id",
    "process.roles": "roles",
    "listeners": "listeners (tape up --listen)",
    "log.dir": "log_dirs (tape up --data and --log-dir)",
    "log.dirs": "log_dirs (tape up --data and --log-dir)",
    "controller.listener.names": "controller_listener",
    "controller.quorum.voters": "voters",
}


class NodeConfigError(ValueError):
    """A configuration no node can run with; the text says what to change."""


class Listener:
    """NAME://host:port. Port 0 lets the system choose; an empty host means all interfaces."""

    __slots__ = ("host", "name", "port")

    def __init__(self, name: str, host: str, port: int) -> None:
        self.name = name
        self.host = host
        self.port = port

    @staticmethod
    def parse(text: str) -> Listener:
        """NAME://host:port, also with an IPv6 address in brackets, as in Kafka."""
        name, separator, address = text.strip().partition("://")
        host, colon, port = address.rpartition(":")
        if host.startswith("[") and host.endswith("]"):
            host = host[1:-1]
        good_name = name.replace("_", "").replace("-", "").isalnum()
        if not (separator and colon and good_name and port.isascii() and port.isdigit() and int(port) <= 65535):
            raise NodeConfigError(f"{text!r} is not a listener: write NAME://host:port, as PLAINTEXT://127.0.0.1:9092")
        return Listener(name.upper(), host, int(port))

    @property
    def is_wildcard(self) -> bool:
        """Listens on all interfaces, so its address tells a client nothing."""
        return self.host in _WILDCARDS

    def __str__(self) -> str:
        return f"{self.name}://{host_port(self.host, self.port)}"

    def __repr__(self) -> str:
        return f"Listener({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Listener) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


def parse_listeners(texts: Iterable[str]) -> list[Listener]:
    """Listeners, each name once."""
    found: dict[str, Listener] = {}
    for text in texts:
        listener = Listener.parse(text)
        if listener.name in found:
            raise NodeConfigError(f"listener name {listener.name} is used twice: give each listener its own name")
        found[listener.name] = listener
    return list(found.values())


class NodeConfig:
    """What one node needs to start. Valid once constructed: the constructor raises ValueError otherwise.

    `settings` holds Kafka broker configuration names as texts; `advertised.listeners` may be among them.
    """

    def __init__(
        self,
        *,
        node_id: int,
        cluster_id: str,
        listeners: list[Listener],
        log_dirs: list[str],
        controller_listener: Listener | None = None,
        advertised_listeners: list[Listener] | None = None,
        voters: list[str] | None = None,
        roles: tuple[str, ...] = (ROLE_BROKER, ROLE_CONTROLLER),
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.node_id = node_id
        self.cluster_id = cluster_id
        self.roles = roles
        self.listeners = listeners
        self.controller_listener = controller_listener
        self.log_dirs = log_dirs
        self.voters = voters if voters is not None else []  # `id@host:port:directory id`; none: this node alone
        self.settings: dict[str, str] = dict(settings) if settings is not None else {}
        given = self.settings.pop("advertised.listeners", None)
        self.advertised_listeners = advertised_listeners if advertised_listeners is not None else []
        if given is not None:
            self.advertised_listeners = parse_listeners(split_list(given))
        self._check()

    # -- what follows from it

    @property
    def is_broker(self) -> bool:
        """Holds data and serves clients."""
        return ROLE_BROKER in self.roles

    @property
    def is_controller(self) -> bool:
        """Takes part in the metadata quorum: votes once it is among the voters, and may be elected."""
        return ROLE_CONTROLLER in self.roles

    @property
    def metadata_log_dir(self) -> str:
        """Where the cluster's metadata is kept: metadata.log.dir, else the first log directory."""
        return self.settings.get("metadata.log.dir") or self.log_dirs[0]

    @property
    def inter_broker_listener(self) -> str:
        """The listener brokers reach each other on: inter.broker.listener.name, else PLAINTEXT, else the first."""
        given = self.settings.get("inter.broker.listener.name")
        if given:
            return given.upper()
        names = [listener.name for listener in self.listeners]
        return "PLAINTEXT" if "PLAINTEXT" in names or not names else names[0]

    def advertised(self) -> list[Listener]:
        """The address of each listener as clients are told it."""
        by_name = {listener.name: listener for listener in self.advertised_listeners}
        return [by_name.get(listener.name, listener) for listener in self.listeners]

    def security_protocol(self, listener: str) -> str:
        """The protocol spoken on a listener: by listener.security.protocol.map, else its own name."""
        for item in split_list(self.settings.get("listener.security.protocol.map", "")):
            name, _, protocol = item.partition(":")
            if name.strip().upper() == listener:
                return protocol.strip().upper()
        return (
            listener if listener in SECURITY_PROTOCOLS else "PLAINTEXT" if self._is_controller(listener) else listener
        )

    def _is_controller(self, listener: str) -> bool:
        return self.controller_listener is not None and self.controller_listener.name == listener

    def broker_settings(self) -> BrokerSettings:
        """Everything under its Kafka name: what the broker looks settings up in and what DescribeConfigs shows."""
        static = dict(self.settings)
        static["broker.id"] = static["node.id"] = str(self.node_id)
        static["process.roles"] = ",".join(self.roles)
        static["log.dirs"] = ",".join(self.log_dirs)
        shown = [*self.listeners]
        if self.controller_listener is not None and ROLE_CONTROLLER in self.roles:
            shown.append(self.controller_listener)
            static["controller.listener.names"] = self.controller_listener.name
            static.setdefault("listener.security.protocol.map", self._protocol_map(shown))
        if self.voters:
            static["controller.quorum.voters"] = ",".join(voter.rpartition(":")[0] for voter in self.voters)
        static["listeners"] = ",".join(map(str, shown))
        if self.advertised_listeners:
            static["advertised.listeners"] = ",".join(map(str, self.advertised()))
        return BrokerSettings(static)

    def _protocol_map(self, listeners: list[Listener]) -> str:
        return ",".join(f"{listener.name}:{self.security_protocol(listener.name)}" for listener in listeners)

    # -- validity

    def _check(self) -> None:
        if not 0 <= self.node_id < 1 << 31:
            raise NodeConfigError(f"node_id {self.node_id} must be from 0 to {(1 << 31) - 1}")
        try:
            ids.from_text(self.cluster_id)
        except ValueError as error:
            raise NodeConfigError(f"cluster_id: {error}") from None
        if not self.roles or any(role not in (ROLE_BROKER, ROLE_CONTROLLER) for role in self.roles):
            raise NodeConfigError(f"roles {list(self.roles)} must be broker, controller or both")
        if not self.log_dirs or len(dict.fromkeys(self.log_dirs)) != len(self.log_dirs):
            raise NodeConfigError("log_dirs must name at least one directory, each once")
        self._check_listeners()
        self._check_advertised()
        self._check_voters()
        for name, place in _STRUCTURAL.items():
            if name in self.settings:
                raise NodeConfigError(f"{name} is not a setting here: change {place} instead")
        check_static(self.settings)

    def _check_listeners(self) -> None:
        if ROLE_BROKER in self.roles and not self.listeners:
            raise NodeConfigError("a broker needs a listener, as PLAINTEXT://127.0.0.1:9092")
        if ROLE_CONTROLLER in self.roles and self.controller_listener is None:
            raise NodeConfigError("a controller needs controller_listener, as CONTROLLER://127.0.0.1:9093")
        everything = [*self.listeners, *([self.controller_listener] if self.controller_listener else [])]
        parse_listeners(map(str, everything))
        for listener in everything:
            protocol = self.security_protocol(listener.name)
            if protocol not in SECURITY_PROTOCOLS:
                raise NodeConfigError(
                    f"listener {listener.name} has no security protocol: "
                    f"set listener.security.protocol.map={listener.name}:PLAINTEXT"
                )
            if protocol != "PLAINTEXT":
                raise NodeConfigError(f"listener {listener.name}: {unavailable(protocol)}")

    def _check_advertised(self) -> None:
        names = [listener.name for listener in self.listeners]
        if names and self.inter_broker_listener not in names:
            raise NodeConfigError(
                f"inter.broker.listener.name is {self.inter_broker_listener}, but the listeners are {', '.join(names)}"
            )
        for listener in self.advertised_listeners:
            if listener.name not in names:
                raise NodeConfigError(
                    f"advertised.listeners names {listener.name}, but the listeners are {', '.join(names)}"
                )
        for listener in self.advertised():
            if listener.is_wildcard:
                raise NodeConfigError(
                    f"{listener} listens on all interfaces, which is not an address that clients can connect to: "
                    f"set advertised.listeners={listener.name}://<host name clients use>:{listener.port}"
                )

    def _check_voters(self) -> None:
        numbers = [_voter_id(voter) for voter in self.voters]
        if len(dict.fromkeys(numbers)) != len(numbers):
            raise NodeConfigError("voters: a node id is named twice")
        if ROLE_CONTROLLER not in self.roles and not self.voters:
            raise NodeConfigError("a node that is no controller needs voters, as id@host:port:directory id")
        if ROLE_CONTROLLER not in self.roles and self.node_id in numbers:
            raise NodeConfigError(f"node {self.node_id} is among the voters: its roles must include controller")
        listener = self.controller_listener
        if self.voters and listener is not None and listener.is_wildcard and self.node_id not in numbers:
            raise NodeConfigError(
                f"{listener} listens on all interfaces, which is not an address that other nodes can connect to: "
                "give controller_listener the one they use"
            )

    # -- node.toml

    def to_toml(self) -> str:
        """The content of node.toml."""
        lines = [
            "# A Tapelog node. Change it while the node is stopped.",
            f"node_id = {self.node_id}",
            f"cluster_id = {_quoted(self.cluster_id)}",
            f"roles = {_array(self.roles)}",
            f"listeners = {_array(map(str, self.listeners))}",
        ]
        if self.advertised_listeners:
            lines.append(f"advertised_listeners = {_array(map(str, self.advertised_listeners))}")
        if self.controller_listener is not None:
            lines.append(f"controller_listener = {_quoted(str(self.controller_listener))}")
        if self.voters:
            lines.append(f"voters = {_array(self.voters)}")
        lines += [f"log_dirs = {_array(self.log_dirs)}", "", "[settings]"]
        lines += [f"{_quoted(name)} = {_quoted(self.settings[name])}" for name in sorted(self.settings)]
        return "\n".join(lines) + "\n"

    @staticmethod
    def from_toml(text: str) -> NodeConfig:
        """The inverse of to_toml."""
        import tomllib

        try:
            content = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise NodeConfigError(f"node.toml is not TOML: {error}") from None
        known = (
            "node_id",
            "cluster_id",
            "roles",
            "listeners",
            "advertised_listeners",
            "controller_listener",
            "voters",
            "log_dirs",
            "settings",
        )
        for name in sorted(content):
            if name not in known:
                raise NodeConfigError(f"node.toml: {name!r} is unknown; Kafka's names belong under [settings]")
        node_id, settings = content.get("node_id"), content.get("settings", {})
        if type(node_id) is not int:
            raise NodeConfigError("node.toml: node_id must be a whole number")
        if not isinstance(settings, dict):
            raise NodeConfigError("node.toml: settings must be a table")
        controller = content.get("controller_listener")
        return NodeConfig(
            node_id=node_id,
            cluster_id=_text(content.get("cluster_id"), "cluster_id"),
            roles=tuple(_texts(content.get("roles", [ROLE_BROKER, ROLE_CONTROLLER]), "roles")),
            listeners=parse_listeners(_texts(content.get("listeners", []), "listeners")),
            advertised_listeners=parse_listeners(
                _texts(content.get("advertised_listeners", []), "advertised_listeners")
            ),
            controller_listener=None
            if controller is None
            else Listener.parse(_text(controller, "controller_listener")),
            voters=_texts(content.get("voters", []), "voters"),
            log_dirs=_texts(content.get("log_dirs", []), "log_dirs"),
            settings={name: _setting(name, settings[name]) for name in settings},
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NodeConfig) and self.to_toml() == other.to_toml()

    def __hash__(self) -> int:
        return hash((self.cluster_id, self.node_id))

    def __repr__(self) -> str:
        return f"NodeConfig(node_id={self.node_id}, cluster_id={self.cluster_id!r}, listeners={self.listeners})"


def _voter_id(text: str) -> int:
    number, at, rest = text.partition("@")
    address, colon, directory = rest.rpartition(":")
    _, second, port = address.rpartition(":")
    try:
        ids.from_text(directory)
        good = bool(at and colon and second) and number.isdecimal() and port.isdecimal() and 0 < int(port) <= 65535
    except ValueError:
        good = False
    if not good:
        raise NodeConfigError(f"{text!r} is not a voter: write id@host:port:directory id")
    return int(number)


def _quoted(text: str) -> str:
    out = []
    for character in text:
        if character in '"\\':
            out.append("\\" + character)
        elif character < " " or character == "\x7f":
            out.append(f"\\u{ord(character):04x}")
        else:
            out.append(character)
    return '"' + "".join(out) + '"'


def _array(texts: Iterable[str]) -> str:
    return "[" + ", ".join(map(_quoted, texts)) + "]"


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise NodeConfigError(f"node.toml: {name} must be a text in quotes")
    return value


def _texts(value: object, name: str) -> list[str]:
    if not isinstance(value, list):
        raise NodeConfigError(f"node.toml: {name} must be a list of texts")
    return [_text(item, name) for item in value]


def _setting(name: str, value: object) -> str:
    """Numbers and booleans may be written without quotes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else _text(value, f"settings: {name}")
