#!/usr/bin/env python3
"""Generates python/ranlab/models.py from the registry of service models. --check fails if the file is outdated."""

import importlib.util
import keyword
import pathlib
import re
import sys

TARGET = pathlib.Path(__file__).parent / "python/ranlab/models.py"
TYPES = {"unsigned": "int", "signed": "int", "float": "float", "text": "str"}
KEYS = {
    "ue": "Number of the UE (RNTI).",
    "bearer": "The radio bearer's identity.",
    "tunnel": "The tunnel's endpoint identifier.",
    "slice": "The slice's number.",
    "queue": "The queue's number.",
}
HEAD = '''"""Rows of the service models' reports. Generated from the registry by bindings/python/models.py; do not edit.

The first fields of every row identify its subject: ``ue``, ``bearer``, ``tunnel``, ``slice``, ``queue``; ``None`` if not applicable.
"""

from __future__ import annotations

from typing import NamedTuple, Optional, Union
'''


def name_of(model):
    return re.sub(r"[^0-9a-zA-Z]", "", model["name"].title()) + "Row"


def source(models):
    text = HEAD
    for model in models:
        about = ", ".join(f"``{key}``" for key in model["keys"]) or "the node as a whole"
        text += f'\n\nclass {name_of(model)}(NamedTuple):\n    """A row of ``{model["name"]}`` ({model["oid"]}); about {about}."""\n\n'
        for key in KEYS:
            text += f"    {key}: Optional[int]\n"
        for name, unit, kind, of in model["columns"]:
            field = name + "_" if keyword.iskeyword(name) or name in KEYS else name
            text += f"    #: {kind}{', ' + unit if unit else ''}\n    {field}: {TYPES[of]}\n"
    names = [name_of(model) for model in models]
    text += "\n\n#: A row of any model.\nRow = Union[\n" + "".join(f"    {name},\n" for name in names) + "]\n"
    text += "\n#: The class of each model's rows.\nROWS: dict[str, type[Row]] = {\n"
    text += "".join(f'    "{model["name"]}": {name_of(model)},\n' for model in models) + "}\n"
    return text


def native():
    """Loads the native module without the Python package, which imports the generated file."""
    folder = pathlib.Path(importlib.util.find_spec("ranlab").origin).parent
    [file] = folder.glob("_native*.so")
    spec = importlib.util.spec_from_file_location("ranlab._native", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main():
    text = source(native().models())
    if "--check" not in sys.argv:
        TARGET.write_text(text)
    elif TARGET.read_text() != text:
        sys.exit(f"{TARGET} is not what the registry says: run bindings/python/models.py in the package's venv")


main()
