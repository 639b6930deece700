"""What can be known to be wrong before a loop runs, said when it is made, with what to do instead."""

from __future__ import annotations

import difflib
import functools
import inspect
import re
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

from tapelog.toolkit.failures import check_policy
from tapelog.toolkit.loop import Options, Start
from tapelog.toolkit.records import checked_topic

AWAITABLE = re.compile(r"Awaitable|Coroutine|Future|Task|\bAny\b|\bobject\b")
"""Annotations of what a function returns that can be awaited, or may be."""


def check_options(options: Mapping[str, Any]) -> None:
    """Names and values of the options that every loop has."""
    known = sorted(Options.__annotations__)
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            advice = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known)}"
            raise TypeError(f"a loop has no option {name!r}: {advice}")
    start = options.get("start", "earliest")
    if start not in get_args(Start):
        raise ValueError(f"start={start!r}: a group without offsets begins at one of {', '.join(get_args(Start))}")
    if "on_error" in options:
        check_policy("on_error", options["on_error"])
    for name in ("grace_seconds", "patience_seconds"):
        if not options.get(name, 0) >= 0:
            raise ValueError(f"{name}={options[name]!r}: a length of time in seconds is needed")


def checked_topics(topics: str | Sequence[str]) -> tuple[str, ...]:
    """One topic or several, as a tuple; a name that begins with ^ is a regular expression."""
    names = (topics,) if isinstance(topics, str) else tuple(topics)
    if not names:
        raise ValueError("topics: name one at least")
    for name in names:
        if not isinstance(name, str) or not name.startswith("^"):
            checked_topic(name)
    return names


def check_handler(handle: object) -> None:
    """Refuse what a loop of `tapelog.toolkit` cannot call: async handlers."""
    called = _called(handle)
    if inspect.iscoroutinefunction(called) or inspect.isasyncgenfunction(called):
        raise TypeError(
            f"the handler {_name(handle)} is async: use the loop of the same name in tapelog.toolkit.aio "
            "(AsyncIdempotentConsumer for IdempotentConsumer), and await its run()"
        )


def check_async_handler(handle: object) -> None:
    """Refuse what a loop of `tapelog.toolkit.aio` cannot await, as far as can be seen without calling it.

    A plain function may return an awaitable: one that says so in its annotation passes, so do a lambda and a wrapper.
    """
    called = _called(handle)
    if inspect.isasyncgenfunction(called):
        raise TypeError(
            f"the handler {_name(handle)} is an async generator: return a list of Sends instead of yielding"
        )
    if not isinstance(called, types.FunctionType) or called.__name__ == "<lambda>":
        return
    wrapped = inspect.unwrap(called)
    if inspect.iscoroutinefunction(called) or inspect.iscoroutinefunction(wrapped):
        return
    returns = str(called.__annotations__.get("return", ""))
    if inspect.isgeneratorfunction(called) or not AWAITABLE.search(returns):
        raise TypeError(
            f"the handler {_name(handle)} is not async: write `async def`, or use the loop of the same name in "
            "tapelog.toolkit (a function that returns an awaitable says so: `-> Awaitable[…]`)"
        )


def _called(handle: object) -> Callable[..., Any]:
    """The function that is run when the handler is called."""
    called: Any = handle
    while isinstance(called, functools.partial):
        called = called.func
    if not callable(called):
        raise TypeError(f"handle: a function that takes a Record is needed, not {handle!r}")
    if not isinstance(called, types.FunctionType | types.MethodType | type):
        call = type(called).__call__
        called = call if isinstance(call, types.FunctionType) else called
    return getattr(called, "__func__", called)  # type: ignore[no-any-return]


def _name(handle: object) -> str:
    return str(getattr(handle, "__qualname__", None) or repr(handle))
