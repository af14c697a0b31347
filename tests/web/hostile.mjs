// Responses of a RIC with malicious peer names, and with very many peers.

const NAMES = ["<img src=x onerror=\"window.hit=1\">", "</script><script>window.hit=2</script>", "javascript:window.hit=3", "\" onmouseover=\"window.hit=4", "‮gnb 505.01 1",
  "a".repeat(300), "<iframe src=//example.com>"];

const totals = (nodes) => ({
  t_ms: 1, nodes, connected: nodes, silent: 0, reporting: nodes, xapps: 1, indications_per_s: 1e5, forwarded_per_s: 2e5, dropped_per_s: 3,
  dropped: 1e6, controls: 4, queued_bytes: 12345,
});
const xapp = (peer) => ({
  id: "7", peer, tenant: "<b>tenant</b>", subscriptions: 1, requests: 0, taken_per_s: 1, dropped_per_s: 0, dropped: 0, queued_bytes: 0,
});

function events(response, request, event, lines, next) {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  const tell = (line) => response.write(`event: ${event}\ndata: ${JSON.stringify(line)}\n\n`);
  lines.forEach(tell);
  const timer = setInterval(() => next().forEach(tell), 1_000);
  request.on("close", () => clearInterval(timer));
  response.on("close", () => clearInterval(timer));
}

function json(response, value, status = 200) {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(value));
}

/** Responses with names that contain all kinds of markup. */
export function hostile(path, response, request) {
  const decoded = decodeURIComponent(path);
  const line = { begin: false, totals: totals(NAMES.length), xapps: [xapp(NAMES[0])], hints: [{ node: NAMES[1], peer: NAMES[0], hint: NAMES[0], times: 2 }], new: [], set: [], gone: [] };
  if (path === "/v1/overview") {
    const made = NAMES.map((name, n) => [n + 1, name, NAMES[0], `mac,${NAMES[6]}`, NAMES[1]]);
    const set = NAMES.map((_, n) => [n + 1, n % 4, 10 * n, 1, 0, 0, 1000 * n]);
    events(response, request, "overview", [{ ...line, begin: true, new: made, set }], () => [{ ...line, set: [[1, 3, 5, 1, 0, 0, null]] }]);
    return true;
  }
  if (path === "/v1/indications") {
    const row = { rnti: 1, measurement: NAMES[0], label: NAMES[1], of: NAMES[0], value: 5, dl_aggr_tbs: 1 };
    events(response, request, "indication", [], () => [{ subscription: 1, node: NAMES[0], sm: "kpm", sn: 1, tstamp_us: null, delay_us: 12, rows: [row] }]);
    return true;
  }
  if (path === "/v1/subscriptions" && request.method === "POST") {
    json(response, { id: 1 }, 201);
    return true;
  }
  if (path.startsWith("/v1/subscriptions/") || path === "/v1/leases") {
    json(response, { renewed: [1], unknown: [] });
    return true;
  }
  if (decoded.startsWith("/v1/ric/nodes/")) {
    const functions = [{ id: 1, oid: NAMES[0], sm: "kpm", name: NAMES[1] }, { id: 2, oid: NAMES[0], sm: null, name: NAMES[0] }];
    json(response, {
      id: NAMES[0], kind: NAMES[0], e2ap: NAMES[6], peer: NAMES[1], connected: true, since_s: 3, subscriptions: 1,
      counters: { indications: 1, requests: 0 }, functions, hints: [{ hint: NAMES[1] }],
    });
    return true;
  }
  return false;
}

/** Responses with many nodes. A share of them changes every second. With `comes`, further nodes arrive, and names are not sorted. */
export function crowd(count, { one_in = 10, comes = false } = {}) {
  const chunk = 1_000;
  const row = (n) => [n, [0, 1, 2, 2, 2, 2, 2, 2, 2, 3][n % 10], Math.round(Math.random() * 1000) / 10, 4, 0, 0, n % 3 ? null : n];
  return (path, response, request) => {
    if (path !== "/v1/overview") return false;
    const lines = [];
    for (let first = 1; first <= count; first += chunk) {
      const keys = Array.from({ length: Math.min(chunk, count - first + 1) }, (_, n) => first + n);
      const rest = { new: keys.map((n) => [n, `gnb 505.01 ${comes ? (n * 7_919) % 100_003 : n}`, "whole", "mac,rlc,pdcp,gtp", `tcp://10.0.0.${n % 250}:${n}`]), set: keys.map(row), gone: [] };
      lines.push(first === 1 ? { begin: true, totals: totals(count), xapps: [xapp("tcp://10.0.0.1:1")], hints: [], ...rest } : { begin: false, ...rest });
    }
    let turn = 0;
    events(response, request, "overview", lines, () => {
      turn += 1;
      const set = Array.from({ length: count / one_in }, (_, n) => row(((n * one_in + turn) % count) + 1));
      const made = comes && turn % 3 === 0 ? [[count + turn, `gnb 505.01 ${200_000 + turn}`, "whole", "mac", "tcp://10.0.0.1:2"]] : [];
      const all = [];
      for (let at = 0; at < set.length; at += chunk) all.push({ begin: false, new: [], set: set.slice(at, at + chunk), gone: [] });
      Object.assign(all[0], { totals: totals(count), xapps: [xapp("tcp://10.0.0.1:1")], hints: [], new: made });
      return all;
    });
    return true;
  };
}
