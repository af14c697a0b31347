# Sourced by scripts that start programs. Stops the programs at the end of the script, and finds the addresses of their
# listeners.

# Process ids of started programs.
started=()
trap 'for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done' EXIT

# address FILE LISTENER: waits for the address of a listener that a program prints to a file.
address() {
    for _ in $(seq 200); do
        found=$(sed -n "s/.*\"address\":\"\([^\"]*\)\".*\"listening\":\"$2\".*/\1/p; s/.*\"listening\":\"$2\".*\"address\":\"\([^\"]*\)\".*/\1/p" "$1")
        [[ -z $found ]] || break
        sleep 0.05
    done
    echo "$found"
}

# ports FILE: waits for the two addresses that an SD-RAN controller prints to a file, and prints their ports:
# agents, then HTTP.
ports() {
    for _ in $(seq 200); do
        [[ $(grep -c '"listening"' "$1") == 2 ]] && break
        sleep 0.05
    done
    sed -n 's/.*"address":"127.0.0.1:\([0-9]*\)".*/\1/p' "$1"
}

# ric_refuses WORDS FLAG...: checks that a RIC does not start with these flags, and that its output (in refused.txt)
# contains WORDS.
ric_refuses() {
    local code=0
    "$RANLAB" ric --duration 1s --e2 "unix://$PWD/x2" --e42 "unix://$PWD/x42" "${@:2}" >refused.txt 2>&1 || code=$?
    [[ $code == 2 ]] && grep -q -- "$1" refused.txt || { echo "exit $code:"; cat refused.txt; exit 1; }
}
