"""What a component does not have. Without this, reaching for it would end the call without a word why."""

from __future__ import annotations

import builtins
import io
import os
import sys
import time
from collections.abc import Callable
from typing import Any, NoReturn

CLOCKS = (
    "time",
    "time_ns",
    "monotonic",
    "monotonic_ns",
    "perf_counter",
    "perf_counter_ns",
    "process_time",
    "process_time_ns",
    "sleep",
)
FILES = ("open", "stat", "lstat", "listdir", "scandir", "mkdir", "remove", "rename")


class SealedError(RuntimeError):
    """The transform asked for something from outside. Its message holds no values."""


class _Nowhere(io.TextIOBase):
    """Takes all that is printed. What the operator should see goes to `outputs.message`."""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        return len(text)


def seal() -> None:
    """Makes clocks, random numbers of the system and files raise an error that names them, and printing do nothing."""
    for name in CLOCKS:
        setattr(time, name, _refusal(f"time.{name}: a transform has no clock"))
    for name in FILES:
        setattr(os, name, _refusal(f"os.{name}: a transform has no files"))
    builtins.open = io.open = _refusal("open: a transform has no files")
    for name in ("urandom", "getrandom"):
        setattr(os, name, _refusal(f"os.{name}: a transform has no random numbers"))
    builtins.input = _refusal("input: nobody is there to ask")
    sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = _Nowhere()  # type: ignore[misc, assignment]


def _refusal(message: str) -> Callable[..., Any]:
    def refuse(*args: Any, **options: Any) -> NoReturn:
        raise SealedError(message)

    return refuse
