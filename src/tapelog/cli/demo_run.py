"""What `tape demo` does: a broker with orders flowing through it, two groups reading, and a live view.

One process besides this one (the broker). Orders, readers and the observer are threads around Kafka clients here.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import NewTopic
from rich.console import Group, RenderableType
from rich.text import Text

from tapelog.cli import demo_pipeline, demo_report, demo_shop, demo_view
from tapelog.cli.connect import Connection
from tapelog.cli.demo import RATE_MAX
from tapelog.cli.demo_ledger import Books, Ledger
from tapelog.cli.demo_load import TOPIC, Reader, Shop
from tapelog.cli.demo_pipeline import Pipeline
from tapelog.cli.demo_setup import Setup
from tapelog.cli.demo_watch import Watch
from tapelog.cli.holder import holder
from tapelog.cli.keys import Keys
from tapelog.cli.node_files import listen_error
from tapelog.cli.output import EXIT_FAILED, CliError, console, print_json
from tapelog.testing.broker import Broker, BrokerError

PORTS_TRIED = 100
FRAME_S = 0.5
PLAIN_EVERY_S = 5.0
PLAIN_LOOK_S = 0.25
CATCH_UP = 4
BAD_SHARE = 0.03
JOIN_S_MAX = 5
ANSWER_S_MAX = 5
CONFIG = {"retention.ms": "3600000", "segment.bytes": "16777216"}


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the command line asks for."""

    port: int
    rate: int
    data: Path | None
    bootstrap: str | None
    as_json: bool
    pipeline: bool = False
    seconds: float | None = None
    report: Path = Path("tapelog-demo")
    setup: str | None = None
    """A command that brings what the pipeline needs, run in the background."""


def run_demo(wishes: Wishes) -> None:
    """Run until told to stop; CliError if the broker does not start or ends by itself, or the pipeline does."""
    if wishes.pipeline and wishes.setup is None:
        demo_pipeline.check(os.environ)
    as_json, stop = wishes.as_json, threading.Event()
    with _signals() as asked, _cluster(wishes.bootstrap, wishes.port, wishes.data, as_json) as (address, broker):
        connection = Connection(address, timeout_s=ANSWER_S_MAX)
        _create_topic(connection)
        closing = threading.Event()
        books = Books(demo_shop.WINDOW_S * 1000)
        shop = Shop(connection, wishes.rate, closing, books)
        readers = {name: Reader(connection, name, wishes.rate * CATCH_UP, stop) for name in ("billing", "analytics")}
        watch = Watch(connection, broker, stop, wishes.seconds)
        threads: list[threading.Thread] = [shop, *readers.values(), watch]
        for thread in threads:
            thread.start()
        is_live = console().is_terminal and not as_json
        setup = Setup(wishes.setup) if wishes.pipeline and wishes.setup is not None else None

        def begin() -> Pipeline:
            if setup is not None:
                importlib.invalidate_caches()
                demo_pipeline.check(os.environ)
            pipeline = Pipeline(connection, address, wishes.data and wishes.data / "pipeline", stop)
            pipeline.start()
            shop.bad_share = BAD_SHARE
            return pipeline

        try:
            if wishes.pipeline:
                watch.begin_pipeline(begin, setup)
            if is_live:
                _live(address, watch, shop, readers, asked)
            else:
                _plain(address, watch, asked, as_json)
        finally:
            closing.set()
            if setup is not None:
                setup.end()
            if watch.pipeline is not None:
                shop.join(JOIN_S_MAX)
                _end(watch, books, asked, _say_nothing if as_json else _say)
            stop.set()
            deadline = time.monotonic() + (1 if watch.fatal else JOIN_S_MAX)
            for thread in threads:
                thread.join(max(0.0, deadline - time.monotonic()))
            if watch.pipeline is not None:
                watch.pipeline.close()
        if watch.pipeline is not None:
            _report(watch.pipeline.ledger, shop, watch.latest.uptime_s, wishes)
        if watch.fatal:
            raise CliError(watch.fatal, "start it again; --data DIR keeps its files for a closer look", EXIT_FAILED)
    if is_live:
        console().print(demo_view.next_step(), soft_wrap=True)


def _end(watch: Watch, books: Books, asked: list[int], say: Callable[[str], None]) -> None:
    """End the pipeline: at once when asked to, else when it has written what was sent."""
    assert watch.pipeline is not None
    if not asked and not watch.fatal and sys.exc_info()[0] is None:
        say("no more orders: the pipeline writes what it has")
        watch.pipeline.settle(books, asked)
    say("ending the pipeline")
    watch.pipeline.end()


def _report(ledger: Ledger, shop: Shop, seconds: float, wishes: Wishes) -> None:
    _, told = demo_pipeline.write_report(ledger, shop.books, shop.sent, seconds, wishes.report)
    if wishes.as_json:
        print_json({"report": told}, one_line=True)
        return
    for text in demo_report.report(told):
        console().print(text, soft_wrap=True)


