#!/usr/bin/env bash
# Tests `pcap` with recorded traffic and every test vector: all messages are named, decoded, and encoded to the same bytes.
set -euo pipefail
vectors=$(cd "$(dirname "$0")/../../crates/e2/codec/tests/vectors" && pwd)
"$RANLAB" pcap decode --verify "$vectors/flexric_e2_e42_sctp.pcap" | tail -n 20
"$RANLAB" pcap decode --verify "$vectors"/*.bin >/dev/null
"$RANLAB" pcap decode --verify --e2ap 1.01 "$vectors"/e2ap/v1_01/*.bin >/dev/null
"$RANLAB" pcap decode --verify --e2ap 2.03 "$vectors"/e2ap/v2_03/*.bin >/dev/null
"$RANLAB" pcap decode --verify --e2ap 3.01 "$vectors"/e2ap/v3_01/*.bin >/dev/null
