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

SUITES = (
    Suite("tidy", (INTERPRETED,), 0.3, 2, "the house rules, each shown to bite"),
    Suite("unit", (INTERPRETED, COMPILED), 0.8, 2, "one room at a time, and stories told as text files"),
    Suite("properties", (INTERPRETED, COMPILED), 1, 2, "generated values against an independent codec and models"),
    Suite("simulation", (INTERPRETED,), 2.5, 2, "nodes and clusters in virtual time, with every fault, from seeds"),
    Suite("fuzz", (INTERPRETED, COMPILED), 0.4, 2, "hostile bytes, fixed seeds"),
    Suite("clients", (INTERPRETED, COMPILED), 3.8, 2, "real clients nobody here wrote", by_file=True),
    Suite("toolkit", (INTERPRETED,), 2.5, 2, "what applications build on, and the examples"),
    Suite("chaos", (COMPILED,), 2.8, 0, "kill -9 and power cuts on real processes"),
)

QUICK = ("unit",)

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
