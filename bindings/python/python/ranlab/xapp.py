"""xApps: nodes, subscriptions as iterators, async iterators or callbacks, controls and their effect."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from typing import Any, AsyncIterator, Callable, Generic, Iterator, Optional, Sequence, TypeVar, Union, overload

from . import _native
from .errors import UnansweredError
from .lab import _Part
from .models import ROWS, KpmRow
from .tables import frame

#: A service model's name (``"kpm"``), an OID, or the id that the node assigned to the function.
Function = Union[str, int]
#: A row of a model: a class of :mod:`ranlab.models`.
R = TypeVar("R")


@dataclass(frozen=True)
class Offer:
    """A report style, control action, policy or structure of a RAN function."""

    #: ``report``, ``insert``, ``control``, ``policy`` or ``structure``.
    kind: str
    #: Style, followed by a slash and the action if there is one: ``4``, ``2/6``; empty for a structure.
    number: str
    name: str
    #: Names of measurements, parameters or attributes.
    items: tuple[str, ...]


@dataclass(frozen=True)
class NodeFunction:
    """A RAN function of a node."""

    id: int
    oid: Optional[str]
    #: Name of its service model; ``None`` if ranlab does not know it.
    sm: Optional[str]
    revision: int
    #: Styles, actions and structures listed in its definition.
    offers: tuple[Offer, ...] = ()


@dataclass(frozen=True)
class Kpm:
    """KPM measurements selected by name; ``Kpm()`` selects all that a node offers.

    With ``node=None``, a selection too large for the reports of OCUDU and srsRAN (9,100 bytes) is split into several
    subscriptions with one queue.
    """

    #: Names, for example ``"DRB.UEThpDl"``.
    measurements: Sequence[str] = ()
    #: Report style. ``None`` selects 1 for measurements of the node, 2 for one UE, 5 for several UEs, and 4 otherwise.
    style: Optional[int] = None
    #: UEs for styles 2 and 5: numbers, or identities in the format of ``ue_ids`` in reports.
    ues: Sequence[Union[int, str]] = ()
    #: Slice: ``"1"`` or ``"1-010203"``. ``None`` selects all slices (at a third-party node: SST 1).
    snssai: Optional[str] = None
    #: NR cell: ``"505.01/000000010"``.
    cell: Optional[str] = None
    #: Granularity period; ``None`` selects the report period.
    granularity_ms: Optional[int] = None


@dataclass(frozen=True)
class Node:
    """A node announced by the RIC."""

    name: str
    functions: tuple[NodeFunction, ...]

    def offers(self, function: Function) -> bool:
        """Returns whether the node offers a function."""
        name = function.lower() if isinstance(function, str) else function
        name = RC_OID if name == "rc" else name
        return any(name in (it.id, it.oid, it.sm) for it in self.functions)


_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
RC_OID = "1.3.6.1.4.1.53148.1.1.2.3"


@dataclass(frozen=True)
class Report(Generic[R]):
    """One indication."""

    node: str
    #: Id of the action.
    action: int
    #: Sequence number, if the base station sends one.
    sn: Optional[int]
    #: Time of the report, in microseconds since the Unix epoch; ``None`` if the model has no timestamp.
    tstamp_us: Optional[int]
    #: One row per UE, bearer, measurement …, as instances of the model's class in :mod:`ranlab.models`; empty without a model.
    rows: tuple[R, ...]
    header: bytes = field(repr=False)
    message: bytes = field(repr=False)


@dataclass(frozen=True)
class Effect:
    """KPIs to measure before and after a control: numeric columns of a service model, or KPM measurements."""

    kpis: Sequence[str]
    sm: str = "kpm"
    #: Number of reports before the control, and the same number after it.
    periods: int = 5
    period_ms: float = 100
    #: Slices (``"1"``, ``"1-010203"``) for which KPM values are reported; ``None`` selects those of the order's quotas.
    slices: Optional[Sequence[str]] = None


@dataclass(frozen=True)
class BeforeAfter:
    """Means over the periods before and after a control; ``None`` if no report had a value."""

    before: Optional[float]
    after: Optional[float]


@dataclass(frozen=True)
class Change(BeforeAfter):
    """A KPI before and after a control; ``before`` and ``after`` cover all UEs and slices."""

    #: Unit; empty for counts and ratios.
    unit: str
    #: How UEs are summarized: ``"sum"`` or ``"mean"``.
    total: str
    #: Values per slice; empty if no slice is known.
    slices: dict[str, BeforeAfter] = field(default_factory=dict)
    #: Values per UE, by complete identity.
    ues: dict[str, BeforeAfter] = field(default_factory=dict)
    #: Number of UEs that are only in the total, because there are more than 1,024.
    left_out: int = 0


@dataclass(frozen=True)
class Acknowledged:
    """A control that was executed."""

    #: Outcome from the base station: a dictionary by names, or bytes if the model does not define it; ``None`` if there is none.
    outcome: Any
    #: Changes by KPI, if an effect was requested.
    effect: Optional[dict[str, Change]]

    def frame(self) -> Any:
        """Returns the effect as a pandas ``DataFrame``, or as columns if pandas is not installed.

        A KPI has a row for the ``total``, for each ``slice`` and for each ``UE``: ``kpi``, ``of``, ``unit``, ``before``, ``after``.
        """
        rows = []
        for kpi, change in (self.effect or {}).items():
            parts: list[tuple[str, BeforeAfter]] = [("total", change)]
            parts += [(f"slice {name}", it) for name, it in change.slices.items()]
            parts += [(f"UE {name}", it) for name, it in change.ues.items()]
            rows += [(kpi, of, change.unit, it.before, it.after) for of, it in parts]
        names = ("kpi", "of", "unit", "before", "after")
        return frame({name: [row[column] for row in rows] for column, name in enumerate(names)})


@dataclass(frozen=True)
class SliceQuota:
    """RC style 2 action 6: share of the carrier for a slice, in %."""

    sst: int
    #: Guaranteed share.
    min: int = 0
    #: Maximum share.
    max: int = 100
    #: Dedicated share, reserved even if unused.
    dedicated: int = 0
    sd: Optional[int] = None
    #: PLMN of the network; ``None`` selects the base station's.
    plmn: Optional[str] = None


@dataclass(frozen=True)
class Handover:
    """RC style 3 action 1: hands a UE over to a cell."""

    #: Number of the UE at a ranlab base station, or its identity in the format of ``ue_ids``: ``"amf=1,f1ap=2"``.
    ue: Union[int, str]
    #: NR cell identity, 36 bits.
    cell: int
    #: PLMN of the network; ``None`` selects the base station's.
    plmn: Optional[str] = None


@dataclass(frozen=True)
class QosFlows:
    """RC style 1 action 2: maps QoS flows to a bearer; each flow is an identifier and its direction, 0 or 1."""

    ue: Union[int, str]
    drb: int
    flows: Sequence[tuple[int, int]]


Order = Union[SliceQuota, Sequence[SliceQuota], Handover, QosFlows]


def _function(it: Any) -> NodeFunction:
    """Converts a function and its offers."""
    function_id, oid, sm, revision, offers = it
    made = tuple(Offer(kind, number, name, tuple(items)) for kind, number, name, items in offers)
    return NodeFunction(function_id, oid, sm, revision, made)


def _slices(order: Order) -> list[str]:
    """Returns the slices of an order's quotas."""
    quotas = [order] if isinstance(order, SliceQuota) else [] if isinstance(order, (Handover, QosFlows)) else order
    return [str(it.sst) if it.sd is None else f"{it.sst}-{it.sd:06x}" for it in quotas]


