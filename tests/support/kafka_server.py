"""Apache Kafka itself, one node, for tests of our client: plain, with TLS, and with every way to log in.

From the jars that tests/clients/setup.sh fetches. One server serves all tests of a session; it takes some seconds.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from tapelog.client.cluster import Cluster
from tapelog.client.errors import ClientError
from tapelog.client.settings import ConnectionSettings, parse_addresses
from tests.support.certificates import Authority
from tests.support.kafka_dumper import LIB
from tests.support.ports import free_ports

USER, PASSWORD = "alice", "alice's secret, = and all"
SCRAM_PASSWORD = "scram-secret"
START_SECONDS = 90
REAUTH_MS = 4000
_MODULES = "org.apache.kafka.common.security"


@dataclass(frozen=True)
class Listeners:
    """Addresses, host:port, by what they want."""

    plain: str
    tls: str
    mutual: str
    sasl: str
    sasl_tls: str


class KafkaServer:
    """A running Kafka, gone with everything it wrote at the end of a `with`."""

    def __init__(self) -> None:
        self.authority = Authority()
        self.home = Path(tempfile.mkdtemp(prefix="tapelog-kafka-"))
        ports = free_ports(6)
        self.on = Listeners(*[f"localhost:{port}" for port in ports[:5]])
        self._controller = ports[5]
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> KafkaServer:
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(20)
        shutil.rmtree(self.home, ignore_errors=True)

    def _start(self) -> None:
        server = self.authority.sign("kafka", "localhost")
        (self.home / "server.pem").write_bytes(server.pem())
        (self.home / "ca.pem").write_bytes(self.authority.pem)
        properties = self.home / "server.properties"
        properties.write_text(self._properties())
        scram = [f"--add-scram=SCRAM-SHA-{bits}=[name={USER},password={SCRAM_PASSWORD}]" for bits in (256, 512)]
        told = subprocess.run(
            [
                *_java(),
                "kafka.tools.StorageTool",
                "format",
                "-t",
                "MkU3OEVBNTcwNTJENDM2Qk",
                "-c",
                str(properties),
                *scram,
            ],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert told.returncode == 0, told.stdout + told.stderr
        self.start_again()

    def kill(self) -> None:
        """-9; its files stay."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(20)

    def start_again(self) -> None:
        """On the same ports and files; waits until it answers."""
        with open(self.home / "log", "ab") as log:
            self._process = subprocess.Popen(
                [*_java(), "kafka.Kafka", str(self.home / "server.properties")], stdout=log, stderr=subprocess.STDOUT
            )
        self._wait()

    def _wait(self) -> None:
        """Until it answers."""
        assert self._process is not None
        settings = ConnectionSettings(parse_addresses(self.on.plain), api_timeout_ms=300)
        over = time.monotonic() + START_SECONDS
        while True:
            assert self._process.poll() is None, (self.home / "log").read_text()[-3000:]
            cluster = Cluster(settings)
            try:
                cluster.all_topics()
                return
            except ClientError:
                assert time.monotonic() < over, (self.home / "log").read_text()[-3000:]
                time.sleep(0.1)
            finally:
                cluster.close()

    def _properties(self) -> str:
        names = {"PLAIN": "PLAINTEXT", "TLS": "SSL", "MUTUAL": "SSL", "SASL": "SASL_PLAINTEXT", "SASLTLS": "SASL_SSL"}
        places = dict(
            zip(names, (self.on.plain, self.on.tls, self.on.mutual, self.on.sasl, self.on.sasl_tls), strict=True)
        )
        listeners = ",".join(f"{name}://{place}" for name, place in places.items())
        kinds = ",".join(f"{name}:{kind}" for name, kind in names.items())
        lines = [
            "process.roles=broker,controller",
            "node.id=1",
            f"listeners={listeners},CONTROLLER://localhost:{self._controller}",
            f"advertised.listeners={listeners}",
            f"listener.security.protocol.map={kinds},CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name=PLAIN",
            "controller.listener.names=CONTROLLER",
            f"controller.quorum.voters=1@localhost:{self._controller}",
            f"log.dirs={self.home / 'data'}",
            "num.network.threads=1",
            "num.io.threads=2",
            "offsets.topic.replication.factor=1",
            "offsets.topic.num.partitions=2",
            "transaction.state.log.replication.factor=1",
            "transaction.state.log.min.isr=1",
            "transaction.state.log.num.partitions=2",
            "ssl.keystore.type=PEM",
            f"ssl.keystore.location={self.home / 'server.pem'}",
            "ssl.truststore.type=PEM",
            f"ssl.truststore.location={self.home / 'ca.pem'}",
            "listener.name.mutual.ssl.client.auth=required",
            f"listener.name.sasl.scram-sha-512.connections.max.reauth.ms={REAUTH_MS}",
        ]
        for listener in ("sasl", "sasltls"):
            lines += [
                f"listener.name.{listener}.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
                f"listener.name.{listener}.plain.sasl.jaas.config={_MODULES}.plain.PlainLoginModule required"
                f' user_{USER}="{PASSWORD}";',
                f"listener.name.{listener}.oauthbearer.sasl.jaas.config={_MODULES}.oauthbearer.OAuthBearerLoginModule"
                ' required unsecuredLoginStringClaim_sub="broker";',
            ]
            lines += [
                f"listener.name.{listener}.{name}.sasl.jaas.config={_MODULES}.scram.ScramLoginModule required;"
                for name in ("scram-sha-256", "scram-sha-512")
            ]
        return "\n".join(lines) + "\n"


def _java() -> list[str]:
    level = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
    speed = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx384m", "-Xshare:auto"]
    return ["java", *speed, level, "-cp", f"{LIB}{os.sep}*"]
