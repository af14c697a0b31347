"""A RIC and emulated base stations in this process, on separate threads that never take the interpreter lock."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Optional, Type, TypeVar

from . import _native

_Self = TypeVar("_Self", bound="_Part")


class _Part:
    _native: Any

    def close(self) -> None:
        """Stops the RIC or the base stations. A second call has no effect."""
        self._native.close()

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()


class Ric(_Part):
    """A near-RT RIC. Settings are the flags of ``ranlab ric`` with ``_`` for ``-``: ``Ric(http="127.0.0.1:8080")``.

    By default it listens on loopback ports that the system chooses: ``ric.e2``, ``ric.e42``.
    """

    def __init__(self, **settings: Any) -> None:
        for side in ("e2", "e42"):
            if settings.get(side) is None:
                settings[side] = ["tcp://127.0.0.1:0"]
        self._native = _native.Ric(settings)

    def address(self, name: str) -> str:
        """Returns its first address with this name: ``e2``, ``e42`` or ``http``."""
        for known, address in self._native.addresses():
            if known == name:
                return str(address)
        raise KeyError(name)

    @property
    def e2(self) -> str:
        """Address for base stations."""
        return self.address("e2")

    @property
    def e42(self) -> str:
        """Address for xApps."""
        return self.address("e42")

    def report(self) -> dict[str, int]:
        """Returns counters: ``nodes``, ``setups``, ``indications``, ``forwarded``, ``dropped``, ``faults`` …"""
        return dict(self._native.report())


class Fleet(_Part):
    """Emulated base stations with UEs. Settings are the flags of ``ranlab emulate``: ``Fleet(connect=ric.e2, nodes=10)``.

    The constructor returns when all have been started; ``report()["alive"]`` is the number of completed setups.
    """

    def __init__(self, connect: str | list[str], **settings: Any) -> None:
        self._native = _native.Fleet({"connect": connect, **settings})

    def report(self) -> dict[str, Any]:
        """Returns counters: ``nodes``, ``alive``, ``sent``, ``dropped``, ``skipped``, ``lateness_us_p99`` …"""
        return dict(self._native.report())
