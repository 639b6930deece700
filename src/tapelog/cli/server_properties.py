"""`tape format --from server.properties`: what a new node takes over from Apache Kafka's own configuration file.

Settings that Tapelog acts on are taken. Each other line is named with the reason why it is not. A file that asks for
protection or behaviour that is not here is refused as a whole. Nothing of Kafka's data is read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tapelog.base.config import BROKER_QUOTA_ROWS, BROKER_ROWS, nearest
from tapelog.base.config_classes import NO_EFFECT, PROTOCOL_MAP, REFUSED
from tapelog.base.config_refusals import refusal, unavailable
from tapelog.base.config_values import ConfigValueError, check, split_list
from tapelog.base.node_config import SECURITY_PROTOCOLS, Listener, NodeConfigError, parse_listeners
from tapelog.cli.properties_file import Property, parse

PLAINTEXT = "PLAINTEXT"
CONTROLLER = "CONTROLLER"
INTER_BROKER = "inter.broker.listener.name"
RACK = "broker.rack"
ZOOKEEPER_HINT = (
    "migrate the cluster to KRaft with Kafka's own tools first (3.9 is its last version that can), "
    "or start a new cluster and mirror the topics to it with MirrorMaker 2"
)


class ImportRefusedError(ValueError):
    """A file that cannot be taken over: the text names the lines, `hint` says what to do."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(slots=True)
class Imported:
    """What a file gives a new node. `remarks`: one line for each setting that was not taken over."""

    settings: dict[str, str] = field(default_factory=dict)
    listeners: list[Listener] = field(default_factory=list)
    advertised: list[Listener] = field(default_factory=list)
    controller: Listener | None = None
    remarks: list[str] = field(default_factory=list)


def imported(file: str, text: str, *, addresses: bool, one_node: bool) -> Imported:
    """The content of `file`. `addresses`: listeners count, because the command line gives none. `one_node`: settings
    that only one node can have count. ImportRefusedError if it cannot be taken over."""
    try:
        properties = parse(text)
    except ValueError as error:
        raise ImportRefusedError(f"{file}: {error}", "Kafka would not start with it either") from None
    _refuse_foreign(file, properties)
    found = Imported()
    given = {one.name: one for one in properties}
    refused = _addresses(file, given, found)
    for one in properties:
        reason = _refusal(one)
        if reason is not None:
            refused.append((one.line, reason))
            continue
        why = _not_taken(one, addresses, one_node)
        if why is None:
            _take(file, one, found)
        elif why:
            found.remarks.append(f"{file} line {one.line}: {one.name} is not taken over: {why}")
    if refused:
        raise ImportRefusedError(
            "\n  ".join([f"{file} asks for what is not here:", *(f"line {n}: {why}" for n, why in sorted(refused))]),
            "take these lines out of a copy of the file, if the cluster can do without them",
        )
    if addresses:
        found.settings |= _named_listeners(found, given)
    else:
        found.listeners, found.advertised, found.controller = [], [], None
    return found


def _refuse_foreign(file: str, properties: list[Property]) -> None:
    """Files of another kind of cluster, or of another kind of node."""
    for one in properties:
        if one.name == "zookeeper.connect":
            message = f"{file} line {one.line}: zookeeper.connect: Tapelog has no ZooKeeper, only KRaft"
            raise ImportRefusedError(message, ZOOKEEPER_HINT)
        if one.name == "process.roles" and "broker" not in split_list(one.value):
            message = f"{file} line {one.line}: process.roles={one.value} is the file of a controller"
            raise ImportRefusedError(message, "give the file of a broker: nodes of Tapelog are brokers, too")


def _addresses(file: str, given: dict[str, Property], found: Imported) -> list[tuple[int, str]]:
    """Listeners of clients and of the controller; returns what is refused of them, with the line."""
    controllers = [name.upper() for name in split_list(_value(given, "controller.listener.names"))]
    try:
        listeners = parse_listeners(split_list(_value(given, "listeners")))
        advertised = parse_listeners(split_list(_value(given, "advertised.listeners")))
    except NodeConfigError as error:
        raise ImportRefusedError(f"{file}: {error}", "Kafka would not start with it either") from None
    found.listeners = [one for one in listeners if one.name not in controllers]
    if not found.listeners:
        found.listeners = [Listener(PLAINTEXT, "", 9092)]  # Kafka's default
    names = [one.name for one in found.listeners]
    found.advertised = [one for one in advertised if one.name in names]
    own = next((one for one in listeners if one.name in controllers), None)
    if own is not None:
        told = next((one for one in advertised if one.name == own.name), own)
        host = told.host if not told.is_wildcard else "127.0.0.1"
        found.controller = Listener(CONTROLLER, host, own.port)
    protocols = _protocols(_value(given, PROTOCOL_MAP))
    refused = []
    for name in (*names, *([own.name] if own is not None else [])):
        protocol = protocols.get(name, name if name in SECURITY_PROTOCOLS else PLAINTEXT)
        if protocol != PLAINTEXT:
            refused.append((given["listeners"].line, f"listener {name}: {unavailable(protocol)}"))
    return refused


