"""xApps with a RIC and base stations in this process."""

import asyncio
import json
import signal
import subprocess
import sys
import threading
import time
import unittest
import urllib.request
from typing import Any

import ranlab
from ranlab.models import HwRow, KpmRow, MacRow

SLICES: list[dict[str, Any]] = [
    {"id": n, "label": "", "scheduler": "pf", "parameters": {"capacity": 500_000}} for n in (1, 2)
]
HALVES: dict[str, dict[str, Any]] = {"configure": {"algorithm": "nvs", "sharing": True, "slices": SLICES}}


def columns(table: Any) -> dict[str, list[Any]]:
    """Returns a table as columns, with and without pandas."""
    return {name: list(table[name]) for name in table}


class Network(unittest.TestCase):
    ric: ranlab.Ric
    fleet: ranlab.Fleet
    xapp: ranlab.Xapp
    nodes: list[ranlab.Node]

    @classmethod
    def setUpClass(cls) -> None:
        cls.ric = ranlab.Ric()
        sm = ["hw", "mac", "rlc", "pdcp", "gtp", "kpm"]
        cls.fleet = ranlab.Fleet(cls.ric.e2, nodes=3, ues=2, radio="lte:25", flows=["full"], sm=sm)
        cls.xapp = ranlab.Xapp(cls.ric.e42)
        cls.nodes = cls.xapp.wait_nodes(3, offering="rc")

    @classmethod
    def tearDownClass(cls) -> None:
        for part in (cls.xapp, cls.fleet, cls.ric):
            part.close()

    def test_nodes_list_their_offers(self) -> None:
        self.assertEqual([node.name for node in self.nodes], [f"gnb 505.01 {n}" for n in (1, 2, 3)])
        offered = {function.sm for function in self.nodes[0].functions}
        self.assertLessEqual({"mac", "kpm", "slice"}, offered)
        self.assertTrue(self.nodes[0].offers("rc"))
        self.assertFalse(self.nodes[0].offers("1.2.3"))
        with self.assertRaisesRegex(ranlab.UnansweredError, "3 of 99 nodes"):
            self.xapp.wait_nodes(99, timeout=0.05)

    def test_reports_of_each_model_have_its_rows(self) -> None:
        # Models that report rare events only are covered by the next test.
        told = ranlab.models.ROWS.keys() - {"rc", "ni"}
        names = {function.sm for function in self.nodes[0].functions if function.sm in told}
        self.assertGreater(len(names), 7, names)
        silent = set()
        for name in sorted(filter(None, names)):
            try:
                reports = self.xapp.subscribe(name, period_ms=100, node=self.nodes[0])
            except ranlab.ConfigError as error:
                silent.add(name)
                self.assertIn("no ", str(error))
                continue
            with self.subTest(name), reports:
                report = reports.next(timeout=5)
                assert report is not None, name
                self.assertEqual(report.node, self.nodes[0].name)
                if name != "slice":
                    self.assertGreater(len(report.rows), 0, name)
                for row in report.rows:
                    self.assertIsInstance(row, ranlab.models.ROWS[name])
        self.assertLessEqual(silent, {"rrc"})

    def test_events_are_reported_when_they_occur(self) -> None:
        with ranlab.Ric() as ric, ranlab.Xapp(ric.e42) as xapp:
            with ranlab.Fleet(ric.e2, ues=2, radio="lte:25", sm=["rc", "ni"], stay=["2@3s-60s"]):
                node = xapp.wait_nodes(1, offering="ni")[0]
                with xapp.subscribe("rc", node=node) as states, xapp.subscribe("ni") as messages:
                    for name, reports in (("rc", states), ("ni", messages)):
                        report = reports.next(timeout=15)
                        assert report is not None, name
                        self.assertGreater(len(report.rows), 0, name)
                        for row in report.rows:
                            self.assertIsInstance(row, ranlab.models.ROWS[name])

    def test_iteration_at_all_nodes(self) -> None:
        heard = set()
        with self.xapp.subscribe(MacRow, period_ms=50) as reports:
            for report in reports:
                heard.add(report.node)
                row = report.rows[0]
                assert isinstance(row, MacRow)
                self.assertGreater(row.wb_cqi, 0)
                self.assertIsNotNone(row.ue)
                self.assertIsNone(row.bearer)
                self.assertLess(abs((report.tstamp_us or 0) - time.time() * 1e6), 60e6)
                if len(heard) == 3:
                    break
        self.assertEqual((reports.malformed, reports.dropped), (0, 0))
        self.assertIsNone(reports.next(), "a closed subscription must end its iteration")

    def test_async_iteration_yields_to_other_tasks(self) -> None:
        turns = 0

        async def turn() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0.005)

        async def take(count: int) -> list[ranlab.Report[Any]]:
            other = asyncio.create_task(turn())
            taken = []
            with self.xapp.subscribe("kpm", period_ms=50, node="gnb 505.01 2") as reports:
                async for report in reports:
                    taken.append(report)
                    if len(taken) == count:
                        break
            other.cancel()
            return taken

        taken = asyncio.run(take(4))
        self.assertGreater(turns, 4)
        rows = [row for report in taken for row in report.rows if isinstance(row, KpmRow)]
        self.assertLessEqual({"DRB.UEThpDl", "RRU.PrbTotDl"}, {row.measurement for row in rows})
        self.assertEqual({row.value_unit for row in rows if row.measurement == "DRB.UEThpDl"}, {"kbit/s"})

    def test_async_iterator_ends_with_xapp(self) -> None:
        async def listen(xapp: ranlab.Xapp) -> int:
            # No node has this OID, so no report arrives.
            reports = xapp.subscribe("1.2.3.4", trigger=b"")
            asyncio.get_running_loop().call_later(0.1, xapp.close)
            return len([report async for report in reports])

        self.assertEqual(asyncio.run(listen(ranlab.Xapp(self.ric.e42))), 0)

    def test_callback_continues_after_exception(self) -> None:
        there = threading.Event()
        count = 0

        def hear(report: ranlab.Report[Any]) -> None:
            nonlocal count
            count += 1
            if count == 2:
                raise ValueError("on purpose")
            if count > 4:
                there.set()

        told: list[Any] = []
        before, threading.excepthook = threading.excepthook, told.append
        try:
            with self.xapp.subscribe("mac", period_ms=20, on_report=hear) as reports:
                self.assertTrue(there.wait(10), "an exception in the callback must not end the subscription")
        finally:
            threading.excepthook = before
        self.assertEqual((reports.callback_faults, len(told)), (1, 1))

    def test_unread_reports_are_bounded_and_counted(self) -> None:
        with self.xapp.subscribe("mac", period_ms=1) as reports:
            end = time.monotonic() + 30
            while reports.dropped == 0 and time.monotonic() < end:
                time.sleep(0.05)
            self.assertGreater(reports.dropped, 0)
            self.assertLessEqual(reports.waiting, 4096)
            self.assertGreater(reports.received, 4096)

    def test_waiting_releases_interpreter_lock(self) -> None:
        with self.xapp.subscribe("1.2.3.4", trigger=b"") as reports:
            waiting = threading.Thread(target=reports.next, args=(0.5,))
            waiting.start()
            turns = 0
            while waiting.is_alive():
                turns += 1
                time.sleep(0.001)
        self.assertGreater(turns, 20)

    def test_invalid_subscriptions_raise_reason(self) -> None:
        with self.assertRaisesRegex(ranlab.ConfigError, '"mack" is not a known service model; allowed are hw, mac'):
            self.xapp.subscribe("mack")
        with self.assertRaisesRegex(ranlab.ConfigError, 'no node "x"; known nodes: "gnb 505.01 1"'):
            self.xapp.subscribe("mac", node="x")
        with self.assertRaisesRegex(ranlab.ConfigError, "report period"):
            self.xapp.subscribe("mac", period_ms=1e9)
        with self.assertRaisesRegex(ranlab.ConfigError, "period_ms"):
            self.xapp.subscribe("mac", period_ms=-1)
        with self.assertRaisesRegex(ranlab.ConfigError, "trigger"):
            self.xapp.subscribe(142)
        with self.assertRaisesRegex(ranlab.RefusedError, "refused"):
            self.xapp.subscribe("mac", node=self.nodes[0], trigger=b"no trigger")
        self.assertTrue(any("the subscription failed" in it for it in self.xapp.counters()["troubles"]))

    def test_controls_are_acknowledged_or_refused(self) -> None:
        node = self.nodes[1]
        self.assertIsNone(self.xapp.control(node, "slice", HALVES).effect)
        over = [dict(it, parameters={"capacity": 900_000}) for it in SLICES]
        with self.assertRaises(ranlab.RefusedError) as refused:
            self.xapp.control(node, "slice", {"configure": {**HALVES["configure"], "slices": over}})
        self.assertIsInstance(refused.exception.octets, bytes)
        for wrong, words in [
            ({"configur": {}}, 'unknown name "configur"'),
            ({"configure": {**HALVES["configure"], "colour": 1}}, 'unknown name "colour"'),
            ({"configure": object()}, "is not one of None, bool, int"),
            ({"configure": 1 << 70}, "more than 64 bits"),
        ]:
            with self.subTest(words), self.assertRaisesRegex(ranlab.ConfigError, words):
                self.xapp.control(node, "slice", wrong)
        deep: Any = None
        for _ in range(1000):
            deep = [deep]
        with self.assertRaisesRegex(ranlab.ConfigError, "64 levels"):
            self.xapp.control(node, "slice", deep)
        with self.assertRaisesRegex(ranlab.ConfigError, "no names|no control|has no"):
            self.xapp.control(node, "mac", {})
        with self.assertRaises(ranlab.RefusedError):
            self.xapp.control(node, "slice", b"\xff\xff\xff")

    def test_ping_is_echoed(self) -> None:
        with self.xapp.subscribe(HwRow, node=self.nodes[0], trigger=b"\0") as echoes:
            self.xapp.control(self.nodes[0], "hw", {"seq": 4711, "tSendNs": 1 << 63, "payload": b"x" * 1500})
            echo = echoes.next(timeout=10)
            assert echo is not None
            self.assertEqual(echo.rows[0][-3:], (4711, 1 << 63, 1500))

    def test_effect_of_order_is_measured(self) -> None:
        node = self.nodes[2]
        wanted = ranlab.Effect(["DRB.UEThpDl", "RRU.PrbTotDl"], periods=5, period_ms=100)
        told = self.xapp.order(node, [ranlab.SliceQuota(sst=1, max=20)], effect=wanted)
        assert told.effect is not None
        for kpi, change in told.effect.items():
            assert change.before is not None and change.after is not None, kpi
            self.assertLess(change.after, 0.5 * change.before, kpi)
            self.assertEqual(change.slices["1"].after, change.after, kpi)
            self.assertAlmostEqual(sum(ue.after or 0 for ue in change.ues.values()), change.after, 6, kpi)
        table = columns(told.frame())
        rows = list(zip(table["kpi"], table["of"], table["after"]))
        for kpi, change in told.effect.items():
            self.assertIn((kpi, "total", change.after), rows)
            self.assertIn((kpi, "slice 1", change.after), rows)
            self.assertEqual(sum(it[0] == kpi and it[1].startswith("UE ") for it in rows), len(change.ues))
        # The same with the names of the ASN.1, and with a column as KPI.
        effect = ranlab.Effect(["dl_aggr_bytes_sdus"], sm="mac", periods=3, period_ms=50)
        told = self.xapp.control(node, "slice", HALVES, effect=effect)
        self.assertEqual(list(told.effect or {}), ["dl_aggr_bytes_sdus"])
        with self.assertRaisesRegex(ranlab.ConfigError, "is not a KPI; allowed are dl_aggr_tbs"):
            self.xapp.order(node, ranlab.SliceQuota(sst=1), effect=ranlab.Effect(["speed"], sm="mac"))
        with self.assertRaisesRegex(ranlab.ConfigError, "1 period or more"):
            self.xapp.order(node, ranlab.SliceQuota(sst=1), effect=ranlab.Effect(["DRB.UEThpDl"], periods=0))

    def test_measurements_by_name(self) -> None:
        wanted = ranlab.Kpm(["DRB.UEThpDl", "RRU.PrbTotDl"], snssai="1", granularity_ms=50)
        with self.xapp.subscribe(wanted, period_ms=100, node=self.nodes[2]) as reports:
            report = reports.next(timeout=10)
            assert report is not None
            names = {row.measurement for row in report.rows}
            self.assertEqual(names, {"DRB.UEThpDl", "RRU.PrbTotDl"})
            for _ in range(1000):
                if reports.waiting < 3:
                    time.sleep(0.01)
            table = columns(reports.frame())
            self.assertEqual(set(table["measurement"]), names)
            self.assertEqual(set(table["node"]), {self.nodes[2].name})
            moments = sorted(set(table["time"]))
            self.assertGreaterEqual(len(moments), 3)
            self.assertLess(abs(time.time() - moments[0].timestamp()), 60)
        with self.assertRaisesRegex(ranlab.ConfigError, "it offers DRB.UEThpDl"):
            self.xapp.subscribe(ranlab.Kpm(["DRB.Nothing"]), node=self.nodes[2])
        offers = [it for it in self.nodes[2].functions if it.sm == "kpm"][0].offers
        self.assertIn("DRB.UEThpDl", offers[0].items)

    def test_invalid_orders_are_refused(self) -> None:
        node = self.nodes[0]
        with self.assertRaises(ranlab.RefusedError):
            self.xapp.order(node, ranlab.Handover(ue=1, cell=0x123456789))
        with self.assertRaisesRegex(ranlab.ConfigError, "does not offer RC style 1 action 2"):
            self.xapp.order(node, ranlab.QosFlows(ue=1, drb=1, flows=[(1, 0)]))
        with self.assertRaisesRegex(ranlab.ConfigError, "`cell` must be a whole number from 0 to 68719476735"):
            self.xapp.order(node, ranlab.Handover(ue=1, cell=1 << 40))
        with self.assertRaisesRegex(ranlab.ConfigError, "`max` must be a whole number from 0 to 100, not 101"):
            self.xapp.order(node, ranlab.SliceQuota(sst=1, max=101))
        with self.assertRaisesRegex(ranlab.ConfigError, "`sst`.*-1"):
            self.xapp.order(node, ranlab.SliceQuota(sst=-1))
        with self.assertRaisesRegex(ranlab.ConfigError, "`qfi`.*0 to 63, not 300"):
            self.xapp.order(node, ranlab.QosFlows(ue=1, drb=1, flows=[(300, 0)]))
        with self.assertRaisesRegex(ranlab.ConfigError, "`plmn`"):
            self.xapp.order(node, ranlab.SliceQuota(sst=1, plmn="x"))

    def test_rc_control_from_dictionaries(self) -> None:
        ue = {"gNB-DU-UEID": {"gNB-CU-UE-F1AP-ID": 1}}
        action = {"ueID": ue, "ric-Style-Type": 3, "ric-ControlAction-ID": 1}
        value = {"ranP-Choice-ElementFalse": {"ranParameter-value": {"valueOctS": bytes(9)}}}
        cell = {"ranParameter-ID": 4, "ranParameter-valueType": value}
        header = {"ric-controlHeader-formats": {"controlHeader-Format1": action}}
        message = {"ric-controlMessage-formats": {"controlMessage-Format1": {"ranP-List": [cell]}}}
        with self.assertRaisesRegex(ranlab.RefusedError, "refused"):
            self.xapp.control(self.nodes[0], "rc", message, header)
        with self.assertRaisesRegex(ranlab.ConfigError, "^rc: .* in ric-controlMessage-formats"):
            self.xapp.control(self.nodes[0], "rc", {}, header)


