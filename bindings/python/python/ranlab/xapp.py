"""xApps: nodes, subscriptions as iterators, async iterators or callbacks, controls and what they did."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from dataclasses import dataclass, field, replace
from typing import Any, AsyncIterator, Callable, Generic, Iterator, Optional, Sequence, TypeVar, Union, overload

from . import _native
from .errors import UnansweredError
from .lab import _Part
from .models import ROWS, KpmRow

#: A service model's name (``"kpm"``), an object identifier, or the number that the node gives the function.
Function = Union[str, int]
#: A row of a model: a class of :mod:`ranlab.models`.
R = TypeVar("R")


@dataclass(frozen=True)
class Offer:
    """A report style, control action, policy or structure of a RAN function."""

    #: ``report``, ``insert``, ``control``, ``policy`` or ``structure``.
    kind: str
    #: Style, with the action behind a slash: ``4``, ``2/6``; empty for a structure.
    number: str
    name: str
    #: Measurements, parameters or attributes, by name.
    items: tuple[str, ...]


@dataclass(frozen=True)
class NodeFunction:
    """A RAN function of a node."""

    id: int
    oid: Optional[str]
    #: The registry's name of its service model; ``None`` if it has none.
    sm: Optional[str]
    revision: int
    #: What it offers, as its definition lists it.
    offers: tuple[Offer, ...] = ()


@dataclass(frozen=True)
class Kpm:
    """Measurements of KPM, chosen by name; ``Kpm()`` is all that a node offers.

    At every node (``node=None``) a selection too large for the reports of OCUDU and srsRAN (9,100 bytes) becomes several
    subscriptions of one queue.
    """

    #: Names, for example ``"DRB.UEThpDl"``.
    measurements: Sequence[str] = ()
    #: Report style; ``None``: 4, for measurements of the node as a whole 1, for one UE 2, for several UEs 5.
    style: Optional[int] = None
    #: UEs of styles 2 and 5: numbers, or identities as reports have them in ``ue_ids``.
    ues: Sequence[Union[int, str]] = ()
    #: Slice: ``"1"`` or ``"1-010203"``; ``None``: all (of a third-party node SST 1).
    snssai: Optional[str] = None
    #: NR cell: ``"505.01/000000010"``.
    cell: Optional[str] = None
    #: Time of a value; ``None``: the period.
    granularity_ms: Optional[int] = None


@dataclass(frozen=True)
class Node:
    """A node that the RIC told of."""

    name: str
    functions: tuple[NodeFunction, ...]

    def offers(self, function: Function) -> bool:
        """Whether it has that function."""
        name = function.lower() if isinstance(function, str) else function
        name = RC_OID if name == "rc" else name
        return any(name in (it.id, it.oid, it.sm) for it in self.functions)


RC_OID = "1.3.6.1.4.1.53148.1.1.2.3"


@dataclass(frozen=True)
class Report(Generic[R]):
    """One indication."""

    node: str
    #: Of which action of the subscription.
    action: int
    #: Running number, if the base station gives one.
    sn: Optional[int]
    #: When the base station took it, microseconds since the Unix epoch; ``None`` if the model does not say.
    tstamp_us: Optional[int]
    #: A row for each UE, bearer, measurement …, of the model's class in :mod:`ranlab.models`; empty without a model.
    rows: tuple[R, ...]
    header: bytes = field(repr=False)
    message: bytes = field(repr=False)


@dataclass(frozen=True)
class Effect:
    """KPIs to measure around a control: columns of a service model that have numbers, or measurements of KPM."""

    kpis: Sequence[str]
    sm: str = "kpm"
    #: Reports before the control, and as many after it.
    periods: int = 5
    period_ms: float = 100
    #: Slices (``"1"``, ``"1-010203"``) by which KPM's values are shown; ``None``: those of the order's quotas.
    slices: Optional[Sequence[str]] = None


@dataclass(frozen=True)
class BeforeAfter:
    """Means over the periods before a control and over those after it; ``None`` if no report had a value."""

    before: Optional[float]
    after: Optional[float]


@dataclass(frozen=True)
class Change(BeforeAfter):
    """A KPI before and after a control: ``before`` and ``after`` are of all UEs and slices."""

    #: Unit; empty for counts and ratios.
    unit: str
    #: How UEs are summarized: ``"sum"`` or ``"mean"``.
    total: str
    #: By slice; empty if no slice is known.
    slices: dict[str, BeforeAfter] = field(default_factory=dict)
    #: By UE, whole identities.
    ues: dict[str, BeforeAfter] = field(default_factory=dict)
    #: UEs that are in the total alone, because there are more than 1,024.
    left_out: int = 0


@dataclass(frozen=True)
class Acknowledged:
    """A control that was executed."""

    #: The base station's words by their names; octets if the model has no names for them; ``None`` if it had none.
    outcome: Any
    #: By KPI, if an effect was asked for.
    effect: Optional[dict[str, Change]]


@dataclass(frozen=True)
class SliceQuota:
    """RC style 2 action 6: what a slice gets of the carrier, in %."""

    sst: int
    #: Least that it can have if it wants it.
    min: int = 0
    #: Most that it can have.
    max: int = 100
    #: Kept for it, used or not.
    dedicated: int = 0
    sd: Optional[int] = None
    #: The network; without it the base station's.
    plmn: Optional[str] = None


@dataclass(frozen=True)
class Handover:
    """RC style 3 action 1: the UE is to go to that cell."""

    #: Its number at a base station of this project, or its identity as reports have it in ``ue_ids``: ``"amf=1,f1ap=2"``.
    ue: Union[int, str]
    #: 36 bits.
    cell: int
    #: The network; without it the base station's.
    plmn: Optional[str] = None


@dataclass(frozen=True)
class QosFlows:
    """RC style 1 action 2: these flows are of that bearer; each flow is its identifier and 0 or 1 for the direction."""

    ue: Union[int, str]
    drb: int
    flows: Sequence[tuple[int, int]]


Order = Union[SliceQuota, Sequence[SliceQuota], Handover, QosFlows]


def _function(it: Any) -> NodeFunction:
    """A function and its offers."""
    *first, offers = it
    made = tuple(Offer(kind, number, name, tuple(items)) for kind, number, name, items in offers)
    return NodeFunction(*first, made)


def _slices(order: Order) -> list[str]:
    """The slices of an order's quotas."""
    quotas = [order] if isinstance(order, SliceQuota) else [] if isinstance(order, (Handover, QosFlows)) else order
    return [str(it.sst) if it.sd is None else f"{it.sst}-{it.sd:06x}" for it in quotas]


