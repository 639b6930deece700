"""What register(spark) tells the workers of a local master, and what a worker does with it."""

from __future__ import annotations

import gc
import os
import pickle
import socket
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tapelog.spark.source import workers
from tapelog.spark.source.workers import PLACE, SETTING, SLOTS, VARIABLE, Prompt, prepare, settle, slots

pyspark = pytest.importorskip("pyspark")


class Scheduler:
    """What Spark's scheduler tells of itself, through py4j."""

    def __init__(self, slots: int | None) -> None:
        self._slots = slots

    def sc(self) -> Scheduler:
        return self

    def resourceProfileManager(self) -> Scheduler:
        return self

    def defaultResourceProfile(self) -> Scheduler:
        return self

    def maxNumConcurrentTasks(self, profile: Scheduler) -> int:
        if self._slots is None:
            raise RuntimeError("no such method")
        return self._slots


def prepared(master: str, settings: dict[str, str] | None = None, known: int | None = 3, **environment: str) -> Any:
    context = SimpleNamespace(
        master=master,
        pythonExec="python3",
        getConf=lambda: settings or {},
        environment=environment,
        defaultParallelism=200,  # a setting, and not what there is
        _jsc=Scheduler(known),
    )
    prepare(SimpleNamespace(sparkContext=context))
    return context


@pytest.fixture(autouse=True)
def nothing_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (VARIABLE, SLOTS, PLACE, "SPARK_HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("master", ["local", "local[2]", "local[*]"])
def test_local_workers_run_the_drivers_python(master: str) -> None:
    assert prepared(master).pythonExec == sys.executable


@pytest.mark.parametrize("master", ["spark://host:7077", "yarn", "k8s://https://host", "local-cluster[2,1,1024]"])
def test_a_clusters_workers_keep_theirs(master: str) -> None:
    context = prepared(master)
    assert (context.pythonExec, context.environment) == ("python3", {})


def test_a_cluster_has_no_slots_of_a_local_session_that_its_driver_was_started_in(monkeypatch: Any) -> None:
    monkeypatch.setenv(SLOTS, "2")
    monkeypatch.setenv(PLACE, "/of/that/session")
    environment = prepared("yarn").environment
    assert environment == {SLOTS: "", PLACE: ""}
    monkeypatch.setenv(SLOTS, environment[SLOTS])
    assert slots() is None


def test_a_python_that_was_chosen_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    assert prepared("local[2]", {SETTING: "python3.12"}).pythonExec == "python3"
    monkeypatch.setenv(VARIABLE, "python3.12")
    assert prepared("local[2]").pythonExec == "python3"


def test_a_session_of_spark_connect_has_no_workers_here() -> None:
    prepare(SimpleNamespace())


def test_local_workers_are_told_how_many_slots_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = prepared("local[3]").environment
    assert slots() is None
    monkeypatch.setenv(SLOTS, environment[SLOTS])
    assert slots() == 3


def test_a_spark_that_does_not_tell_its_slots_has_none_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SLOTS, prepared("local[3]", known=None).environment[SLOTS])
    assert slots() is None


@pytest.mark.parametrize("told", ["", "0", "many", "-1"])
def test_a_number_of_slots_that_is_none_is_not_believed(told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SLOTS, told)
    assert slots() is None


def test_workers_find_our_startup_before_what_was_on_the_path() -> None:
    context = prepared("local[2]", PYTHONPATH="/of/the/user")
    prepare(SimpleNamespace(sparkContext=context))  # twice does no harm
    first, *rest = context.environment["PYTHONPATH"].split(os.pathsep)
    assert rest == ["/of/the/user"]
    assert (Path(first) / "sitecustomize.py").is_file()
    assert (Path(context.environment[PLACE]) / "pyspark").samefile(Path(pyspark.__file__).parent)


def test_a_spark_that_is_not_the_drivers_pyspark_keeps_its_zip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    environment = prepared("local[2]").environment
    assert PLACE not in environment
    assert "PYTHONPATH" not in environment


MAIN = "def main(infile, outfile, call):\n    return call()\n"


def in_a_worker(jvm: socket.socket, call: Callable[[], Any], package: str = "pyspark") -> Any:
    """What `call` returns where it is called by the `main` of a worker that is connected to the JVM by this socket."""
    namespace: dict[str, Any] = {"__name__": f"{package}.worker", "__package__": package}
    exec(MAIN, namespace)
    with jvm.makefile("rb") as infile, jvm.makefile("wb") as outfile:
        return namespace["main"](infile, outfile, call)


class Sockets:
    """A worker's way to the JVM, and a socket of a user's own; both stay on this machine."""

    def __init__(self) -> None:
        self.server = socket.create_server(("127.0.0.1", 0))
        self.jvm, self.users = (socket.create_connection(self.server.getsockname()) for _ in range(2))

    def __enter__(self) -> Sockets:
        return self

    def __exit__(self, *error: object) -> None:
        for sock in (self.jvm, self.users, self.server):
            sock.close()


def congestion(sock: socket.socket) -> bytes:
    """How it is paced."""
    return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0")


