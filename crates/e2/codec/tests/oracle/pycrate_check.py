#!/usr/bin/env python3
"""pycrate, an independent ASN.1 codec, against ours, for `tests/pycrate.rs`.

    pycrate_check.py CORPUS MUTATED

CORPUS: lines `version TAB message TAB hexadecimal PDU TAB value notation` that our encoder made. Each is decoded by
pycrate; its values must be the same, and pycrate's encoding of them the same bytes. MUTATED receives lines of the
same form that pycrate made from changed values: ours must read those. Exits 1 on any disagreement.
"""

import collections
import copy
import random
import re
import sys

from pycrate_asn1dir import E2AP

PDU = E2AP.E2AP_PDU_Descriptions.E2AP_PDU
# Changing these would make a message of another kind, or one that no standard encoder produces.
STRUCTURE = {"id", "criticality", "protocolIEs", "value"}
# Extensible integers: the root is 0..255 in every version so far, and ours refuses, with a typed error, what 16 bits
# do not hold.
EXTENSIBLE = {"TransactionID", "ricActionExecutionOrder"}
SHOWN = 5  # disagreements printed in full
ATTEMPTS = 8  # for a mutation that the constraints allow


def normalise(notation):
    """As tests/pycrate.rs does: no comments, single spaces."""
    text = re.sub(r"--.*?--", "", notation, flags=re.DOTALL)
    return re.sub(r" ,", ",", " ".join(text.split()))


def slots(value, name, path):
    """(path, name) of every field, list and alternative below `value`."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in STRUCTURE:
                yield (*path, key), key
            yield from slots(inner, key, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from slots(inner, name, (*path, index))
    elif isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str):
        if path:  # not the message itself
            yield (*path, 1), value[0]
        yield from slots(value[1], value[0], (*path, 1))


def at(value, path):
    for step in path:
        value = value[step]
    return value


def replaced(value, path, new):
    """A copy of `value` with `new` at `path`; the sentinel `DROP` removes a field there."""
    if not path:
        return new
    step, rest = path[0], path[1:]
    if isinstance(value, tuple):
        return tuple(replaced(v, rest, new) if i == step else v for i, v in enumerate(value))
    changed = copy.copy(value)
    if not rest and new is DROP:
        del changed[step]
    else:
        changed[step] = replaced(value[step], rest, new)
    return changed


DROP = object()


def changed(dice, name, old, pool):
    """Another value for a field: one that the same field had elsewhere, or a near or extreme one of its own."""
    if isinstance(old, bool) or dice.random() < 0.4:
        return dice.choice(pool)
    if isinstance(old, int):
        most_bits = 16 if name in EXTENSIBLE else 36
        return dice.choice([max(old - 1, 0), 0] + [dice.getrandbits(bits) for bits in (8, 16, most_bits)])
    if isinstance(old, bytes):
        return dice.randbytes(dice.choice([0, 1, len(old), 127, 128, 300]))
    if isinstance(old, tuple) and isinstance(old[0], int):  # BIT STRING (number, length)
        return dice.getrandbits(old[1]) if old[1] == 0 else (dice.getrandbits(old[1]), old[1])
    if isinstance(old, list) and old:
        return dice.choice([old + [dice.choice(old)], old[1:] or old, list(reversed(old))])
    return DROP if dice.random() < 0.3 else dice.choice(pool)


def mutation(dice, value, pools):
    """(bytes, notation) of `value` with one part changed, or None if no attempt met the constraints."""
    body = (1, "value")
    places = [(path, name) for path, name in slots(at(value, body), "value", ()) if name in pools]
    for _ in range(ATTEMPTS if places else 0):
        path, name = dice.choice(places)
        old = at(at(value, body), path)
        new = changed(dice, name, old, pools[name])
        if new == old or new is DROP and not isinstance(path[-1], str):
            continue
        try:
            PDU.set_val(replaced(value, (*body, *path), new))
            octets = PDU.to_aper()
            PDU.from_aper(octets)  # a value that pycrate encodes wrongly is no test of ours
            if octets != PDU.to_aper():
                continue
            return octets, normalise(PDU.to_asn1())
        except Exception:  # pycrate refuses a value in many ways; each means "not in the constraints"
            continue
    return None


def main(corpus, mutated):
    dice = random.Random(1)
    agreed, disagreed, made = (collections.Counter() for _ in range(3))
    decoded, pools = [], collections.defaultdict(lambda: collections.defaultdict(list))

    def objection(version, name, what, hexadecimal):
        disagreed[version] += 1
        if disagreed[version] <= SHOWN:
            print(f"{version} {name}: {what}\n  {hexadecimal}", file=sys.stderr)

    with open(corpus) as lines:
        for line in lines:
            version, name, hexadecimal, notation = line.rstrip("\n").split("\t")
            octets = bytes.fromhex(hexadecimal)
            try:
                PDU.from_aper(octets)
                theirs = normalise(PDU.to_asn1())
                again = PDU.to_aper()
            except Exception as error:
                objection(version, name, f"pycrate: {error!r}", hexadecimal)
                continue
            if theirs != notation:
                objection(version, name, f"values differ\n  ours   {notation}\n  theirs {theirs}", hexadecimal)
            elif again != octets:
                objection(version, name, f"pycrate encodes {again.hex()}", hexadecimal)
            else:
                agreed[version] += 1
                value = copy.deepcopy(PDU.get_val())
                decoded.append((version, name, value))
                for path, field in slots(at(value, (1, "value")), "value", ()):
                    pools[version][field].append(at(at(value, (1, "value")), path))

    with open(mutated, "w") as out:
        for version, name, value in decoded:
            made_of_it = mutation(dice, value, pools[version])
            if made_of_it:
                made[version] += 1
                print(version, name, made_of_it[0].hex(), made_of_it[1], sep="\t", file=out)

    for version in sorted(agreed + disagreed):
        print(f"pycrate, E2AP {version}: {agreed[version]} messages agree, {disagreed[version]} differ; "
              f"{made[version]} of its own made")
    return 1 if disagreed or not agreed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