class Ends(unittest.TestCase):
    def test_closed_objects_raise_closed_error(self) -> None:
        with ranlab.Ric() as ric:
            xapp = ranlab.Xapp(ric.e42)
            reports = xapp.subscribe("mac")
            xapp.close()
            xapp.close()
            self.assertIsNone(reports.next())
            reports.close()
            with self.assertRaises(ranlab.ClosedError):
                xapp.nodes()
        with self.assertRaises(ranlab.ClosedError):
            ric.report()
        self.assertEqual([it.name for it in threading.enumerate() if it.name.startswith("ranlab")], [])

    def test_unreachable_peers_raise_errors(self) -> None:
        with self.assertRaises(ranlab.ConnectionFailedError):
            ranlab.Xapp("tcp://127.0.0.1:1")
        with self.assertRaisesRegex(ranlab.ConfigError, "tcp://host:port"):
            ranlab.Xapp("127.0.0.1")
        with self.assertRaises(ranlab.ConfigError):
            ranlab.Xapp(e2ap="9.99")
        with self.assertRaisesRegex(ranlab.ConfigError, "flexric"):
            ranlab.Xapp(dialect="klingon")
        with self.assertRaises(ranlab.EnvironmentLacksError):
            ranlab.Fleet("tcp://127.0.0.1:1")

    def test_ric_serves_http(self) -> None:
        with ranlab.Ric(http="127.0.0.1:0") as ric, ranlab.Fleet(ric.e2, nodes=2, ues=1):
            with urllib.request.urlopen(ric.address("http") + "/v1/nodes", timeout=10) as answer:
                self.assertEqual([node["id"] for node in json.load(answer)["nodes"]], ["gnb 505.01 1", "gnb 505.01 2"])
            with self.assertRaises(KeyError):
                ric.address("e1")

    def test_xapp_survives_ric_restart(self) -> None:
        ric = ranlab.Ric()
        places = {"e2": [ric.e2], "e42": [ric.e42]}
        with ranlab.Fleet(ric.e2, nodes=1, ues=1), ranlab.Xapp(ric.e42) as xapp:
            reports = xapp.subscribe("mac", period_ms=20)
            self.assertIsNotNone(reports.next(timeout=10))
            ric.close()
            with ranlab.Ric(**places):
                end, back = time.monotonic() + 30, 0
                while back < 3 and time.monotonic() < end:
                    counters = xapp.counters()
                    back += counters["connects"] > 1 and reports.next(timeout=0.2) is not None
                self.assertEqual(back, 3)
                self.assertTrue(any("disconnected" in it for it in counters["troubles"]))

    def test_destructor_does_not_mask_exception(self) -> None:
        def forget(xapp: ranlab.Xapp) -> None:
            reports = xapp.subscribe("1.2.3.4", trigger=b"")
            xapp.close()
            raise KeyError(reports.received)

        with ranlab.Ric() as ric:
            with self.assertRaises(KeyError) as raised:
                forget(ranlab.Xapp(ric.e42))
            raised.exception.__traceback__ = None
            self.assertEqual(raised.exception.args, (0,))

    def test_unreferenced_objects_are_closed(self) -> None:
        with ranlab.Ric() as ric, ranlab.Fleet(ric.e2, nodes=1, ues=1), ranlab.Xapp(ric.e42) as xapp:
            for _ in xapp.subscribe("mac", period_ms=20):
                break
            called = threading.Event()
            xapp.subscribe("rlc", period_ms=20, on_report=lambda _: called.set())
            self.assertTrue(called.wait(10))
            end = time.monotonic() + 10
            while xapp.counters()["subscriptions"] != 1 and time.monotonic() < end:
                time.sleep(0.01)
            self.assertEqual(xapp.counters()["subscriptions"], 1, "only the subscription with a callback must remain")

    def test_ctrl_c_interrupts_waiting(self) -> None:
        with ranlab.Ric() as ric:
            waits = f"import ranlab; x = ranlab.Xapp({ric.e42!r}); print(flush=True); x.subscribe('mac').next()"
            process = subprocess.Popen(
                [sys.executable, "-c", waits], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(0.2)
            process.send_signal(signal.SIGINT)
            self.assertIn("KeyboardInterrupt", process.communicate(timeout=20)[1])

    def test_idle_xapp_receives_response(self) -> None:
        with ranlab.Ric() as ric, ranlab.Fleet(ric.e2, nodes=1, ues=2, radio="nr:106", sm=["kpm"]):
            with ranlab.Xapp(ric.e42) as xapp:
                node = xapp.wait_nodes(1, offering="rc")[0]
                time.sleep(12)
                begin = time.monotonic()
                xapp.order(node, ranlab.SliceQuota(sst=1, max=50))
                self.assertLess(time.monotonic() - begin, 3)

    def test_each_dialect_receives_reports(self) -> None:
        with ranlab.Ric() as ric, ranlab.Fleet(ric.e2, nodes=1, ues=1):
            for dialect in ("ranlab", "auto"):
                with self.subTest(dialect), ranlab.Xapp(ric.e42, dialect=dialect) as xapp:
                    self.assertEqual(len(xapp.wait_nodes(1)), 1)
                    self.assertIsNotNone(xapp.subscribe("mac", period_ms=20).next(timeout=10))

    def test_settings_are_checked(self) -> None:
        with ranlab.Ric() as ric:
            with self.assertRaisesRegex(ranlab.ConfigError, "`?nodes`?.*1 to 100"):
                ranlab.Fleet(ric.e2, nodes=0)
            with self.assertRaisesRegex(ranlab.ConfigError, "nods.*nodes"):
                ranlab.Fleet(ric.e2, nods=1)
            with self.assertRaisesRegex(ranlab.ConfigError, "`sm`: object is not one of"):
                ranlab.Fleet(ric.e2, sm=object())
            with self.assertRaises(ranlab.ConfigError):
                ranlab.Ric(period="soon")
            with self.assertRaises(ranlab.EnvironmentLacksError):
                ranlab.Ric(e2=[ric.e2])


if __name__ == "__main__":
    unittest.main()