def _protocols(text: str) -> dict[str, str]:
    pairs = (item.partition(":") for item in split_list(text))
    return {name.strip().upper(): protocol.strip().upper() for name, _, protocol in pairs}


def _value(given: dict[str, Property], name: str) -> str:
    return given[name].value if name in given else ""


def _named_listeners(found: Imported, given: dict[str, Property]) -> dict[str, str]:
    """The settings that listeners need whose names are no protocols."""
    names = [one.name for one in found.listeners]
    settings = {}
    if names != [PLAINTEXT]:
        settings[PROTOCOL_MAP] = ",".join(f"{name}:{PLAINTEXT}" for name in (*names, CONTROLLER))
    between = _value(given, INTER_BROKER).upper()
    if between in names and between != PLAINTEXT:
        settings[INTER_BROKER] = between
    return settings


def _refusal(one: Property) -> str | None:
    """Why Tapelog cannot have this line. The map counts for the listeners that are used (`_addresses`)."""
    if one.name in (PROTOCOL_MAP, "listeners", "advertised.listeners"):
        return None
    return refusal(one.name, one.value)


def _take(file: str, one: Property, found: Imported) -> None:
    row = BROKER_ROWS.get(one.name) or BROKER_QUOTA_ROWS[one.name]
    try:
        check(row, one.value)
    except ConfigValueError as error:
        raise ImportRefusedError(f"{file} line {one.line}: {error}", "Kafka would not start with it either") from None
    found.settings[one.name] = one.value


def _not_taken(one: Property, addresses: bool, one_node: bool) -> str | None:
    """Why a line is not taken over; "" if it is, in another form; None if it becomes a setting."""
    if one.name in _STRUCTURE:
        return _STRUCTURE[one.name](one.value, addresses)
    if one.name == RACK and not one_node:
        return "each node has its own: write it into their node.toml"
    if one.name in NO_EFFECT or (one.name.startswith("listener.name.") and one.value):
        return "it has no effect here"
    unknown = one.name not in BROKER_ROWS and one.name not in BROKER_QUOTA_ROWS
    if one.name in REFUSED or (unknown and not one.value):
        return "this value asks for nothing"
    if unknown:
        return f"neither Kafka 4.3 nor Tapelog has it{nearest(one.name, BROKER_ROWS)}"
    return None


def _only_with_addresses(value: str, addresses: bool) -> str:
    return "" if addresses else "the command line says where nodes listen"


def _always(reason: str) -> Callable[[str, bool], str]:
    return lambda value, addresses: reason


def _voters(value: str, addresses: bool) -> str:
    many = len(split_list(value)) > 1
    advice = "; --on HOST:PORT for each node makes them together, with these settings" if many and addresses else ""
    return f"a new cluster has voters of its own{advice}"


_NEW_FILES = "new directories are made below --data (and --log-dir); Kafka's own files are not read"
_STRUCTURE: dict[str, Callable[[str, bool], str]] = {
    "advertised.listeners": _only_with_addresses,
    "broker.id": _always("nodes are numbered from 1"),
    "controller.listener.names": _always(""),
    "controller.quorum.bootstrap.servers": _voters,
    "controller.quorum.voters": _voters,
    INTER_BROKER: _only_with_addresses,
    "listeners": _only_with_addresses,
    "log.dir": _always(_NEW_FILES),
    "log.dirs": _always(_NEW_FILES),
    "metadata.log.dir": _always(_NEW_FILES),
    "node.id": _always("nodes are numbered from 1"),
    "process.roles": _always(""),
    PROTOCOL_MAP: _always(""),
}
"""Names that have a place of their own in node.toml."""
