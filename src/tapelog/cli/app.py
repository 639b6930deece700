"""The typer app: every command registered, and failures turned into messages and exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer
from confluent_kafka import KafkaException

from tapelog.cli import broker, cluster, config, group, pipeline, spark, tier, topic, txn
from tapelog.cli.capacity import capacity
from tapelog.cli.consume import consume
from tapelog.cli.demo import demo
from tapelog.cli.dump import dump
from tapelog.cli.explain import explain
from tapelog.cli.format import Wanted, run_format
from tapelog.cli.interrupts import interruptible
from tapelog.cli.output import EXIT_FAILED, EXIT_OK, CliError, report
from tapelog.cli.produce import produce
from tapelog.cli.rebalance import rebalance
from tapelog.cli.router import router
from tapelog.cli.scrub import scrub
from tapelog.cli.starting import DEFAULT_DATA, DEFAULT_LISTEN
from tapelog.cli.up import HELP, run_node, run_up
from tapelog.cli.version import show, version

INTERRUPTED = 130

app = typer.Typer(
    name="tape",
    epilog="Most commands take --json and --bootstrap (or TAPELOG_BOOTSTRAP). "
    "`tape --install-completion` teaches your shell to complete commands, topics and groups.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def tape(
    version: Annotated[
        bool, typer.Option("--version", "-V", "-v", callback=show, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Tapelog: a message queue that speaks the Kafka protocol. Runs brokers; talks to any Kafka cluster."""


@app.command(rich_help_panel="Brokers")
def up(
    listen: Annotated[str, typer.Option("--listen", metavar="HOST:PORT", help=HELP["listen"])] = DEFAULT_LISTEN,
    data: Annotated[str, typer.Option("--data", metavar="DIR", help=HELP["data"])] = DEFAULT_DATA,
    log_dir: Annotated[list[str] | None, typer.Option("--log-dir", metavar="DIR", help=HELP["log-dir"])] = None,
    nodes: Annotated[int | None, typer.Option("--nodes", metavar="N", help=HELP["nodes"])] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help=HELP["set"])] = None,
    bare: Annotated[bool, typer.Option("--bare", help=HELP["bare"])] = False,
    json: Annotated[bool, typer.Option("--json", help=HELP["json"])] = False,
) -> None:
    """Run a broker or a local cluster in the foreground until SIGTERM or Ctrl-C; says `ready HOST:PORT` once it serves.

    Example: tape up --nodes 3 --listen 127.0.0.1:9092 --data ./tapelog-data --set log.retention.hours=24
    """
    raise typer.Exit(run_up(listen, data, nodes, settings or [], bare, log_dir or [], as_json=json))


@app.command(rich_help_panel="Brokers")
def node(
    directory: Annotated[str, typer.Argument(metavar="DIR/node-N", help=HELP["directory"])],
    json: Annotated[bool, typer.Option("--json", help=HELP["json"])] = False,
) -> None:
    """Start one node again from its own directory, exactly as its node.toml says.

    Example: tape node ./tapelog-data/node-1
    """
    raise typer.Exit(run_node(directory, as_json=json))


@app.command("format", rich_help_panel="Brokers")
def format_nodes(
    listen: Annotated[
        str | None,
        typer.Option("--listen", metavar="HOST:PORT", help=HELP["listen"], show_default=DEFAULT_LISTEN),
    ] = None,
    data: Annotated[str, typer.Option("--data", metavar="DIR", help=HELP["data"])] = DEFAULT_DATA,
    log_dir: Annotated[list[str] | None, typer.Option("--log-dir", metavar="DIR", help=HELP["log-dir"])] = None,
    nodes: Annotated[int | None, typer.Option("--nodes", metavar="N", help="How many nodes. Default: one.")] = None,
    on: Annotated[list[str] | None, typer.Option("--on", metavar="HOST:PORT", help=HELP["on"])] = None,
    join: Annotated[str | None, typer.Option("--join", metavar="HOST:PORT,…", help=HELP["join"])] = None,
    controller: Annotated[bool, typer.Option("--controller", help=HELP["controller"])] = False,
    node_id: Annotated[int | None, typer.Option("--id", metavar="N", help=HELP["id"])] = None,
    source: Annotated[str | None, typer.Option("--from", metavar="FILE", help=HELP["from"])] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help=HELP["set"])] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the nodes and errors as JSON.")] = False,
) -> None:
    """Make the directories of a cluster as `tape up` would, without starting it; `tape node` then starts each node.

    With --join it makes the directory of one more node for a cluster that runs.

    Example: tape format --data ./new --on a.example:9092 --on b.example:9092 --on c.example:9092

    Example: tape format --join a.example:9092 --on d.example:9092 --data ./new

    Example: tape format --from server.properties --data ./new
    """
    wanted = Wanted(
        data,
        listen=listen,
        nodes=nodes,
        on=on or [],
        join=join,
        controller=controller,
        node_id=node_id,
        source=source,
        settings=settings or [],
        places=log_dir or [],
    )
    raise typer.Exit(run_format(wanted, as_json=json))


app.command(rich_help_panel="Brokers")(router)
app.command(rich_help_panel="Brokers")(demo)
app.command(rich_help_panel="Records")(produce)
app.command(rich_help_panel="Records")(consume)
app.add_typer(cluster.app, name="cluster", rich_help_panel="Cluster")
app.add_typer(broker.app, name="broker", rich_help_panel="Cluster")
app.command(rich_help_panel="Cluster")(rebalance)
app.add_typer(topic.app, name="topic", rich_help_panel="Cluster")
app.add_typer(group.app, name="group", rich_help_panel="Cluster")
app.add_typer(txn.app, name="txn", rich_help_panel="Cluster")
app.add_typer(config.app, name="config", rich_help_panel="Cluster")
app.add_typer(tier.app, name="tier", rich_help_panel="Cluster")
app.command(rich_help_panel="Tools")(dump)
app.command(rich_help_panel="Tools")(scrub)
app.command(rich_help_panel="Tools")(capacity)
app.add_typer(spark.app, name="spark", rich_help_panel="Tools")
app.add_typer(pipeline.app, name="pipeline", rich_help_panel="Tools")
app.command(rich_help_panel="Tools")(version)


def run(arguments: Sequence[str]) -> int:
    """Run a command line and return its exit code; nothing escapes but a bug."""
    as_json = "--json" in arguments
    try:
        with interruptible():
            app(args=list(arguments), prog_name="tape")
        return EXIT_OK
    except SystemExit as finished:
        return finished.code if isinstance(finished.code, int) else EXIT_FAILED if finished.code else EXIT_OK
    except CliError as error:
        return report(error, as_json=as_json)
    except KafkaException as error:
        return report(explain(error.args[0]), as_json=as_json)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader has gone: say no more
        return EXIT_OK
