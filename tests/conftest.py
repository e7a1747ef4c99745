"""Where the recordings are, and no network: what every test may rely on."""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parent / "benchmarks"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave the benchmarks out unless they are asked for by name."""
    if collection_path == BENCHMARKS and not any("benchmarks" in arg for arg in config.args):
        return True
    return None


def _folder(variable: str, what: str) -> Path:
    """The folder that an environment variable names; without it skip, or fail in CI."""
    named = os.environ.get(variable)
    if named and Path(named).is_dir():
        return Path(named)
    state = f"names no folder ({named})" if named else "is not set"
    advice = f"{variable} {state}: it should name the folder with {what} (see CONTRIBUTING.md)"
    if os.environ.get("REQUIRE_CORPUS") == "1":
        pytest.fail(f"{advice}, and REQUIRE_CORPUS=1 asks for it")
    pytest.skip(advice)


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of recorded sessions of other people's agents."""
    return _folder("COMPACTLAB_CORPUS", "the recorded sessions")


@pytest.fixture(scope="session")
def cases() -> Path:
    """The folder of worked cases (units.json, overflow_errors.json, ...)."""
    return _folder("COMPACTLAB_CASES", "the worked cases")


class NetworkBlockedError(ConnectionError):
    """A test reached for the network: to the code under test it looks like a machine offline."""


_guarding = False


def _is_local(host: object) -> bool:
    """Whether a host means this machine; None and the empty name do."""
    name = host.decode("ascii", "replace") if isinstance(host, bytes | bytearray) else host
    if name is None or name in ("", "localhost"):
        return True
    try:
        return ip_address(str(name)).is_loopback
    except ValueError:
        return False


def _audit(event: str, args: tuple[object, ...]) -> None:
    """Raise on a connection or a name look-up that leaves the machine."""
    if not _guarding or not event.startswith("socket."):
        return
    host: object = None
    if event in ("socket.connect", "socket.sendto"):
        sock, address = args[0], args[1]
        if isinstance(sock, socket.socket) and sock.family in (socket.AF_INET, socket.AF_INET6):
            host = address[0] if isinstance(address, tuple) else address
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        host = args[0]
    if not _is_local(host):
        raise NetworkBlockedError(f"tests do not use the network: {event} {host!r}")


# An audit hook cannot be taken away again: it is installed once and switched.
sys.addaudithook(_audit)


@pytest.fixture(scope="session", autouse=True)
def _no_network() -> Iterator[None]:
    """Only loopback and local sockets for the whole session (child processes are not seen)."""
    global _guarding
    _guarding = True
    yield
    _guarding = False


def pytest_configure() -> None:
    """Programs that tests start can be interrupted, though a shell in the background ignores it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _lines_of_160_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are as wide as where the output is no terminal, whatever other tools left behind."""
    monkeypatch.setenv("COLUMNS", "160")