@pytest.mark.skipif(not hasattr(socket, "TCP_CONGESTION"), reason="needs TCP_CONGESTION, which Linux has")
def test_a_workers_way_to_the_jvm_is_not_paced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_SETTLED", set())
    with Sockets() as here:
        chosen = next(
            name for name in (b"cubic", b"bbr", b"reno") if choose(here.users, name) and choose(here.jvm, name)
        )
        in_a_worker(here.jvm, settle)
        gc.unfreeze()
        assert (congestion(here.jvm), congestion(here.users)) == (b"reno", chosen)


def choose(sock: socket.socket, name: bytes) -> bool:
    """Whether this machine has it."""
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name)
    except OSError:
        return False
    return True


def test_sockets_stay_blocking_where_somebody_has_set_a_default_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_SETTLED", set())
    with Sockets() as here:
        socket.setdefaulttimeout(10)
        try:
            in_a_worker(here.jvm, settle)
        finally:
            socket.setdefaulttimeout(None)
            gc.unfreeze()
        assert all(os.get_blocking(sock.fileno()) for sock in (here.jvm, here.users, here.server))


@pytest.mark.parametrize("spread", [BrokenPipeError(), ConnectionResetError(), ValueError("planted")])
def test_the_daemon_prints_no_frames_where_the_jvm_has_closed_the_connection(
    spread: Exception, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    daemon = ModuleType("pyspark.daemon")
    exec(
        "import traceback\ndef end(error):\n try: raise error\n except BaseException: traceback.print_exc()",
        vars(daemon),
    )
    monkeypatch.setitem(sys.modules, daemon.__name__, daemon)
    monkeypatch.setattr(workers, "_SETTLED", set())
    settle()
    gc.unfreeze()
    daemon.end(spread)
    assert ("Traceback" in capsys.readouterr().err) == isinstance(spread, ValueError)
    assert daemon.traceback.format_exc is traceback.format_exc


@pytest.mark.parametrize("told", [(SLOTS, "2"), (PLACE, "/somewhere")])
def test_what_a_worker_has_loaded_is_not_looked_at_by_the_collector(
    told: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "_SETTLED", set())
    monkeypatch.setenv(*told)
    before = gc.get_freeze_count()
    try:
        settle()
        frozen = gc.get_freeze_count()
        assert frozen > before + 1000
        made_since = [[] for _ in range(10_000)]  # type: ignore[var-annotated]
        settle()  # once is enough
        assert gc.get_freeze_count() < frozen + len(made_since) // 2, "other threads free and make a few"
    finally:
        gc.unfreeze()


@pytest.mark.parametrize("told", [{}, {SLOTS: "", PLACE: ""}])
def test_nothing_is_frozen_where_workers_are_not_those_of_a_prepared_local_master(
    told: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "_SETTLED", set())
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    before = gc.get_freeze_count()
    try:
        settle()
        assert gc.get_freeze_count() == before
    finally:
        gc.unfreeze()


needs_quickack = pytest.mark.skipif(not hasattr(socket, "TCP_QUICKACK"), reason="needs TCP_QUICKACK, which Linux has")


class Carried(Prompt):
    """What a task gets pickled."""

    def __init__(self) -> None:
        self.options = {"topic": "orders"}


def late(sock: socket.socket) -> bool:
    """Does this end wait before it acknowledges?"""
    return not sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK)


@needs_quickack
@pytest.mark.parametrize("package", ["pyspark", "pyspark.sql.worker"])
def test_a_task_acknowledges_at_once_when_its_reader_or_writer_has_come(package: str) -> None:
    pickled = pickle.dumps(Carried())
    with Sockets() as here:
        for sock in (here.jvm, here.users):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
            assert late(sock)
        assert in_a_worker(here.jvm, lambda: pickle.loads(pickled), package).options == {"topic": "orders"}
        assert not late(here.jvm)
        assert late(here.users), "what is not Spark's is left alone"


@needs_quickack
def test_no_socket_is_touched_outside_of_sparks_workers() -> None:
    pickled = pickle.dumps(Carried())
    with Sockets() as here:
        here.jvm.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
        in_a_worker(here.jvm, lambda: pickle.loads(pickled), "somebody.else")
        pickle.loads(pickled)
        assert late(here.jvm)


@needs_quickack
def test_nothing_is_acknowledged_where_asking_would_make_sockets_non_blocking() -> None:
    pickled = pickle.dumps(Carried())
    with Sockets() as here:
        here.jvm.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
        socket.setdefaulttimeout(10)
        try:
            in_a_worker(here.jvm, lambda: pickle.loads(pickled))
        finally:
            socket.setdefaulttimeout(None)
        assert late(here.jvm)
        assert os.get_blocking(here.jvm.fileno())


def test_whatever_travels_to_tasks_lets_the_rest_of_them_come_at_once() -> None:
    from tapelog.spark.sink.writers import BatchWriter, StreamWriter
    from tapelog.spark.source.batch import BatchReader
    from tapelog.spark.source.stream import StreamReader

    for kind in (BatchReader, StreamReader, BatchWriter, StreamWriter):
        assert kind.__setstate__ is Prompt.__setstate__
