#!/usr/bin/env python3
"""CPU load of a RIC by number of base stations: runs the quickstart scenario and reads its results as a data frame."""

import pathlib
import subprocess
import sys
import tempfile

import ranlab.cli


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        scenario = pathlib.Path(folder, "my.toml")
        command = [str(ranlab.cli.program()), "bench", "new", "e2-statistics"]
        scenario.write_bytes(subprocess.run(command, check=True, capture_output=True).stdout)
        quick = "--quick" in sys.argv
        campaign = ranlab.campaign.run(scenario, pathlib.Path(folder, "out"), quick=quick)
        points = campaign.columns("points")
        for name, values in points.items():
            if name.startswith(("load.", "sut.cpu_cores", "indications_per_s")):
                print(f"{name:32}", *(f"{value:.5g}" if isinstance(value, float) else value for value in values))
        print(type(campaign.frame()).__name__, len(points), "columns;", *campaign.write(folder, parquet=True))


main()