@contextmanager
def _signals() -> Iterator[list[int]]:
    """SIGTERM, SIGINT and a terminal that is closed end the demo in order: the list gets their numbers.

    No Event here: a handler runs in the main thread, perhaps inside that Event's own wait, and would lock itself out.
    """
    asked: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        asked.append(number)

    numbers = [signal.SIGTERM, signal.SIGINT]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as under nohup: it is to go on without its terminal
        numbers.append(signal.SIGHUP)
    before = {number: signal.signal(number, note) for number in numbers}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _cluster(bootstrap: str | None, port: int, data: Path | None, as_json: bool) -> Iterator[tuple[str, Broker | None]]:
    """An address to use: of the cluster named, or of a broker of our own that ends with us."""
    say: Callable[[str], None] = _say_nothing if as_json else _say
    if bootstrap is not None:
        yield bootstrap, None
        return
    chosen = free_port(port)
    if chosen != port:
        who = holder(port)
        say(f"port {port} is taken{f' by {who}' if who else ''}: this broker listens on {chosen}")
    try:
        broker = Broker(data=data, listen=f"127.0.0.1:{chosen}").start()
    except BrokerError as error:
        raise CliError(str(error), "", EXIT_FAILED) from None
    try:
        say(
            f"broker started in {broker.start_seconds:.2f} s, files in {broker.data_dir}"
            + ("" if data else " (temporary)")
        )
        yield broker.bootstrap, broker
    finally:
        broker.close()


def free_port(first: int) -> int:
    """The first port that can be listened on, from this one upwards."""
    for port in range(first, min(first + PORTS_TRIED, 65536)):
        if listen_error("127.0.0.1", port) is None:
            return port
    raise CliError(f"ports {first} to {first + PORTS_TRIED - 1} are all taken", "give another with --port")


def _say(text: str) -> None:
    with suppress(OSError):  # the terminal may have been closed
        console().print(Text(text, style="dim"), soft_wrap=True)


def _say_nothing(text: str) -> None:
    pass


def _create_topic(connection: Connection) -> None:
    wanted = NewTopic(TOPIC, num_partitions=3, replication_factor=-1, config=CONFIG)
    try:
        connection.admin.create_topics([wanted])[TOPIC].result(10)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise connection.explained(error, topic=TOPIC) from None


def _live(address: str, watch: Watch, shop: Shop, readers: dict[str, Reader], asked: list[int]) -> None:
    from rich.live import Live

    screen = console()
    screen.print(f"ready {address}")
    screen.print("Paste any of these into another terminal, in this directory:", style="bold")
    screen.print(demo_view.paste_text(address), soft_wrap=True)
    title = f"{'Tapelog' if watch.own else 'Cluster'} on {address}"
    bars = demo_view.BARS if "utf" in (sys.stdout.encoding or "").lower() else demo_view.ASCII_BARS

    def frame() -> RenderableType:
        stopped = [name for name, reader in readers.items() if not reader.wanted.is_set()]
        above = Group(*watch.pipeline_parts())
        height = screen.height - len(screen.render_lines(above))
        return Group(
            above,
            demo_view.live(
                title, watch.latest, stopped, shop.rate, watch.trouble, bars=bars, width=screen.width, height=height
            ),
        )

    with Keys() as keys, Live(frame(), console=screen, auto_refresh=False, vertical_overflow="crop") as live:
        while not asked:
            for key in keys.read(FRAME_S):
                _press(key, shop, readers, asked)
            if watch.check():
                return
            live.update(frame(), refresh=True)


def _press(key: str, shop: Shop, readers: dict[str, Reader], asked: list[int]) -> None:
    match key:
        case "s":
            readers["billing"].toggle()
        case "a":
            readers["analytics"].toggle()
        case "+" | "=":
            shop.rate = min(RATE_MAX, shop.rate * 2)
        case "-":
            shop.rate = max(1, shop.rate / 2)
        case "q" | "\x04":
            asked.append(signal.SIGINT)


def _plain(address: str, watch: Watch, asked: list[int], as_json: bool) -> None:
    if as_json:
        print_json({"ready": address}, one_line=True)
    else:
        sys.stdout.write(f"ready {address}\n")
        for what, line in demo_view.paste_lines(address):
            sys.stdout.write(f"# {what}\n{line}\n")
    sys.stdout.flush()
    said = time.monotonic()
    while not asked:
        time.sleep(PLAIN_LOOK_S)
        if watch.check():
            return
        if time.monotonic() - said < PLAIN_EVERY_S:
            continue
        said = time.monotonic()
        if as_json:
            print_json(demo_view.document(watch.latest), one_line=True)
        else:
            lines = [watch.trouble or demo_view.line(watch.latest), watch.pipeline_line()]
            sys.stdout.write("".join(f"{one}\n" for one in lines if one))
        sys.stdout.flush()
