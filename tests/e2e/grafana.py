"""Checks a Grafana dashboard without Grafana, and prints its queries: grafana.py DASHBOARD.json

The rules are those that Grafana applies when it imports the JSON model of a dashboard: identifiers, panel types of the
core, a grid of 24 columns without overlap, units, data sources and variables that exist. Each printed line is a query of
a panel or of a variable, with variables replaced by a value that matches everything.
"""
import json
import re
import sys

# Panels included in Grafana, as used by this dashboard, and units (ids of @grafana/data).
TYPES = {"barchart", "bargauge", "gauge", "heatmap", "histogram", "piechart", "stat", "state-timeline", "table", "timeseries"}
UNITS = {"short", "none", "ops", "bps", "Bps", "Kbits", "Mbits", "bytes", "percent", "percentunit", "s", "ms", "dB", "dBm"}
BUILT_IN = {"__all", "__interval", "__range", "__rate_interval"}
# Versions of the model whose fields are checked here: Grafana 9.0 to 12.
SCHEMA = range(36, 43)
VARIABLE = re.compile(r"\$\{?(\w+)\}?")
wrong = []


def check(holds, where, what):
    if not holds:
        wrong.append(f"{where}: {what}")


def check_source(at, where):
    source = at.get("datasource")
    check(source == {"type": "prometheus", "uid": "${datasource}"}, where, f"data source {source}")


def check_head(board):
    check(re.fullmatch(r"[\w-]{1,40}", board["uid"]), "dashboard", f"uid {board['uid']!r}")
    # A numeric id would overwrite another dashboard of the server.
    check(board.get("id") is None and "__inputs" not in board, "dashboard", "it was exported with ids of a server")
    check(board["schemaVersion"] in SCHEMA, "dashboard", f"schemaVersion {board['schemaVersion']}")
    check(bool(board["title"]) and isinstance(board["version"], int), "dashboard", "title and version")
    check(re.fullmatch(r"\d+[smhd]", board.get("refresh", "1m")), "dashboard", f"refresh {board.get('refresh')}")
    for end in ("from", "to"):
        check(re.fullmatch(r"now(-\d+[smhdw])?", board["time"][end]), "dashboard", f"time.{end}")


def check_variables(variables):
    """Checks that variables are defined before they are used. Returns their queries."""
    queries, known = [], set()
    for variable in variables:
        where = f"variable {variable['name']}"
        check(variable["name"] not in known, where, "is there twice")
        check(variable["type"] in ("datasource", "query"), where, f"type {variable['type']}")
        check(variable.get("label") and variable.get("hide", 0) in (0, 1, 2), where, "has no label")
        if variable["type"] == "datasource":
            check(variable["query"] == "prometheus", where, f"plugin {variable['query']}")
        else:
            check_source(variable, where)
            check("datasource" in known, where, "its data source is defined later")
            check(variable.get("refresh") in (1, 2), where, "is never refreshed")
            check(not variable.get("includeAll") or variable.get("multi"), where, "`All` without `multi`")
            query = variable["query"]["query"]
            of = re.fullmatch(r"label_values\((\w+), (\w+)\)", query)
            check(of and variable["query"].get("refId"), where, f"query {query}")
            if of:
                queries.append(f'count by ({of[2]}) ({of[1]}{{{of[2]}!=""}})')
        known.add(variable["name"])
    return queries, known


def check_panel(panel, known, cells):
    where = f"panel {panel.get('id')} {panel.get('title')!r}"
    check(isinstance(panel.get("id"), int) and panel["id"] > 0 and panel.get("title"), where, "id and title")
    check(panel["type"] in TYPES, where, f"type {panel['type']}")
    grid = panel["gridPos"]
    check(0 < grid["w"] <= 24 - grid["x"] and 0 <= grid["x"] and 0 < grid["h"] and 0 <= grid["y"], where, f"grid {grid}")
    covered = {(x, y) for x in range(grid["x"], grid["x"] + grid["w"]) for y in range(grid["y"], grid["y"] + grid["h"])}
    check(not covered & cells, where, "lies over another panel")
    cells |= covered
    defaults = panel["fieldConfig"]["defaults"]
    check(defaults.get("unit") in UNITS, where, f"unit {defaults.get('unit')}")
    check(isinstance(panel["fieldConfig"]["overrides"], list), where, "overrides")
    check_source(panel, where)
    check(panel["targets"], where, "has no query")
    ids = [target["refId"] for target in panel["targets"]]
    check(len(set(ids)) == len(ids) and all(re.fullmatch("[A-Z]+", it) for it in ids), where, f"refIds {ids}")
    for target in panel["targets"]:
        check_source(target, where)
        unknown = set(VARIABLE.findall(target["expr"])) - known - BUILT_IN
        check(not unknown, where, f"unknown variables {unknown}")
        # A variable with several values is a regular expression.
        check("=$" not in target["expr"] and '="$' not in target["expr"], where, "`=` with a variable: write `=~`")
        yield target["expr"]


def main(path):
    board = json.load(open(path))
    check_head(board)
    queries, known = check_variables(board["templating"]["list"])
    cells = set()
    for panel in board["panels"]:
        queries += check_panel(panel, known, cells)
    ids = [panel["id"] for panel in board["panels"]]
    check(len(set(ids)) == len(ids), "dashboard", "two panels have one id")
    assert not wrong, "\n".join(wrong)
    for query in queries:
        print(VARIABLE.sub(lambda it: {"__rate_interval": "1m"}.get(it[1], ".*"), query))


main(*sys.argv[1:])
