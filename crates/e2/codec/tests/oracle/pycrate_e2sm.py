#!/usr/bin/env python3
"""pycrate, an independent ASN.1 codec, against our service models, for `tests/pycrate_e2sm.rs`.

    pycrate_e2sm.py TYPES CORPUS MUTATED

TYPES: our short notation (`e2sm_types.txt`), or a folder with the ASN.1 texts of O-RAN, one module in each file `*.asn`;
they are not ours to hand on. Types that contain themselves are unrolled (`notation.py`). CORPUS: lines
`module TAB type TAB hexadecimal TAB value notation` that our encoder made. Each is decoded by pycrate; its values must be
the same, and pycrate's encoding of them the same octets. MUTATED receives lines of the same form that pycrate made from
changed values: ours must read those. Exits 1 on any disagreement.
"""

import collections
import contextlib
import copy
import importlib.util
import io
import pathlib
import random
import sys
import tempfile

from pycrate_asn1c.asnproc import PycrateGenerator, compile_text, generate_modules
import notation
from pycrate_check import ATTEMPTS, DROP, SHOWN, at, changed, normalise, replaced, slots

CHOSEN = {"actionDefinition-formats", "indicationMessage-formats"}  # to change them would make another message


def modules_of(types):
    """The text of each module."""
    if types.is_file():
        return list(notation.asn1(types.read_text()).values())
    return [file.read_text() for file in sorted(types.glob("*.asn"))]


def compiled(types):
    """The modules, by name."""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        compile_text([notation.unrolled(text) for text in modules_of(pathlib.Path(types))])
        generate_modules(PycrateGenerator, f"{folder}/texts.py")
        spec = importlib.util.spec_from_file_location("texts", f"{folder}/texts.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


def found(modules, module, name):
    """A type; the texts have those that models share in a module of their own."""
    module, common, name = (text.replace("-", "_") for text in (module, "E2SM-COMMON-IEs", name))
    own = getattr(modules, module)
    return getattr(own if hasattr(own, name) else getattr(modules, common), name)


def mutation(dice, pdu, value, pools):
    """(octets, notation) of `value` with one part changed, or None if no attempt met the constraints."""
    places = [(path, name) for path, name in slots(value, "", ()) if name in pools and name not in CHOSEN]
    for _ in range(ATTEMPTS if places else 0):
        path, name = dice.choice(places)
        old = at(value, path)
        new = changed(dice, name, old, pools[name])
        if new == old or new is DROP and not isinstance(path[-1], str):
            continue
        try:
            pdu.set_val(replaced(value, path, new))
            octets = pdu.to_aper()
            pdu.from_aper(octets)  # a value that pycrate encodes wrongly is no test of ours
            if octets == pdu.to_aper():
                return octets, normalise(pdu.to_asn1())
        except Exception:  # pycrate refuses a value in many ways; each means "not in the constraints"
            continue
    return None


def main(types, corpus, mutated):
    dice = random.Random(1)
    agreed, disagreed, made = (collections.Counter() for _ in range(3))
    decoded, pools = [], collections.defaultdict(lambda: collections.defaultdict(list))
    modules = compiled(types)

    def objection(name, what, hexadecimal):
        disagreed[name] += 1
        if disagreed[name] <= SHOWN:
            print(f"{name}: {what}\n  {hexadecimal}", file=sys.stderr)

    with open(corpus) as lines:
        for line in lines:
            module, name, hexadecimal, ours = line.rstrip("\n").split("\t")
            pdu = found(modules, module, name)
            octets = bytes.fromhex(hexadecimal)
            try:
                pdu.from_aper(octets)
                theirs = normalise(pdu.to_asn1())
                again = pdu.to_aper()
            except Exception as error:
                objection(name, f"pycrate: {error!r}", hexadecimal)
                continue
            if theirs != ours:
                objection(name, f"values differ\n  ours   {ours}\n  theirs {theirs}", hexadecimal)
            elif again != octets:
                objection(name, f"pycrate encodes {again.hex()}", hexadecimal)
            else:
                agreed[name] += 1
                value = copy.deepcopy(pdu.get_val())
                decoded.append((module, name, pdu, value))
                for path, field in slots(value, "", ()):
                    pools[name][field].append(at(value, path))

    with open(mutated, "w") as out:
        for module, name, pdu, value in decoded:
            made_of_it = mutation(dice, pdu, value, pools[name])
            if made_of_it:
                made[name] += 1
                print(module, name, made_of_it[0].hex(), made_of_it[1], sep="\t", file=out)

    for name in sorted(agreed + disagreed):
        print(f"pycrate, {name}: {agreed[name]} agree, {disagreed[name]} differ; {made[name]} of its own made")
    return 1 if disagreed or not agreed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
