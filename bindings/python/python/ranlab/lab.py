"""A RIC and emulated base stations in this process, on threads of their own that never take the interpreter's lock."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Optional, Type, TypeVar

from . import _native

_Self = TypeVar("_Self", bound="_Part")


class _Part:
    _native: Any

    def close(self) -> None:
        """Ends it. Closing twice is no fault."""
        self._native.close()

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()


class Ric(_Part):
    """A near-RT RIC. Settings are the flags of ``ranlab ric`` with ``_`` for ``-``: ``Ric(http="127.0.0.1:8080")``.

    Unless told otherwise it listens on ports of loopback that the system chooses: ``ric.e2``, ``ric.e42``.
    """

    def __init__(self, **settings: Any) -> None:
        for side in ("e2", "e42"):
            if settings.get(side) is None:
                settings[side] = ["tcp://127.0.0.1:0"]
        self._native = _native.Ric(settings)

    def address(self, name: str) -> str:
        """Where it listens as ``e2``, ``e42`` or ``http``: the first address of that name."""
        for known, address in self._native.addresses():
            if known == name:
                return str(address)
        raise KeyError(name)

    @property
    def e2(self) -> str:
        """Where base stations connect."""
        return self.address("e2")

    @property
    def e42(self) -> str:
        """Where xApps connect."""
        return self.address("e42")

    def report(self) -> dict[str, int]:
        """What happened so far: ``nodes``, ``setups``, ``indications``, ``forwarded``, ``dropped``, ``faults`` …"""
        return dict(self._native.report())


class Fleet(_Part):
    """Emulated base stations with UEs. Settings are the flags of ``ranlab emulate``: ``Fleet(connect=ric.e2, nodes=10)``.

    Returns when all of them have been started; ``report()["alive"]`` tells how many are set up.
    """

    def __init__(self, connect: str | list[str], **settings: Any) -> None:
        self._native = _native.Fleet({"connect": connect, **settings})

    def report(self) -> dict[str, Any]:
        """What happened so far: ``nodes``, ``alive``, ``sent``, ``dropped``, ``skipped``, ``lateness_us_p99`` …"""
        return dict(self._native.report())