def _change(changed: Any) -> tuple[str, Change]:
    """A KPI and what became of it."""
    kpi, unit, total, (before, after), slices, ues, left_out = changed
    groups = [{name: BeforeAfter(*it) for name, it in group} for group in (slices, ues)]
    return kpi, Change(before, after, unit, total, groups[0], groups[1], left_out)


def _ordered(order: Order) -> tuple[Union[int, str], Any]:
    """The UE that the header names, and the order."""
    if isinstance(order, Handover):
        return order.ue, (order.plmn, order.cell)
    if isinstance(order, QosFlows):
        return order.ue, (order.drb, list(order.flows))
    quotas = [order] if isinstance(order, SliceQuota) else order
    # A quota is not about a UE, but the header has to name one.
    return 0, [(it.plmn, it.sst, it.sd, it.min, it.max, it.dedicated) for it in quotas]


class Subscription(Generic[R]):
    """What one subscription hears: ``for report in …``, ``async for report in …``, or a callback.

    At most 4,096 reports of 16 MiB wait; beyond, the oldest give way and are counted (``dropped``). Ended by
    :meth:`close`, by ``with``, with its xApp, and when nobody has it any more.
    """

    def __init__(self, stream: _native.Stream, row: Any, on_report: Optional[Callable[[Report[R]], Any]]) -> None:
        self._stream = stream
        self._row = row
        self._callback_faults = 0
        if on_report is not None:
            threading.Thread(target=self._deliver, args=(on_report,), name="ranlab-reports", daemon=True).start()

    def next(self, timeout: Optional[float] = None) -> Optional[Report[R]]:
        """The next report, waiting so many seconds; ``None`` if there is none in time, or none will come."""
        told = self._stream.next(timeout)
        if told is None:
            return None
        node, action, sn, tstamp_us, rows, header, message = told
        made = tuple(map(self._row._make, rows)) if self._row is not None and rows is not None else ()
        return Report(node, action, sn, tstamp_us, made, header, message)

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
                # Others may have something to do, however many reports wait.
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
                # A callback's fault ends nobody's subscription; it is told as any thread's and counted.
                self._callback_faults += 1
                threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread())))

    @property
    def received(self) -> int:
        """Reports that came."""
        return self._stream.counts()[0]

    @property
    def dropped(self) -> int:
        """Reports that gave way because nobody took them."""
        return self._stream.counts()[1]

    @property
    def malformed(self) -> int:
        """Indications that are none of the model's; they are left out."""
        return self._stream.counts()[2]

    @property
    def waiting(self) -> int:
        """Reports that wait to be taken."""
        return self._stream.counts()[3]

    @property
    def callback_faults(self) -> int:
        """Exceptions of the callback."""
        return self._callback_faults

    def close(self) -> None:
        """Ends it."""
        self._stream.close()

    def __enter__(self) -> Subscription[R]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Xapp(_Part):
    """An xApp: connects to a RIC's listener for xApps, and again after a loss, its subscriptions restored.

    ``dialect`` is whose E42 that RIC speaks: ``ranlab``, ``flexric``, or ``auto``, FlexRIC's until it shows itself as ours.
    """

    def __init__(
        self, connect: str = "tcp://127.0.0.1:36422", *, e2ap: str = "2.03", dialect: str = "ranlab"
    ) -> None:
        self._native: _native.Xapp = _native.Xapp(connect, e2ap, dialect)

    def nodes(self) -> list[Node]:
        """The nodes that the RIC told of."""
        nodes = self._native.nodes()
        return [Node(name, tuple(map(_function, functions))) for name, functions in nodes]

    def wait_nodes(self, count: int = 1, offering: Optional[Function] = None, timeout: float = 10.0) -> list[Node]:
        """Waits until so many nodes (that offer a function) are there."""
        until = time.monotonic() + timeout
        while True:
            nodes = [it for it in self.nodes() if offering is None or it.offers(offering)]
            if len(nodes) >= count:
                return nodes
            if time.monotonic() > until:
                what = "" if offering is None else f" that offer {offering}"
                raise UnansweredError(f"{len(nodes)} of {count} nodes{what} are there after {timeout} s")
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
        """Subscribes at a node, or at every node that offers the function, those that come later included.

        ``function`` may be a model's name, its class in :mod:`ranlab.models`, by which type checkers know the rows, or
        measurements by name: ``Kpm(["DRB.UEThpDl"], snssai="1-010203")``.
        ``trigger`` gives the event trigger's octets instead of ``period_ms``, ``actions`` the definition of each report
        instead of the one that the model makes. ``on_report`` is called from a thread of its own.
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
        """Sends a control and waits for the base station's answer; a refusal is a :class:`RefusedError`.

        ``message`` and ``header`` are octets, or dictionaries by the names of the model's ASN.1 (a CHOICE has one member,
        an ENUMERATED is its name). With ``effect`` the answer says also what became of those KPIs.
        """
        if not isinstance(message, bytes) or not isinstance(header, (bytes, type(None))):
            header, message = _native.encode_control(str(function), header, message)
        return self._send(node, function, header or b"", message, ack, effect)

    def order(self, node: Union[str, Node], order: Order, *, effect: Optional[Effect] = None) -> Acknowledged:
        """Gives an order of RC: quotas of slices, a handover, QoS flows of a bearer."""
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
        """``connected``, ``subscriptions``, ``indications``, ``lost`` (gaps in the base stations' numbers), ``lagged``, and the latest
        ``troubles`` (64 at most; ``troubles_forgotten`` counts those before)."""
        return self._native.counters()
