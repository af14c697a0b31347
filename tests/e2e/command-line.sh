#!/usr/bin/env bash
# Tests typical mistakes on the command line. The message for each mistake contains the correct form. If an option has a
# fixed set of values, help and shell completion list them.
set -euo pipefail
number=0
# mistake WORDS COMMAND...: the command exits with 2, and its message matches WORDS.
mistake() {
    local code=0 words=$1
    shift
    number=$((number + 1))
    timeout 20 "$RANLAB" "$@" >out.txt 2>err.txt </dev/null || code=$?
    [[ $code == 2 ]] && grep -qE -- "$words" err.txt || { echo "$number. ranlab $*: exit code $code, or the error lacks $words:"; cat err.txt; exit 1; }
    [[ $(grep -c '^ranlab: ' err.txt) == 1 ]] || { echo "$number. the error has more than one sentence:"; cat err.txt; exit 1; }
}
mistake 'did you mean `ranlab ric`' rci
mistake 'did you mean `ranlab bench`' bnech run my.toml
mistake 'did you mean `ranlab xapp monitor`' monitor
mistake 'commands: .*emulate' nosuchcommand
mistake 'did you mean `ranlab bench run`' bench rnu my.toml
mistake '`ranlab xapp` needs a command: .*monitor' xapp
mistake "'--nodes'" emulate --nods 3
mistake 'a whole number from 1 to 100000' emulate --nodes 0
mistake 'a whole number' emulate --nodes many
mistake 'possible values: .*mac.*kpm' emulate --sm kpn
mistake 'possible values: .*control.*sessions' load upf --mode session
mistake 'possible values: .*gnb.*split' emulate --kind gNodeB
mistake 'write a number and one of .*10s' ric --duration 10
mistake 'a time such as "50ms"' emulate --ramp soon
mistake 'has no scheme; write tcp://127.0.0.1:36421' emulate --connect 127.0.0.1:36421
mistake '"46001" has no address.*127.0.0.1:46001' ric --http 46001
mistake '"10.3.0.2" has no port.*10.3.0.2:8080' load upf --n4 10.3.0.2
mistake 'has a scheme.*127.0.0.1:8080' ric --http http://127.0.0.1:8080
mistake 'has a host name.*127.0.0.1:8805' check upf upf.lab:8805
mistake 'expected none, .*udp://|none, udp://LOCAL,UPF' load upf --n6 10.3.0.1
mistake 'required arguments.*example: ranlab' bench run
mistake 'is not an IP|invalid IP' load upf --ue ue1
mistake 'did you mean `kpm`' xapp monitor --sm kmp
mistake 'write --n4 10.3.0.2:8805' load upf 10.3.0.2:8805
mistake 'write --connect tcp://10.3.0.2:36421' emulate tcp://10.3.0.2:36421
mistake 'write the address without a flag' check upf --n4 127.0.0.1:8805
mistake 'write tcp://10.46.0.2:PORT' emulate --connect 10.46.0.2
mistake '"http://" is not a transport; write tcp://' emulate --connect http://127.0.0.1:36421
mistake 'write `ranlab emulate --connect' load ric
mistake 'write `ranlab --version`' version
mistake 'ranlab bench new upf > my.toml' bench run upf
mistake 'did you mean "upf"' bench new upff
mistake '^ranlab: nothing.toml: cannot be read' bench run nothing.toml
mistake 'nr:PRBS.*example: .*--radio' emulate --radio nr:100
mistake 'a --connect for each --listen' gateway

# Correct forms that earlier versions rejected.
timeout 20 "$RANLAB" ric --e2 "unix://$PWD/a" --e42 "unix://$PWD/b" --http localhost:0 --duration 1s >out.txt
timeout 20 "$RANLAB" bench new e2-statistics >my.toml && "$RANLAB" bench check my.toml --set measure.duration=5m >out.txt

# Every help text fits 80 columns, in a pipe and for any value of COLUMNS.
"$RANLAB" man pages >out.txt
for page in $(cd pages && ls *.1 | sed 's/\.1$//; s/^ranlab-\?//'); do
    COLUMNS=200 "$RANLAB" ${page//-/ } --help >help.txt 2>/dev/null || continue
    wide=$(awk 'length($0) > 80' help.txt | head -n 1)
    [[ -z $wide ]] || { echo "ranlab ${page//-/ } --help has a line of more than 80 columns: $wide"; exit 1; }
done

# Shell completions contain the values of closed sets.
"$RANLAB" completions bash >completions.bash
cat >complete.sh <<'C'
. ./completions.bash
# complete WORDS...: prints the completions of the last word.
complete_words() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _ranlab ranlab "${*: -1}" "${*: -2:1}"; echo "${COMPREPLY[*]}"; }
[[ $(complete_words ranlab load upf --mode '') == *calibrate* ]] || { echo "the completion offers no modes: $(complete_words ranlab load upf --mode '')"; exit 1; }
[[ $(complete_words ranlab emulate --kind '') == *split* ]] || { echo "the completion offers no kinds"; exit 1; }
[[ $(complete_words ranlab emulate --sm '') == *kpm* ]] || { echo "the completion offers no service models"; exit 1; }
C
bash complete.sh
"$RANLAB" --version | grep -qE '^ranlab [0-9]+\.[0-9]+\.[0-9]+( \([0-9a-f]{10}\))?$' || { "$RANLAB" --version; exit 1; }
echo "$number mistakes, each answered with the correct form"
