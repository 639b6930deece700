"""Reading a pipeline from its file."""

from __future__ import annotations

from pathlib import Path

from tapelog.spark.pipeline.document import located, parse
from tapelog.spark.pipeline.model import Pipeline
from tapelog.spark.pipeline.problems import DocumentError, Problem
from tapelog.spark.pipeline.read import read_pipeline


def load(file: str | Path) -> Pipeline:
    """The pipeline that a file declares; DocumentError says, by line, why it declares none."""
    name = str(file)
    try:
        text = Path(file).read_text(encoding="utf-8")
    except FileNotFoundError:
        problem = Problem(0, "there is no such file: `tape pipeline init` writes one to start from")
        raise DocumentError(name, [problem]) from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
        raise DocumentError(name, [Problem(0, f"cannot be read: {reason}")]) from None
    return loads(text, name)


def loads(text: str, file: str) -> Pipeline:
    """The same from text; the name's ending says whether it is TOML or YAML."""
    return read_pipeline(parse(text, file), file)


def declared(document: dict[str, object], name: str) -> Pipeline:
    """A pipeline from plain values, as built-in jobs make them: checked like a file."""
    return read_pipeline(located(document), name)
