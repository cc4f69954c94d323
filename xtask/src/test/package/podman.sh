#!/bin/sh
# Run by systemd in a throw-away root with podman: containers of root and of another user, with devices that are leased from the service.
. /journey/steps.sh

fuse='devgate.devgate.dev/fuse'
loop='devgate.devgate.dev/loop'
# A device that a container opens is one that it was given: one that is only there its cgroup refuses.
opens='for d in /dev/fuse /dev/loop[0-9]; do { test -c $d || test -b $d; } && busybox ls -ln $d && exec 3<$d && echo opened $d; done'
# An image of nothing but busybox.
image() { podman import --quiet /tmp/image.tar localhost/busybox >/dev/null; }
run() { podman run --rm --network=none "$@" 2>&1; }
# As somebody who has no rights.
joe() { runuser -u joe -- env HOME=/home/joe XDG_RUNTIME_DIR=/run/user/1000 "$@" 2>&1; }
joe_runs() { (cd / && joe podman run --rm --network=none "$@"); }
lease() { soon "devgate cdi lease devgate.dev/$1 --for $2 >/tmp/name 2>/tmp/why"; cat /tmp/name; }

step "$(podman --version), $(crun --version | head -1), systemd $(systemctl --version | sed -n 's/^systemd \([0-9]*\).*/\1/p')"
# This root's are its own, and not bound to what they are on the machine.
for node in 'fuse c 10 229' 'loop4 b 7 4' 'loop5 b 7 5' 'loop6 b 7 6' 'loop7 b 7 7'; do
    ok mknod -m 666 /dev/$node
done
mkdir -p /tmp/image/bin
cp /usr/bin/busybox /tmp/image/bin/
ln -s busybox /tmp/image/bin/sh
tar -C /tmp/image -cf /tmp/image.tar .
# The machine around may have cgroups of version 1, which leave no controller to this one's.
mkdir -p /etc/containers/containers.conf.d
printf '[containers]\npids_limit = 0\n' >/etc/containers/containers.conf.d/test.conf
ok image

step "installed as docs/cdi.md says"
install -i /journey/old.deb
cp /journey/podman.yaml /etc/devgate/policy.d/
echo 'DEVGATE_OPTIONS=--no-kubelet' >>/etc/default/devgate
mkdir -p /etc/systemd/system/devgate.service.d
cp /usr/share/doc/devgate/examples/lease.conf /etc/systemd/system/devgate.service.d/
systemctl daemon-reload
ok systemctl restart devgate

step "a container has what is leased, and nothing else"
ok test "$(lease fuse a)" = $fuse=a
ok test "$(lease loop b)" = $loop=b
run --device $fuse=a localhost/busybox sh -c "$opens" >/tmp/said
ok test "$(grep opened /tmp/said)" = 'opened /dev/fuse'
run --device $fuse=a --device $loop=b localhost/busybox sh -c "$opens" >/tmp/said
ok test "$(grep -c opened /tmp/said)" = 2

step "a container of another user has its node"
run --user 1234:1234 --device $fuse=a localhost/busybox sh -c "$opens" >/tmp/said
ok grep -qx 'opened /dev/fuse' /tmp/said
ok grep -q ' 1234 *1234 ' /tmp/said

step "rootless: the node is the machine's, for whom that lets in"
useradd --create-home --uid 1000 joe
ok loginctl enable-linger joe
soon 'test -S /run/user/1000/bus'
cd /
joe podman import --quiet /tmp/image.tar localhost/busybox >/dev/null || fail "no image of joe's"
joe_runs --device $fuse=a --device $loop=b localhost/busybox sh -c "$opens" >/tmp/said
ok test "$(grep -c opened /tmp/said)" = 2
joe_runs --user 1234:1234 --device $fuse=a localhost/busybox sh -c "$opens" >/tmp/said
ok grep -qx 'opened /dev/fuse' /tmp/said
chmod 600 /dev/fuse
joe_runs --device $fuse=a localhost/busybox sh -c "$opens" >/tmp/said
ok grep -q 'Permission denied' /tmp/said
refused joe devgate cdi lease devgate.dev/fuse --for mine >/tmp/said

step "released, it is nobody's"
ok devgate cdi release a
ok devgate cdi release b
run --device $fuse=a localhost/busybox sh >/tmp/said
ok grep -q "unresolvable CDI devices $fuse=a" /tmp/said
joe_runs --device $fuse=a localhost/busybox sh >/tmp/said
ok grep -q "unresolvable CDI devices $fuse=a" /tmp/said

step "a quadlet leases before its container is there, and releases after it"
mkdir -p /etc/containers/systemd/job1.container.d
cp /usr/share/doc/devgate/examples/job1.container /etc/containers/systemd/
cat >/etc/containers/systemd/job1.container.d/test.conf <<END
[Container]
Image=localhost/busybox
Network=none
Exec=sh -c '$(echo "$opens" | sed 's/\$/$$/g'); trap "exit 0" TERM; while true; do busybox sleep 0.1; done'
END
systemctl daemon-reload
ok systemd-analyze verify --man=no /run/systemd/generator/job1.service
started=$(date +%s%N)
systemctl start job1 || { journalctl -u job1 -o cat --no-pager; fail "job1"; }
figure "quadlet, start until it runs, ms: $((($(date +%s%N) - started) / 1000000))"
soon 'journalctl -u job1 -o cat --no-pager | grep -qx "opened /dev/fuse"'
devgate cdi leases >/tmp/said
ok grep -q "^job1 .* $fuse=job1\$" /tmp/said
refused devgate cdi lease devgate.dev/fuse --for other
ok systemctl stop job1
ok test "$(systemctl show -p Result --value job1)" = success
ok test "$(devgate cdi leases)" = 'there are no leases'

step "one whose device somebody has does not start, and says why"
lease fuse other >/dev/null
refused systemctl start job1
journalctl -u job1 -o cat --no-pager -n 30 >/tmp/said
ok grep -q '1 asked for, 0 of 1 can be had; .*lease other' /tmp/said
ok devgate cdi release other
ok systemctl start job1

step "one that is killed, and a service that is started again"
systemctl kill --signal=KILL --kill-whom=all job1
soon 'test "$(devgate cdi leases)" = "there are no leases"'
systemctl reset-failed job1
ok systemctl start job1
ok systemctl restart devgate
soon 'devgate cdi leases | grep -q ^job1'
ok systemctl stop job1
ok test "$(devgate cdi leases)" = 'there are no leases'

step "where the policy asks for it a lease ends with its container"
sed '/loops:/a\    containers: {release-hook: true}' /journey/podman.yaml >/etc/devgate/policy.d/podman.yaml
ok systemctl reload devgate
lease loop b >/dev/null
run --device $loop=b localhost/busybox sh -c "$opens" >/tmp/said
ok grep -q '^opened /dev/loop' /tmp/said
soon 'test "$(devgate cdi leases)" = "there are no leases"'

echo "JOURNEY COMPLETE"
