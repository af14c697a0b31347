"""The packaged command line, its workers, and campaigns as data frames."""

import csv
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import ranlab
from ranlab.cli import program

MODULE = [sys.executable, "-m", "ranlab"]


def said(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*MODULE, *arguments], capture_output=True, text=True, timeout=60)


class CommandLine(unittest.TestCase):
    def test_verbs_and_exit_codes(self) -> None:
        self.assertRegex(said("--version").stdout, r"^ranlab \d")
        usage = said("emulate", "--nods", "3")
        self.assertEqual(usage.returncode, 2)
        self.assertIn("--nodes", usage.stderr)
        self.assertEqual(said("xapp", "monitor", "--connect", "tcp://127.0.0.1:1", "--duration", "1s").returncode, 3)
        self.assertTrue(program().is_file())


class Campaigns(unittest.TestCase):
    def test_campaign_runs_with_packaged_worker(self) -> None:
        command = [*MODULE, "worker", "--listen", "127.0.0.1:0", "--format", "ndjson"]
        worker = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert worker.stdout is not None
            address = json.loads(worker.stdout.readline())["address"]
            with tempfile.TemporaryDirectory() as folder:
                self.measure(pathlib.Path(folder), address)
        finally:
            worker.terminate()
            worker.wait(10)
            assert worker.stdout is not None
            worker.stdout.close()

    def measure(self, folder: pathlib.Path, address: str) -> None:
        scenario = folder / "my.toml"
        scenario.write_text(said("bench", "new", "e2-statistics").stdout)
        settings = {"load.at": address, "load.nodes": 2}
        campaign = ranlab.campaign.run(scenario, folder / "out", settings=settings, quick=True)
        points = campaign.columns()
        self.assertEqual({len(values) for values in points.values()}, {1})
        repeats = campaign.columns("repeats")
        self.assertGreater(len(next(iter(repeats.values()))), 0)
        # The files contain the same data.
        [file] = [it for it in campaign.write(folder / "csv", parquet=False) if it.name == "points.csv"]
        with file.open(newline="") as lines:
            rows = list(csv.DictReader(lines))
        self.assertEqual(list(rows[0]), list(points))
        for name, [value] in points.items():
            if isinstance(value, float):
                self.assertAlmostEqual(float(rows[0][name]), value)
        for file in campaign.write(folder / "parquet"):
            self.assertEqual(file.read_bytes()[:4], b"PAR1")
        frame = campaign.frame()
        self.assertEqual(list(frame), list(points))
        with self.assertRaisesRegex(ranlab.ConfigError, "there are points, repeats"):
            campaign.columns("figures")

    def test_invalid_campaigns_raise_errors(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(ranlab.ConfigError, "there is no campaign at"):
                ranlab.Campaign(folder)
            wrong = pathlib.Path(folder, "wrong.toml")
            wrong.write_text('rig = "none"\n')
            with self.assertRaises(ranlab.CampaignError) as failed:
                ranlab.campaign.run(wrong, pathlib.Path(folder, "out"))
            self.assertEqual(failed.exception.code, 2)
            self.assertIn("none", str(failed.exception))


if __name__ == "__main__":
    unittest.main()
