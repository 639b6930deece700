"""What `make test` consists of, in the order it runs. tests/tidy checks that no suite is forgotten here."""

from __future__ import annotations

from dataclasses import dataclass

INTERPRETED = "interpreted"
COMPILED = "compiled"


@dataclass(frozen=True)
class Check:
    """A command that must succeed; not a pytest suite."""

    name: str
    command: tuple[str, ...]
    quick: bool = True


@dataclass(frozen=True)
class Suite:
    """A directory under tests/. `hot` says with which hot path it runs; `minutes` is what two cores need, per way."""

    name: str
    hot: tuple[str, ...]
    minutes: float
    workers: int = 0
    about: str = ""
    by_file: bool = False
    """A worker takes whole files: their tests share brokers."""
    waits: bool = False
    """Mostly waits for processes and clocks: runs beside those that compute, and before them where both want a core."""
    setup: str = ""
    """A level of tools/setup that it needs; where that fails, the suite is left out, and the plan says why."""

    @property
    def path(self) -> str:
        """Where its tests lie."""
        return f"tests/{self.name}"


CHECKS = (
    Check("ruff check", ("ruff", "check", "--quiet", "--output-format", "concise", ".")),
    Check("ruff format", ("ruff", "format", "--check", "--output-format", "concise", ".")),
    Check("import layers", ("lint-imports", "--no-logo")),
    Check("mypy --strict", ("mypy", "--no-error-summary"), quick=False),
)

CHECKS_MINUTES = 0.5
"""All of them, and counting the tests."""

SUITES = (
    Suite("tidy", (INTERPRETED,), 0.2, 2, "the house rules, each shown to bite"),
    Suite("unit", (INTERPRETED, COMPILED), 1.5, 2, "one room at a time, and stories told as text files"),
    Suite("properties", (INTERPRETED, COMPILED), 1.4, 2, "generated values against an independent codec and models"),
    Suite("fuzz", (INTERPRETED, COMPILED), 0.5, 2, "hostile bytes, fixed seeds"),
    Suite("simulation", (INTERPRETED,), 4, 2, "nodes and clusters in virtual time, with every fault, from seeds"),
    Suite("clients", (INTERPRETED, COMPILED), 5.9, 2, "real clients nobody here wrote", by_file=True, waits=True),
    Suite("toolkit", (INTERPRETED,), 1.9, 2, "what applications build on, and the examples", waits=True),
    Suite(
        "spark", (COMPILED,), 6.2, 2, "source, sink, lake and pipelines in a real Spark", by_file=True, setup="spark"
    ),
    Suite("chaos", (COMPILED,), 4.4, 0, "kill -9 and power cuts on real processes", waits=True),
)

QUICK = ("unit",)

BUILD_MINUTES = 7
NICE_BUILD, NICE_COMPUTING = 2, 5
"""The build is what others wait for; suites that compute take what is left."""

TOOLS = {
    "java": "Apache Kafka's own tools",
    "mvn": "fetches them",
    "go": "franz-go",
    "node": "KafkaJS",
    "npm": "fetches it",
    "kcat": "kcat",
    "redis-server": "the toolkit's Redis store",
    "postgres": "the toolkit's PostgreSQL store and outbox",
    "gcc": "the compiled hot path; the preloaded power cut",
}
