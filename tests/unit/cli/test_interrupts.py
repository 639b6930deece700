"""Ctrl-C beside librdkafka: never a traceback, never lost."""

from __future__ import annotations

import os
import signal

import pytest
from confluent_kafka import Consumer, KafkaError, TopicPartition

from tapelog.cli import app

ROUNDS_MAX = 600
"""Of a tenth of a second each, for librdkafka to find that nobody answers."""


def test_ctrl_c_in_a_callback_of_the_client_ends_a_command_without_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    def on_error(error: KafkaError) -> None:
        told.append(error.name())
        if len(told) == 1:
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(100):  # the handler runs between two of these
                pass

    def command(args: list[str], prog_name: str) -> None:
        consumer = Consumer({"bootstrap.servers": "127.0.0.1:1", "group.id": "g", "error_cb": on_error, "log_level": 0})
        consumer.assign([TopicPartition("t", 0, 0)])
        try:
            for _ in range(ROUNDS_MAX):
                consumer.consume(1, 0.1)
        finally:
            consumer.close()

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job begins with it ignored
    try:
        monkeypatch.setattr(app, "app", command)
        assert app.run([]) == app.INTERRUPTED
        assert told and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
