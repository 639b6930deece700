"""`tape router`: a whole cluster behind one address."""

from __future__ import annotations

import logging
import sys
from typing import Annotated

import typer

from tapelog.cli.options import DEFAULT_BOOTSTRAP, Bootstrap, Json
from tapelog.cli.output import EXIT_FAILED, EXIT_UNREACHABLE, CliError
from tapelog.cli.starting import UpError, parse_address, refuse_taken

LISTEN = "127.0.0.1:9192"


def router(
    listen: Annotated[
        str, typer.Option("--listen", metavar="HOST:PORT", help="Where clients connect; port 0 takes a free one.")
    ] = LISTEN,
    advertise: Annotated[
        str | None,
        typer.Option("--advertise", metavar="HOST:PORT", help="The address clients are told, if it is another."),
    ] = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    json: Json = False,
) -> None:
    """Run a router in the foreground: clients see one broker, behind which is the whole cluster.

    Example: tape router --listen 0.0.0.0:9192 --advertise kafka.example:9192 --bootstrap 10.0.0.1:9092,10.0.0.2:9092
    """
    from tapelog.cli.bootstrap import parse_bootstrap
    from tapelog.router.main import NoClusterError, run

    def ready(address: str) -> None:
        sys.stdout.write(f'{{"ready": "{address}"}}\n' if json else f"ready {address}\n")
        sys.stdout.flush()

    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    try:
        host, port = parse_address(listen)
        told = parse_address(advertise) if advertise is not None else None
        if port:
            refuse_taken(host, port)
        if host in ("0.0.0.0", "::", "") and told is None:
            raise UpError(
                f"{listen} is not an address that clients can connect to", "add --advertise HOST:PORT", EXIT_FAILED
            )
        run(parse_bootstrap(bootstrap), host, port, on_ready=ready, advertised=told)
    except UpError as error:
        raise CliError(error.message, error.hint, error.exit_code) from None
    except NoClusterError as error:
        raise CliError(str(error), "name nodes that run with --bootstrap HOST:PORT,…", EXIT_UNREACHABLE) from None
    except OSError as error:
        raise CliError(f"cannot listen on {listen}: {error.strerror}", "take another --listen", EXIT_FAILED) from None
