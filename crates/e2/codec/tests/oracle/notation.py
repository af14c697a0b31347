"""ASN.1 for pycrate from the short notation of `e2sm_types.txt`, and types that contain themselves, unrolled.

pycrate reads a type that contains itself, but cannot encode it. Unrolled, each level is a type of its own, which encodes
to the same octets as long as a value has no more levels than there are.
"""

import re

BASIC = {
    "INT": "INTEGER",
    "BITS": "BIT STRING",
    "OCTETS": "OCTET STRING",
    "BOOL": "BOOLEAN",
    "REAL": "REAL",
    "NULL": "NULL",
    "PrintableString": "PrintableString",
}
SIZED = {"BITS", "OCTETS", "PrintableString"}
KINDS = {"SEQ": "SEQUENCE", "CHOICE": "CHOICE", "ENUM": "ENUMERATED"}
# Levels that a value may have; the bottom is NULL, so that a deeper one is an error and not overlooked.
LEVELS = 16
# The types at which a level begins: each way round in RC goes through one of them.
KNOTS = ("RANParameter-ValueType", "RANParameter-Definition", "RANParameter-Testing-Item")


def asn1(table):
    """Modules by name, from the text of `e2sm_types.txt`; NI has none of the common types."""
    sections, section = {}, None
    for line in table.splitlines():
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            section = sections.setdefault(line.strip("[]"), [])
            continue
        name, _, body = line.partition(": ")
        section.append(f"{name} ::= {Body(body).whole()}")
    def module(name, *own):
        lines = [line for section in own for line in sections[section]]
        return "\n".join([f"{name} DEFINITIONS AUTOMATIC TAGS ::= BEGIN", *lines, "END", ""])

    return {
        "E2SM-KPM-IEs": module("E2SM-KPM-IEs", "common", "kpm"),
        "E2SM-RC-IEs": module("E2SM-RC-IEs", "common", "rc"),
        "E2SM-NI-IEs": module("E2SM-NI-IEs", "ni"),
    }


class Body:
    """What a type is, read from left to right."""

    def __init__(self, text):
        self.tokens = re.findall(r"\.\.\.|\.\.|[\w-]+\?|[A-Za-z][\w-]*|-?\d+|[{}(),:|]", text)

    def take(self, *expected):
        token = self.tokens.pop(0)
        if expected and token not in expected:
            raise ValueError(f"{token!r} where one of {expected} is due")
        return token

    def whole(self):
        said = self.one()
        if self.tokens:
            raise ValueError(f"left over: {self.tokens}")
        return said

    def one(self):
        name = self.take()
        if name == "LIST":
            size = self.bounds()
            self.take("of")
            return f"SEQUENCE (SIZE{size}) OF {self.one()}"
        if name in KINDS:
            return f"{KINDS[name]} {{ {', '.join(self.parts(name))} }}"
        if name not in BASIC:
            return name
        if self.tokens[:1] != ["("]:
            return BASIC[name]
        bounds = self.bounds()
        return f"{BASIC[name]} (SIZE{bounds})" if name in SIZED else f"{BASIC[name]} {bounds}"

    def bounds(self):
        """`(1..9, ...)`, with its brackets."""
        said = [self.take("(")]
        while said[-1] != ")":
            said.append(self.take())
        return "".join(said)

    def parts(self, kind):
        self.take("{")
        parts = []
        while (token := self.take()) != "}":
            if token == "|":
                parts.append(self.take("..."))
            elif token != ",":
                parts.append(token if kind == "ENUM" else self.part(token))
        return parts

    def part(self, name):
        self.take(":")
        said = f"{name.rstrip('?')} {self.one()}"
        return f"{said} OPTIONAL" if name.endswith("?") else said


def unrolled(module):
    """The text of a module, with its types that contain themselves once for each level."""
    start = re.compile(r"(?m)^\s*([A-Z][\w-]*)\s*::=")
    places = [found.start() for found in start.finditer(module)] + [module.rindex("END")]
    head, tail = module[: places[0]], module[places[-1] :]
    types = {}
    for begin, end in zip(places, places[1:]):
        types[start.match(module, begin).group(1)] = module[start.match(module, begin).end() : end]
    word = re.compile(r"(?<![\w-])[A-Z][\w-]*")
    refers = {name: {it for it in word.findall(body) if it in types} for name, body in types.items()}

    def reached(roots):
        seen, todo = set(), list(roots)
        while todo:
            for name in refers[todo.pop()] - seen:
                seen.add(name)
                todo.append(name)
        return seen

    round_again = {name for name in types if name in reached([name])}
    missed = {name for name in round_again if not any(knot in reached([name]) for knot in KNOTS)}
    if missed:
        raise ValueError(f"types that contain themselves by another way than {KNOTS}: {missed}")

    def at(level, body):
        def renamed(found):
            name = found.group()
            return f"{name}-{level + (name in KNOTS)}" if name in round_again else name

        return word.sub(renamed, body)

    out = []
    for name, body in types.items():
        if name not in round_again:
            out.append(f"{name} ::= {at(0, body)}")
            continue
        out += [f"{name}-{level} ::= {at(level, body)}" for level in range(name in KNOTS, LEVELS + 1)]
        if name in KNOTS:
            out.append(f"{name}-{LEVELS + 1} ::= NULL")
    return "\n".join([head, *out, tail])
