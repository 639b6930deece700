"""Spark as processes of ours: a master, workers whose executors lack our environment, and the driver."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tests.spark.kills.processes import children, descendants, kill, words
from tests.support.ports import free_ports

ROOT = Path(__file__).resolve().parents[3]
PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"
JVM = ["-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
BARE_PATH = "/usr/local/bin:/usr/bin:/bin"
NOTICE_S = 5


class Standalone:
    """Master and workers; every worker has one executor of the query. Local mode where `workers` is 0."""

    def __init__(self, place: Path, workers: int) -> None:
        import pyspark

        self.home = Path(pyspark.__file__).parent
        self.place = place
        self.processes: list[subprocess.Popen[bytes]] = []
        self.workers: list[subprocess.Popen[bytes]] = []
        self.master = "local[2,8]"
        self._log = place / "spark.log"
        if workers:
            self._start(workers)

    def _start(self, workers: int) -> None:
        bare = self.place / "bare"
        bare.mkdir()
        for name in ("pyspark", "py4j"):
            (bare / name).symlink_to(self.home.parent / name)
        env = {
            "PATH": BARE_PATH,
            "HOME": str(self.place),
            "PYTHONPATH": str(bare),
            "SPARK_HOME": str(self.home),
            "JAVA_HOME": os.environ.get("JAVA_HOME", ""),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_SCALA_VERSION": next(self.home.glob("jars/spark-core_*.jar")).name.split("_")[1].split("-")[0],
        }
        env = {name: value for name, value in env.items() if value}
        _lacks_our_packages(env)
        port, ui = free_ports(2)
        self.master = f"spark://127.0.0.1:{port}"
        java = [shutil.which("java") or "java", *JVM, "-Dspark.deploy.maxExecutorRetries=-1"]
        classes = ["-cp", f"{self.home}/jars/*"]
        begin = ["org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(port)]
        self._spawn([*java, *classes, *begin, "--webui-port", str(ui)], env)
        for number in range(workers):
            begin = ["org.apache.spark.deploy.worker.Worker", self.master, "--host", "127.0.0.1", "--cores", "1"]
            more = ["--memory", "1g", "--webui-port", str(free_ports(1)[0]), "-d", str(self.place / f"worker-{number}")]
            self.workers.append(self._spawn([*java, *classes, *begin, *more], env))

    def _spawn(self, command: list[str], env: dict[str, str]) -> subprocess.Popen[bytes]:
        with open(self._log, "ab") as log:
            process = subprocess.Popen(command, env=env, stdout=log, stderr=subprocess.STDOUT, cwd=self.place)
        self.processes.append(process)
        return process

    def executors(self) -> list[int]:
        """Executors that run."""
        return [
            child
            for worker in self.workers
            for child in children(worker.pid)
            if "CoarseGrainedExecutorBackend" in words(child)
        ]

    def stop(self) -> None:
        """End everything, the executors with it."""
        for process in self.processes:
            below = descendants(process.pid)
            process.kill()
            for child in below:
                kill(child)
            process.wait(20)


def _lacks_our_packages(env: dict[str, str]) -> None:
    """The executors' Python must find nothing of ours by itself: what their tasks use is from the archive then."""
    for name in ("tapelog", "pyarrow"):
        look = f"import importlib.util as u; raise SystemExit(u.find_spec({name!r}) is not None)"
        assert subprocess.run([PYTHON, "-c", look], env=env, cwd="/").returncode == 0, f"executors have {name}"


class Driver:
    """The query's driver: started again whenever it has ended."""

    def __init__(self, place: Path, arguments: list[str]) -> None:
        self._log = place / "driver.log"
        self._arguments = arguments
        self._process: subprocess.Popen[bytes] | None = None
        self.starts = 0

    def start(self) -> None:
        """Begin a run of the query."""
        here = Path(sys.executable).parent
        env = os.environ | {
            "PATH": f"{here}{os.pathsep}{os.environ.get('PATH', '')}",
            "PYSPARK_PYTHON": PYTHON,
            "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}",
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        command = [sys.executable, str(Path(__file__).with_name("job.py")), *self._arguments]
        with open(self._log, "ab") as log:
            self._process = subprocess.Popen(command, env=env, stdout=log, stderr=subprocess.STDOUT)
        self.starts += 1

    @property
    def ended(self) -> bool:
        """Whether nobody runs the query just now."""
        return self._process is None or self._process.poll() is not None

    def below(self) -> list[int]:
        """Everything that descends from it: the JVM, and workers of Python."""
        return [] if self._process is None else descendants(self._process.pid)

    def java(self) -> list[int]:
        """Its JVM."""
        return [child for child in self.below() if "java" in words(child).split(" ")[0]]

    def strike(self, how: str, java: list[int]) -> None:
        """-9 to the JVM alone, to Python alone, or to both."""
        if how != "python":
            for process in java:
                kill(process)
        if how != "jvm" and self._process is not None:
            self._process.kill()

    def bury(self, java: list[int]) -> None:
        """Whoever is left of a driver has some seconds to notice; then nobody is."""
        over = time.monotonic() + NOTICE_S
        while (not self.ended or any(words(process) for process in java)) and time.monotonic() < over:
            time.sleep(0.05)
        self.end(java)

    def end(self, more: list[int] | None = None) -> None:
        """Leave nothing behind of this run but workers that are on their own by now."""
        for process in more or self.below():
            kill(process)
        if self._process is not None:
            self._process.kill()
            self._process.wait(20)

    def log(self) -> str:
        """What it said last."""
        return self._log.read_text(errors="replace")[-4000:] if self._log.exists() else ""