def _change(changed: Any) -> tuple[str, Change]:
    """Converts a KPI and its change."""
    kpi, unit, total, (before, after), slices, ues, left_out = changed
    groups = [{name: BeforeAfter(*it) for name, it in group} for group in (slices, ues)]
    return kpi, Change(before, after, unit, total, groups[0], groups[1], left_out)


def _ordered(order: Order) -> tuple[Union[int, str], Any]:
    """Returns the UE for the header, and the order in native format."""
    if isinstance(order, Handover):
        return order.ue, (order.plmn, order.cell)
    if isinstance(order, QosFlows):
        return order.ue, (order.drb, list(order.flows))
    quotas = [order] if isinstance(order, SliceQuota) else order
    # A quota concerns no UE, but the header must name one.
    return 0, [(it.plmn, it.sst, it.sd, it.min, it.max, it.dedicated) for it in quotas]


class Subscription(Generic[R]):
    """Reports of one subscription: ``for report in …``, ``async for report in …``, or a callback.

    The queue holds at most 4,096 reports and 16 MiB. Beyond that, the oldest are dropped and counted (``dropped``). The
    subscription ends with :meth:`close`, at the end of ``with``, with its xApp, and when it is garbage-collected.
    """

    def __init__(self, stream: _native.Stream, row: Any, on_report: Optional[Callable[[Report[R]], Any]]) -> None:
        self._stream = stream
        self._row = row
        self._callback_faults = 0
        if on_report is not None:
            threading.Thread(target=self._deliver, args=(on_report,), name="ranlab-reports", daemon=True).start()

    def next(self, timeout: Optional[float] = None) -> Optional[Report[R]]:
        """Returns the next report, waiting at most ``timeout`` seconds; ``None`` after the timeout or the end."""
        told = self._stream.next(timeout)
        if told is None:
            return None
        node, action, sn, tstamp_us, rows, header, message = told
        made = tuple(map(self._row._make, rows)) if self._row is not None and rows is not None else ()
        return Report(node, action, sn, tstamp_us, made, header, message)

    def frame(self) -> Any:
        """Takes the queued reports, without waiting, and returns their rows as a pandas ``DataFrame``, or as columns if pandas
        is not installed: ``node``, ``time`` (UTC; ``None`` if the model has no timestamp), and the fields of the model's class.
        """
        reports = []
        # Takes only the reports that are queued now, because a fast base station could fill the queue forever.
        for _ in range(self.waiting):
            if (report := self.next(0)) is not None:
                reports.append(report)
        columns: dict[str, list[Any]] = {name: [] for name in ("node", "time", *getattr(self._row, "_fields", ()))}
        for report in reports:
            at = None if report.tstamp_us is None else _EPOCH + timedelta(microseconds=report.tstamp_us)
            rows: Any = report.rows
            for row in rows:
                for name, value in zip(columns, (report.node, at, *row)):
                    columns[name].append(value)
        return frame(columns)

    def __iter__(self) -> Iterator[Report[R]]:
        while (report := self.next()) is not None:
            yield report

    async def __aiter__(self) -> AsyncIterator[Report[R]]:
        loop = asyncio.get_running_loop()
        descriptor = self._stream.fileno()
        while True:
            report = self.next(0)
            if report is not None:
                yield report
                # Gives other tasks a chance to run while reports are queued.
                await asyncio.sleep(0)
            elif self._stream.over():
                return
            else:
                there = asyncio.Event()
                loop.add_reader(descriptor, there.set)
                try:
                    await there.wait()
                finally:
                    loop.remove_reader(descriptor)

    def _deliver(self, on_report: Callable[[Report[R]], Any]) -> None:
        for report in self:
            try:
                on_report(report)
            except Exception:
                # An exception of the callback does not end the subscription; it is reported like that of any thread, and counted.
                self._callback_faults += 1
                threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread())))

    @property
    def received(self) -> int:
        """Number of received reports."""
        return self._stream.counts()[0]

    @property
    def dropped(self) -> int:
        """Number of reports dropped because they were not read in time."""
        return self._stream.counts()[1]

    @property
    def malformed(self) -> int:
        """Number of indications that could not be decoded, which are skipped."""
        return self._stream.counts()[2]

    @property
    def waiting(self) -> int:
        """Number of queued reports."""
        return self._stream.counts()[3]

    @property
    def callback_faults(self) -> int:
        """Number of exceptions raised by the callback."""
        return self._callback_faults

    def close(self) -> None:
        """Ends the subscription."""
        self._stream.close()

    def __enter__(self) -> Subscription[R]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Xapp(_Part):
    """An xApp that connects to a RIC's listener for xApps. It reconnects after a loss and restores its subscriptions.

    ``dialect`` is the E42 dialect of the RIC: ``ranlab``, ``flexric``, or ``auto``, which detects it (default ``ranlab``).
    """

    def __init__(
        self, connect: str = "tcp://127.0.0.1:36422", *, e2ap: str = "2.03", dialect: str = "ranlab"
    ) -> None:
        self._native: _native.Xapp = _native.Xapp(connect, e2ap, dialect)

    def nodes(self) -> list[Node]:
        """Returns the nodes announced by the RIC."""
        nodes = self._native.nodes()
        return [Node(name, tuple(map(_function, functions))) for name, functions in nodes]

    def wait_nodes(self, count: int = 1, offering: Optional[Function] = None, timeout: float = 10.0) -> list[Node]:
        """Waits until ``count`` nodes (that offer a function) are connected, and returns them."""
        until = time.monotonic() + timeout
        while True:
            nodes = [it for it in self.nodes() if offering is None or it.offers(offering)]
            if len(nodes) >= count:
                return nodes
            if time.monotonic() > until:
                what = "" if offering is None else f" that offer {offering}"
                raise UnansweredError(f"only {len(nodes)} of {count} nodes{what} are connected after {timeout} s")
            time.sleep(0.02)

    @overload
    def subscribe(
        self,
        function: type[R],
        period_ms: float = ...,
        node: Union[str, Node, None] = ...,
        on_report: Optional[Callable[[Report[R]], Any]] = ...,
        *,
        trigger: Optional[bytes] = ...,
        actions: Optional[Sequence[Optional[bytes]]] = ...,
        timeout: float = ...,
    ) -> Subscription[R]: ...

    @overload
    def subscribe(
        self,
        function: Kpm,
        period_ms: float = ...,
        node: Union[str, Node, None] = ...,
        on_report: Optional[Callable[[Report[KpmRow]], Any]] = ...,
        *,
        timeout: float = ...,
    ) -> Subscription[KpmRow]: ...

    @overload
    def subscribe(
        self,
        function: Function,
        period_ms: float = ...,
        node: Union[str, Node, None] = ...,
        on_report: Optional[Callable[[Report[Any]], Any]] = ...,
        *,
        trigger: Optional[bytes] = ...,
        actions: Optional[Sequence[Optional[bytes]]] = ...,
        timeout: float = ...,
    ) -> Subscription[Any]: ...

    def subscribe(
        self,
        function: Any,
        period_ms: float = 1000,
        node: Union[str, Node, None] = None,
        on_report: Optional[Callable[[Report[Any]], Any]] = None,
        *,
        trigger: Optional[bytes] = None,
        actions: Optional[Sequence[Optional[bytes]]] = None,
        timeout: float = 20.0,
    ) -> Subscription[Any]:
        """Subscribes at a node, or at every node that offers the function, including nodes that connect later.

        ``function`` is a model's name, its class in :mod:`ranlab.models` (which lets type checkers know the rows), or a
        selection of measurements: ``Kpm(["DRB.UEThpDl"], snssai="1-010203")``.
        ``trigger`` is an encoded event trigger that replaces ``period_ms``. ``actions`` are the encoded definitions of
        the reports, which replace the model's default. ``on_report`` is called on a separate thread.
        """
        name = node.name if isinstance(node, Node) else node
        kpm = None
        if isinstance(function, Kpm):
            it = function
            ues = [str(ue) for ue in it.ues]
            kpm = (it.style, list(it.measurements), ues, it.snssai, it.cell, it.granularity_ms)
            function = "kpm"
        for sm, row in ROWS.items():
            if function is row or (isinstance(function, str) and function.lower() == sm):
                break
        else:
            sm, row = function, None
        stream = self._native.subscribe(sm, (period_ms, trigger, actions, kpm), name, timeout)
        return Subscription(stream, row, on_report)

    def control(
        self,
        node: Union[str, Node],
        function: Function,
        message: Any,
        header: Any = None,
        *,
        ack: bool = True,
        effect: Optional[Effect] = None,
    ) -> Acknowledged:
        """Sends a control and waits for the base station's response; a refusal raises :class:`RefusedError`.

        ``message`` and ``header`` are bytes, or dictionaries with the names of the model's ASN.1 (a CHOICE has one
        member, an ENUMERATED is its name). Dictionaries are checked against the model and against what the node offers
        before they leave; a :class:`ConfigError` names the fault. With ``effect``, the result includes the change of these
        KPIs.
        """
        if not isinstance(message, bytes) or not isinstance(header, (bytes, type(None))):
            name = node.name if isinstance(node, Node) else node
            header, message = self._native.encode_control(name, function, header, message)
        return self._send(node, function, header or b"", message, ack, effect)

    def order(self, node: Union[str, Node], order: Order, *, effect: Optional[Effect] = None) -> Acknowledged:
        """Sends an RC control: slice quotas, a handover, or QoS flows of a bearer."""
        name = node.name if isinstance(node, Node) else node
        header, message = self._native.encode_order(name, *_ordered(order))
        if effect is not None and effect.slices is None:
            effect = replace(effect, slices=_slices(order))
        return self._send(node, "rc", header, message, True, effect)

    def _send(
        self,
        node: Union[str, Node],
        function: Function,
        header: bytes,
        message: bytes,
        ack: bool,
        effect: Optional[Effect],
    ) -> Acknowledged:
        name = node.name if isinstance(node, Node) else node
        wanted = None
        if effect is not None:
            wanted = (effect.sm, list(effect.kpis), effect.periods, effect.period_ms, list(effect.slices or []))
        outcome, changes = self._native.control(name, function, (header, message), ack, wanted)
        return Acknowledged(outcome, None if changes is None else dict(map(_change, changes)))

    def counters(self) -> dict[str, Any]:
        """Returns ``connected``, ``subscriptions``, ``indications``, ``lost`` (gaps in sequence numbers), ``lagged``, and the latest
        problems in ``troubles`` (at most 64; ``troubles_forgotten`` counts the dropped ones)."""
        return self._native.counters()
