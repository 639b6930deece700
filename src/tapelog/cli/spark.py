"""`tape spark`: what is needed around a Spark cluster."""

from __future__ import annotations

import hashlib
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tapelog.cli.options import Json
from tapelog.cli.output import EXIT_NOT_FOUND, EXIT_USAGE, CliError, console, error_console, print_json

if TYPE_CHECKING:
    from tapelog.cli.spark_pack import Contents

MEGABYTE = 1_000_000
ENDINGS = (".tar.gz", ".tgz", ".tar")

app = typer.Typer(help="Around Spark: pack what executors need.", no_args_is_help=True)


@app.callback()
def spark() -> None:
    """Around Spark: pack what executors need."""


@app.command()
def pack(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The archive: .tar.gz, or .tar where disk is cheap.")
    ] = Path("tapelog-spark.tar.gz"),
    add: Annotated[
        list[str] | None,
        typer.Option("--add", metavar="NAME", help="A further installed package, with what it needs. Repeatable."),
    ] = None,
    leave_out: Annotated[
        list[str] | None,
        typer.Option("--leave-out", metavar="NAME", help="A package that executors have already. Repeatable."),
    ] = None,
    json: Json = False,
) -> None:
    """Pack Tapelog and what it needs into an archive for executors that lack it, and say how to start a job with it.

    Packs what is installed here; downloads nothing. The same environment gives the same archive, byte for byte.
    Executors must run the same version of Python on the same platform; PySpark they have from Spark itself.

    Example: tape spark pack --output tapelog-spark.tar.gz --add shapely

    Example: tape spark pack --leave-out pyarrow --leave-out pandas --json
    """
    from tapelog.cli.spark_pack import PackError, contents, platform, write

    if not output.name.endswith(ENDINGS):
        raise CliError(f"--output {output}: Spark would not unpack it", f"end it with {', '.join(ENDINGS)}", EXIT_USAGE)
    began = time.monotonic()
    try:
        packed = contents(add or (), leave_out or ())
        with _Progress(packed.size, quiet=json) as told:
            write(packed, output, told.add)
    except PackError as error:
        raise CliError(str(error), error.hint, EXIT_NOT_FOUND) from None
    except OSError as error:
        raise CliError(
            f"cannot write {error.filename or output}: {error.strerror}", "choose another place with --output"
        ) from None
    size, seconds = output.stat().st_size, time.monotonic() - began
    if json:
        with output.open("rb") as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
        print_json(
            {
                "archive": str(output),
                "bytes": size,
                "unpacked_bytes": packed.size,
                "files": len(packed.files),
                "sha256": digest,
                "seconds": round(seconds, 1),
                "python": python_name(),
                "platform": platform(),
                "packages": packed.versions,
                "environment": {"PYSPARK_PYTHON": python_name()},
                "arguments": arguments(output),
            }
        )
        return
    _tell(output, packed, size, seconds, platform())


def arguments(output: Path) -> list[str]:
    """What spark-submit and pyspark are given."""
    name = directory(output)
    return ["--archives", f"{output}#{name}", "--conf", f"spark.executorEnv.PYTHONPATH={name}"]


def directory(output: Path) -> str:
    """Where executors find it unpacked, below where they run."""
    ending = next(ending for ending in ENDINGS if output.name.endswith(ending))
    return output.name.removesuffix(ending)


def python_name() -> str:
    """The interpreter by its name, so that driver and executors each find their own in PATH."""
    return f"python{sys.version_info.major}.{sys.version_info.minor}"


def _tell(output: Path, packed: Contents, size: int, seconds: float, platform: str) -> None:
    names = ", ".join(f"{name} {version}" for name, version in packed.versions.items())
    console().print(f"{output}: {size / MEGABYTE:.0f} MB ({packed.size / MEGABYTE:.0f} unpacked) in {seconds:.0f} s")
    console().print(f"holds {names}", soft_wrap=True)
    console().print(f"fits executors with {platform}\n", soft_wrap=True)
    console().print("Start a job with it, from this environment (its bin directory in PATH, as after `activate`):\n")
    archives, archive, conf, path = arguments(output)
    console().print(f"  PYSPARK_PYTHON={python_name()} spark-submit {archives} {archive} \\", soft_wrap=True)
    console().print(f"    {conf} {path} job.py", soft_wrap=True)


class _Progress:
    """A bar on a terminal; nothing elsewhere."""

    def __init__(self, total: int, *, quiet: bool) -> None:
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

        columns = TextColumn("packing"), BarColumn(), DownloadColumn(), TimeRemainingColumn()
        hidden = quiet or not sys.stderr.isatty()
        self._bar = Progress(*columns, console=error_console(), disable=hidden, transient=True)
        self._task = self._bar.add_task("", total=total)

    def __enter__(self) -> _Progress:
        self._bar.start()
        return self

    def __exit__(self, *failed: object) -> None:
        self._bar.stop()

    def add(self, count: int) -> None:
        """So many bytes more."""
        self._bar.advance(self._task, count)
