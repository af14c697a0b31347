# Sourced by scripts that send requests to controllers over REST. These scripts need curl and python3.

# Prints the status of a PUT; the response is in answer.json.
put() { curl -sS -o answer.json -w '%{http_code}' -X PUT -H 'content-type: application/json' "$1" -d "$2"; }
# expect STATUS URL BODY
expect() {
    local got
    got=$(put "$2" "$3")
    [[ $got == "$1" ]] || { echo "PUT $2 $3 returned $got instead of $1"; cat answer.json; exit 1; }
}
# Waits until a Python expression over the response `it` is true.
until_true() {
    for _ in $(seq 150); do
        if curl -sS "$1" -o answer.json && python3 -c 'import json, sys; it = json.load(open("answer.json")); sys.exit(not eval(sys.argv[1]))' "$2" 2>why.txt; then
            return
        fi
        sleep 0.1
    done
    echo "timed out: the answer of $1 never satisfied $2"
    cat answer.json
    exit 1
}
