#!/usr/bin/env bash
# Runs RIC, UPF, load generator and campaign engine under faults for SOAK_HOURS (default 0.1; a release needs 24).
exec "$(dirname "$(readlink -f "$0")")/hours.py" "$RANLAB" "${SOAK_HOURS:-0.1}"
