# What all that is run in a throw-away root is made of.
set -u

at=begin
step() { at="$*"; echo "== $at"; }
fail() {
    echo "FAILED at: $at: $*"
    systemctl status devgate --no-pager -l
    journalctl -u devgate -o cat --no-pager -n 40
    exit 1
}
ok() { "$@" || fail "$*"; }
refused() { "$@" && fail "should not have succeeded: $*"; return 0; }
# Waits for what takes its time, on a busy machine as well.
soon() {
    tries=0
    until sh -c "$1"; do
        tries=$((tries + 1))
        [ "$tries" -lt 240 ] || fail "did not come: $1"
        sleep 0.5
    done
}
says() { soon "devgate status | grep -q '$1'"; }
install() { DEBIAN_FRONTEND=noninteractive ok dpkg "$@"; }
pid() { systemctl show -p MainPID --value devgate; }
figure() { echo "figure: $*"; }
