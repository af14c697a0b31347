#!/usr/bin/env bash
# Tests kill -9 of a campaign with a third-party switch under test, for each kind of switch. The processes of the campaign
# exit, and none of its namespaces, kernel programs and tables, huge pages or files in /run remain. The test takes more than
# a minute, so it runs only with SWITCHES_KILLED=1, as in the nightly job.
# alone: testbeds
set -euo pipefail
[[ -n ${SWITCHES_KILLED:-} ]] || { echo "takes over a minute: SWITCHES_KILLED=1, or make nightly, runs it"; exit 77; }
cleanup() { [[ -z ${pid:-} ]] || kill "$pid" 2>/dev/null || true; }
trap cleanup EXIT

write() {
    cat >"$1.toml" <<TOML
title = "a switch whose campaign is killed"
rig = "pipeline"
[pipeline]
name = "$2"
[sut]
engine = "ovs-dpdk"
tier = "mem"
[load]
pkt-num = 1024
verify = 64
[host]
when_noisy = "warn"
[measure]
repeats = 1
TOML
}
write rules acl
write plain portfwd

# traces PID: lists the resources of a campaign: its processes, their network namespaces, and the kernel programs and tables
# that they hold. files: lists files that could keep a resource after its process has exited. gone FILE: lists the resources
# in FILE that still exist, and new files.
cat >traces.py <<'PYTHON'
import ctypes, json, os, platform, re, sys
from pathlib import Path

def text(path):
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""

def begun(pid):
    # The 22nd field is counted after the name, because the name may contain blanks.
    return text(f"/proc/{pid}/stat").rpartition(")")[2].split()[19:20]

def net(pid):
    try:
        return os.readlink(f"/proc/{pid}/ns/net")
    except OSError:
        return None

def pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]

def bpf(command, number):
    class Id(ctypes.Structure):
        _fields_ = [("id", ctypes.c_uint32), ("rest", ctypes.c_uint32 * 3)]
    call = {"x86_64": 321, "aarch64": 280}.get(platform.machine())
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.syscall(call, command, ctypes.byref(Id(number)), 16) if call else -1
    if descriptor >= 0:
        os.close(descriptor)
    return descriptor >= 0

def files():
    folders = ("/dev/hugepages", "/run/dpdk", "/run/openvswitch", "/sys/fs/bpf", "/run/netns")
    found = [path for folder in folders for path in Path(folder).glob("**/*") if path.is_file() or path.is_socket() or "ranlab" in path.name]
    # This is shared memory of VPP, which cannot remove it when it is killed.
    return sorted(map(str, [*found, *Path("/dev/shm").glob("ranlab*")]))

if sys.argv[1] == "files":
    print(json.dumps(files()))
elif sys.argv[1] == "bpf":
    # This is a simplified version of the check in `doctor`: a user who may query kernel programs may also load them.
    sys.exit(0 if os.path.exists("/proc/sys/kernel/bpf_stats_enabled") and os.geteuid() == 0 else 1)
elif sys.argv[1] == "traces":
    parents = {pid: int((text(f"/proc/{pid}/stat").rpartition(")")[2].split() + [0, 0])[1]) for pid in pids()}
    below, more = set(), {int(sys.argv[2])}
    while more:
        below |= more
        more = {pid for pid, parent in parents.items() if parent in below} - below
    names = {pid: text(f"/proc/{pid}/cmdline").replace("\0", " ")[:200] for pid in below}
    found = {"processes": {pid: [begun(pid), names[pid]] for pid in below}, "net": [], "prog_id": [], "map_id": []}
    found["net"] = sorted({net(pid) for pid in below} - {net("self"), None})
    for pid in below:
        infos = "\n".join(text(path) for path in Path(f"/proc/{pid}/fdinfo").glob("*")) if begun(pid) else ""
        for kind in ("prog_id", "map_id"):
            found[kind] += [int(number) for number in re.findall(rf"^{kind}:\s*(\d+)", infos, re.M)]
    print(json.dumps(found))
else:
    was = json.loads(text(sys.argv[2]))
    for pid, (start, name) in was["processes"].items():
        if begun(pid) == start:
            print("process", pid, name)
    now = {net(pid) for pid in pids()}
    print(*(f"namespace {one}\n" for one in was["net"] if one in now), sep="", end="")
    # BPF_PROG_GET_FD_BY_ID and BPF_MAP_GET_FD_BY_ID
    for kind, command in (("prog_id", 13), ("map_id", 14)):
        print(*(f"{kind} {one}\n" for one in was[kind] if bpf(command, one)), sep="", end="")
    print(*(f"file {path}\n" for path in files() if path not in json.loads(text("files.json"))), sep="", end="")
PYTHON

