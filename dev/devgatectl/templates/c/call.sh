#!/bin/sh
# What the component answers on the recorded node, by the policy: one of its functions at a time.
set -eu
cd "$(dirname "$0")/.."
devgatectl=${DEVGATECTL:-devgatectl}
recorded=nodes/widget.umockdev
changed=$(mktemp -d)
trap 'rm -r "$changed"' EXIT

# What `devgatectl call` says: of which node, and with which words.
call() {
	node=$1
	shift
	"$devgatectl" call widget.wasm "$@" --policy policy.yaml --node-root "$node" --output json
}

# How often a text stands in what a call says, and how often it must.
expect() {
	said=$(cat)
	found=$(echo "$said" | grep -c "$2" || true)
	test "$found" = "$1" || { echo "$2: $found times, not $1, in:" "$said" >&2; exit 1; }
}

call "$recorded" health | expect 3 '"verdict": "healthy"'
# The node, where one card says something else.
sed '0,/A: status=ok/s//A: status=hot/' "$recorded" > "$changed/hot.umockdev"
call "$changed/hot.umockdev" health | expect 1 '"verdict": "unhealthy"'
unit=$(call "$recorded" enumerate | sed -n 's/.*"id": "\(.*\)".*/\1/p' | head -n 1)
call "$recorded" allocate "$unit" | expect 1 '"WIDGET_MODE": "safe"'
