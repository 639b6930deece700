"""What starting nodes from the command line shares: options, addresses, refusals, and how errors are told.

No framework and no Kafka client: this is on the quick road of `tape up` and `tape node`.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Sequence

from tapelog.base.addresses import host_port

DEFAULT_LISTEN = "127.0.0.1:9092"
DEFAULT_DATA = "./tapelog-data"

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_NOT_FOUND = 4


class UpError(Exception):
    """A start that cannot be: what happened, what to do next, and the exit code."""

    def __init__(self, message: str, hint: str = "", exit_code: int = EXIT_FAILED) -> None:
        super().__init__(message)
        self.message, self.hint, self.exit_code = message, hint, exit_code


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


def parse_address(text: str, option: str = "--listen") -> tuple[str, int]:
    """`HOST:PORT`; an IPv6 host stands in brackets."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdigit() or int(port) > 65535:
        meant = f"127.0.0.1:{int(text)}" if text.isdecimal() and int(text) <= 65535 else DEFAULT_LISTEN
        raise UpError(f"{option} {text!r} is not HOST:PORT", f"{option} {meant}", EXIT_USAGE)
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


def refuse_live(directory: str) -> None:
    """A second process on the same directory would do harm: name the first."""
    from tapelog.cli.node_files import live_pid

    pid = live_pid(directory)
    if pid is None:
        return
    from tapelog.cli.holder import command

    words = command(pid)
    if "tape" in words or words == "?":  # else the pid went to someone else after a crash
        raise UpError(f"{directory} is in use by pid {pid} ({words})", f"stop it (kill {pid}), or give another --data")


def refuse_taken(host: str, port: int) -> None:
    """Fail early and name the holder if the port cannot be had."""
    from tapelog.cli.node_files import listen_error

    error = listen_error(host, port)
    if error is not None:
        raise cannot_listen(host, port, error)


def cannot_listen(host: str, port: int, error: OSError) -> UpError:
    """Why one cannot listen there, with the holder of the port where that can be seen."""
    if error.errno != errno.EADDRINUSE:
        return UpError(
            f"cannot listen on {host_port(host, port)}: {error.strerror}",
            "--listen, or `listeners` in node.toml, takes an address of this machine; what clients are told instead is "
            "advertised.listeners",
        )
    from tapelog.cli.holder import holder

    who = holder(port)
    return UpError(
        f"port {port} is taken" + (f" by {who}" if who else ""),
        f"stop it, or take another port: --listen {host_port(host, port + 1)} (port 0 takes a free one); "
        "`tape node` has it from `listeners` in node.toml",
    )


def told(error: UpError, as_json: bool) -> int:
    """Print a refusal to stderr and return its exit code."""
    if as_json:
        import json

        document = {"error": error.message, "hint": error.hint or None, "exit_code": error.exit_code}
        sys.stderr.write(json.dumps(document) + "\n")
    else:
        sys.stderr.write(f"error: {error.message}\n" + (f"  try: {error.hint}\n" if error.hint else ""))
    return error.exit_code
