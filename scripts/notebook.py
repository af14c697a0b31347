#!/usr/bin/env python3
"""Runs notebooks from top to bottom in separate folders; fails if a cell fails. The files are not changed."""

import pathlib
import sys
import tempfile

import nbclient
import nbformat


def main():
    for name in sys.argv[1:]:
        notebook = nbformat.read(pathlib.Path(name), as_version=4)
        with tempfile.TemporaryDirectory() as folder:
            nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": folder}}).execute()
        for cell in notebook.cells:
            for output in cell.get("outputs", []):
                print(output.get("text") or output.get("data", {}).get("text/plain", ""))
        print(f"{name}: {sum(cell.cell_type == 'code' for cell in notebook.cells)} cells, no fault")


main()
