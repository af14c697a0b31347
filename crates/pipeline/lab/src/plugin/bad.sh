#!/bin/sh
# Plug-ins that misbehave, by the name under which this is called.
greet() { read -r _; echo '{"id":1,"ok":true,"version":1,"features":["replay"]}'; }
case $(basename "$0") in
silent) exec sleep 60 ;;
dies) echo "no licence" >&2; exit 3 ;;
nonsense) read -r _; echo 'hello there'; exec sleep 60 ;;
number) read -r _; echo '{"id":7,"ok":true,"version":1}'; exec sleep 60 ;;
old) read -r _; echo '{"id":1,"ok":true,"version":0}'; exec sleep 60 ;;
neither) read -r _; echo '{"id":1,"version":1}'; exec sleep 60 ;;
endless) read -r _; exec tr '\0' x </dev/zero ;;
floods) greet; exec yes '{"id":9,"ok":true}' ;;
complains) yes 'there is a problem' >&2 & greet; read -r _; echo '{"id":2,"ok":false,"error":"I have no such switch"}'; wait ;;
leaves) greet; read -r _; exit 0 ;;
counts) greet; read -r _; echo '{"id":2,"ok":true}'; read -r _; echo '{"id":3,"ok":true,"received":-1}'; exec sleep 60 ;;
rateless) greet; read -r _; echo '{"id":2,"ok":true}'; exec sleep 60 ;;
sleepy) greet; read -r _; echo '{"id":2,"ok":true,"rate_max":1000}'; read -r _; echo '{"id":3,"ok":true}'
    n=4; while read -r _; do echo "{\"id\":$n,\"ok\":true,\"over\":false}"; n=$((n + 1)); done ;;
boasts) greet; read -r _; echo '{"id":2,"ok":true,"rate_max":1000}'; read -r _; echo '{"id":3,"ok":true}'
    read -r _; echo '{"id":4,"ok":true,"due":5,"sent":5,"received":6,"took_ns":1}'; exec sleep 60 ;;
esac
