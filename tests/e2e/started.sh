# Sourced by the scripts here that start programs: they end with the script, and their listeners are found.

# Process ids of what was started.
started=()
trap 'for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done' EXIT

# Waits for the address of a listener that a program prints to a file: address FILE LISTENER.
address() {
    for _ in $(seq 200); do
        found=$(sed -n "s/.*\"address\":\"\([^\"]*\)\".*\"listening\":\"$2\".*/\1/p; s/.*\"listening\":\"$2\".*\"address\":\"\([^\"]*\)\".*/\1/p" "$1")
        [[ -z $found ]] || break
        sleep 0.05
    done
    echo "$found"
}

# Waits for the two addresses that an SD-RAN controller prints to a file, and prints their ports: agents', then HTTP's.
ports() {
    for _ in $(seq 200); do
        [[ $(grep -c '"listening"' "$1") == 2 ]] && break
        sleep 0.05
    done
    sed -n 's/.*"address":"127.0.0.1:\([0-9]*\)".*/\1/p' "$1"
}

# A RIC does not start with these flags, and says so in these words: ric_refuses WORDS FLAG...; all that it said is in refused.txt.
ric_refuses() {
    local code=0
    "$RANLAB" ric --duration 1s --e2 "unix://$PWD/x2" --e42 "unix://$PWD/x42" "${@:2}" >refused.txt 2>&1 || code=$?
    [[ $code == 2 ]] && grep -q -- "$1" refused.txt || { echo "exit $code:"; cat refused.txt; exit 1; }
}