# killed NAME FILE ENGINE TIER PATTERN [ARGUMENTS]: starts a campaign, waits until a resource that matches PATTERN exists,
# kills the campaign, and checks that all resources disappear.
killed() {
    local name=$1 file=$2 engine=$3 tier=$4 pattern=$5 there=
    python3 traces.py files >files.json
    "$RANLAB" bench run "$file" --fresh --out "killed-$name" --set sut.engine="$engine" --set sut.tier="$tier" \
        --set measure.duration=60s "${@:6}" >"killed-$name.json" 2>"killed-$name.err" &
    pid=$!
    for _ in $(seq 300); do
        python3 traces.py traces "$pid" >traces.json
        there=$(grep -oE "$pattern" traces.json || true)
        [[ -z $there ]] || break
        kill -0 "$pid" 2>/dev/null || break
        sleep 0.1
    done
    [[ -n $there ]] || { echo "$name: it did not start"; cat "killed-$name.err"; tail -c 2000 "killed-$name.json"; exit 1; }
    # Waits for a short time, so that the campaign is killed during its next step.
    sleep 0.5
    python3 traces.py traces "$pid" >traces.json
    kill -9 "$pid"
    wait "$pid" 2>/dev/null || true
    # A worker that is starting a component exits within its grace period of 5 s. The processes that it has started exit
    # with it.
    for _ in $(seq 150); do
        python3 traces.py gone traces.json >left.txt
        [[ -s left.txt ]] || break
        sleep 0.1
    done
    [[ ! -s left.txt ]] || { echo "the killed campaign with $name left these behind:"; cat left.txt; exit 1; }
    pid=
    echo "killed: $name"
}

# Number of free huge pages, in units of 2 MiB.
pages() { awk '/^HugePages_Free/ { free = $2 } /^Hugepagesize/ { print int(free * $2 / 2048) }' /proc/meminfo; }
before=$(pages)
[[ $(id -u) == 0 ]] || { echo "network namespaces, kernel programs and Open vSwitch need root"; exit 77; }
if [[ -x /usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk && $before -ge 128 ]]; then
    killed "Open vSwitch over DPDK" rules.toml ovs-dpdk mem vswitchd-dpdk
else
    echo "skipped: Open vSwitch over DPDK is not installed, or has no huge pages"
fi
if command -v ovs-vswitchd >/dev/null; then
    killed "Open vSwitch over sockets" rules.toml ovs veth 'ovs-vswitchd unix'
else
    echo "skipped: ovs-vswitchd is not installed"
fi
if command -v nft >/dev/null && unshare --net true 2>/dev/null; then
    killed "the kernel's nftables" rules.toml kernel veth 'sleep infinity'
else
    echo "skipped: nft is not installed, or namespaces are not possible"
fi
if command -v dpdk-testpmd >/dev/null; then
    killed "testpmd, replayed" plain.toml testpmd mem dpdk-testpmd
    (($(nproc) < 2)) || killed "testpmd, in rings" plain.toml testpmd ring dpdk-testpmd
else
    echo "skipped: dpdk-testpmd is not installed"
fi
# VPP is in PATH, or in the folder that $VPP names.
if [[ -n ${VPP:-} ]] || command -v vpp >/dev/null; then
    of_build=(); [[ -z ${VPP:-} ]] || of_build=(--set sut.build="$VPP")
    killed "VPP, replayed" rules.toml vpp mem startup.conf "${of_build[@]}"
    (($(nproc) < 2)) || killed "VPP, in rings" plain.toml vpp ring startup.conf "${of_build[@]}" --set load.pkt-size=128
else
    echo "skipped: vpp is not in PATH, and VPP names no build"
fi
if python3 traces.py bpf; then
    killed "the kernel's packet programs" rules.toml xdp mem '"prog_id": \[[0-9]'
else
    echo "skipped: packet programs cannot be loaded on this kernel"
fi

if command -v ovs-vswitchd >/dev/null; then
    echo "== a switch that crashes determines the outcome of its point, and the run continues"
    cat >dies.toml <<'TOML'
title = "a switch that dies, and the next"
extends = "rules.toml"
[sweep]
mode = "joint"
[sweep.axes]
"sut.engine" = ["ovs", "native"]
"sut.tier" = ["veth", "mem"]
[measure]
order = "given"
duration = "5s"
TOML
    "$RANLAB" bench run dies.toml --fresh --out dies --set host.when_noisy=warn --format json >dies.json 2>dies.err &
    pid=$!
    for _ in $(seq 300); do
        python3 traces.py traces "$pid" >traces.json
        switch=$(grep -oE '"[0-9]+": \[\["[0-9]+"\], "[^"]*ovs-vswitchd unix' traces.json | grep -oE '^"[0-9]+' | tr -d '"' | tail -n 1 || true)
        [[ -z $switch ]] || break
        sleep 0.1
    done
    [[ -n $switch ]] || { echo "it did not start"; cat dies.err; exit 1; }
    kill -9 $switch
    wait "$pid" || true
    pid=
    python3 - <<'PYTHON'
import json
first, second = json.loads(open("dies.json").read().splitlines()[-1])["points"]
assert first["outcome"] == "sut_failed" and "ovs-vswitchd ended" in first["reason"], first
assert second["outcome"] == "ok" and second["metrics"]["mpps"]["mean"] > 0, second
PYTHON
fi
for _ in $(seq 100); do
    [[ $(pages) -lt $before ]] || break
    sleep 0.1
done
[[ $(pages) -ge $before ]] || { echo "only $(pages) of $before free huge pages are left"; exit 1; }
