#!/bin/sh
# Run by systemd in a throw-away root: a package's whole life, from installation to purge. /journey has old.deb and new.deb.
. /journey/steps.sh

# As who has taken over a process of uid 0 without capabilities; `inside` the service also with what it sees of the machine.
bare() { setpriv --bounding-set=-all --inh-caps=-all --no-new-privs "$@"; }
inside() { nsenter --mount --net --target "$(pid)" setpriv --bounding-set=-all --inh-caps=-all --no-new-privs "$@"; }

step "there is nothing of devgate yet"
find / -xdev -name '*devgate*' ! -path '/journey/*' ! -path '/proc/*' | sort >/tmp/before
ok test ! -s /tmp/before

step "installed, it runs, is enabled, and offers nothing"
install -i /journey/old.deb
ok systemctl is-enabled devgate
ok systemctl is-active devgate
says '^all is well: the policy has no plugin, so nothing is served'
systemctl show -p StatusText --value devgate | grep -q '^all is well: the policy has no plugin' || fail "the service manager was not told"

step "what of the sandbox is in force"
for line in 'CapBnd:	0000000000000000' 'CapEff:	0000000000000000' 'NoNewPrivs:	1' 'Seccomp:	2'; do
    ok grep -q "^$line" "/proc/$(pid)/status"
done
for directory in / /etc /usr /run /home /var/lib /var/lib/kubelet /sys /sys/devices /sys/fs/cgroup /proc/sys; do
    refused inside test -w "$directory"
done
for directory in /var/lib/devgate /run/devgate /var/lib/kubelet/device-plugins; do
    ok inside test -w "$directory"
done
for late in /mnt/late /run/late /var/lib/late; do
    mkdir -p $late && mount -t tmpfs late $late
    ok inside grep -q " $late " /proc/1/mountinfo # else disks in use would be offered
    umount $late && rmdir $late
done

step "the unit is as systemd wants it, and its sandbox as tight as it was"
ok systemd-analyze verify --man=no devgate.service
ok systemd-analyze security --no-pager --threshold=20 devgate.service >/tmp/security
figure "$(tail -1 /tmp/security | tr -cd ' -~')"

step "what comes with it is whole: each policy names components that are here"
for policy in /usr/share/devgate/policies/*.yaml; do
    devgate check --policy "$policy" --components /usr/share/devgate/components >/tmp/check
    case $? in 0 | 5) ;; *) cat /tmp/check; fail "$policy" ;; esac
    refused grep -E 'there is no such file|imports|exports' /tmp/check
done

step "a policy is taken without a restart, and a pod's device is known"
systemctl stop devgate
cp /journey/handed-out.json /var/lib/devgate/
cp /journey/zero.yaml /etc/devgate/policy.d/
started=$(date +%s%N)
ok systemctl start devgate
figure "start until ready, ms: $((($(date +%s%N) - started) / 1000000))"
says 'devgate.dev/zero  1 device, 0 unhealthy, 1 handed out'
ok systemctl reload devgate

step "a kubelet comes: the sockets of plugins are made"
ok systemctl start kubelet-for-tests.socket
soon 'ls /var/lib/kubelet/device-plugins | grep -q devgate'
figure "resident memory, $(grep VmRSS "/proc/$(pid)/status" | tr -s '\t ' ' ')"

step "of all sockets of the node, those can be reached from the service that it needs, and no other"
planted='/run/planted.sock /var/lib/planted/x.sock /var/planted.sock /srv/planted.sock /opt/planted.sock /mnt/planted.sock /planted.sock
    /dev/shm/planted.sock /tmp/planted.sock /var/tmp/planted.sock /root/planted.sock /home/planted.sock'
mkdir -p /var/lib/planted
cat >/usr/local/bin/knock <<'END'
#!/usr/bin/perl
# Whether there is a socket, of whatever kind, that may be connected to. `@` begins the name of one without a file.
use Errno; use Socket;
my $name = shift; my $abstract = $name =~ s/^@/\0/;
socket(my $socket, PF_UNIX, SOCK_STREAM, 0) or die;
exit 0 if connect($socket, pack_sockaddr_un($name));
exit($abstract || $!{ENOENT} || $!{ENOTDIR} || $!{EACCES} ? 1 : 0);
END
cat >/usr/local/bin/plant <<'END'
#!/usr/bin/perl
# Listens on sockets until it is ended, and says when it does.
use Socket;
my @all;
for my $name (@ARGV) {
    $name =~ s/^@/\0/;
    socket(my $socket, PF_UNIX, SOCK_STREAM, 0) or die;
    bind($socket, pack_sockaddr_un($name)) && listen($socket, 9) or die "$name: $!";
    push @all, $socket;
}
open(my $said, ">", "/tmp/planted"); close $said; sleep 900;
END
chmod 755 /usr/local/bin/knock /usr/local/bin/plant
needed='/var/lib/kubelet/device-plugins/needed.sock /var/lib/kubelet/pod-resources/needed.sock'
plant $planted $needed @planted &
planter=$!
soon 'test -e /tmp/planted'
for socket in $planted $needed @planted /run/systemd/private; do
    ok bare /usr/local/bin/knock $socket
done
find / -path /proc -prune -o -path /sys -prune -o -type s -print >/tmp/sockets
ok grep -q '^/run/systemd/private$' /tmp/sockets
while read -r socket; do
    case $socket in
    /run/systemd/notify | /run/devgate/* | /var/lib/devgate/host.sock | /var/lib/kubelet/device-plugins/* | /var/lib/kubelet/pod-resources/*) ;;
    *) refused inside /usr/local/bin/knock "$socket" ;;
    esac
done </tmp/sockets
for socket in $needed /run/systemd/notify; do
    ok inside /usr/local/bin/knock "$socket"
done
figure "sockets of the node: $(wc -l </tmp/sockets)"
# What has no file is of the network that the service shares with the machine.
ok inside /usr/local/bin/knock @planted
mkdir -p /etc/systemd/system/devgate.service.d
cp /usr/share/doc/devgate/examples/private-network.conf /etc/systemd/system/devgate.service.d/
systemctl daemon-reload
ok systemctl restart devgate
refused inside /usr/local/bin/knock @planted
rm -r /etc/systemd/system/devgate.service.d
systemctl daemon-reload
ok systemctl restart devgate
says '1 handed out'
kill $planter
rm -rf /usr/local/bin/knock /usr/local/bin/plant $planted $needed /var/lib/planted /tmp/planted /tmp/sockets

step "a policy with a mistake is refused, and the old one goes on"
before=$(pid)
echo 'plugins: [' >/etc/devgate/policy.d/wrong.yaml
refused systemctl reload devgate
ok test "$(pid)" = "$before"
says 'devgate.dev/zero  1 device'
refused systemctl restart devgate
ok test "$(systemctl show -p ExecMainStatus --value devgate)" = 3
sleep 6
ok test "$(systemctl show -p NRestarts --value devgate)" = 0
rm /etc/devgate/policy.d/wrong.yaml
ok systemctl start devgate

step "killed, it comes back, and knows what it handed out"
before=$(pid)
kill -KILL "$before"
soon "systemctl is-active -q devgate && test \"\$(systemctl show -p MainPID --value devgate)\" != $before"
says '1 handed out'

step "stopped, it is not started again, and is not there"
ok systemctl stop devgate
ok test "$(systemctl show -p Result --value devgate)" = success
refused devgate status
ok systemctl start devgate

step "another version: settings that were changed stay, what was handed out stays, the new one runs"
echo '# An admin was here.' >>/etc/default/devgate
ok grep -q 'From the newer package' /journey/new.default
before=$(pid)
install -i --force-confold /journey/new.deb
ok grep -q 'An admin was here' /etc/default/devgate
ok grep -q 'From the newer package' /etc/default/devgate.dpkg-dist
ok test "$(pid)" != "$before"
says '1 handed out'
ok test "$(dpkg-query -f '${Version}' -W devgate)" = "$(cat /journey/new.version)"

step "back to the version before"
install -i --force-downgrade --force-confold /journey/old.deb
says '1 handed out'

step "drop-ins give what they say, and no more"
drop=/etc/systemd/system/devgate.service.d
mkdir -p $drop /run/k8s.cni.cncf.io/devinfo/dp /run/cdi /var/lib/k0s/kubelet/pod-resources
cp /usr/share/doc/devgate/examples/*.conf $drop/
rm $drop/lease.conf
systemctl daemon-reload
ok systemctl restart devgate
# CAP_SYSLOG alone.
ok grep -q '^CapBnd:	0000000400000000' "/proc/$(pid)/status"
features=/etc/kubernetes/node-feature-discovery/features.d
for directory in /var/run/k8s.cni.cncf.io/devinfo/dp $features; do
    ok inside test -w "$directory"
done
for directory in /run/cdi /var/run/cdi /var/lib/k0s/kubelet/pod-resources; do
    ok inside test -d "$directory"
done
for directory in /etc /run /run/cdi /var/run /var/lib/k0s /var/lib/k0s/kubelet/pod-resources /sys /sys/fs/cgroup; do
    refused inside test -w "$directory"
done
rm -r $drop /etc/kubernetes
systemctl daemon-reload
ok systemctl restart devgate
says '1 handed out'

step "a machine without a kubelet leases devices, and has them back when it starts"
mkdir -p $drop
cp /usr/share/doc/devgate/examples/lease.conf $drop/
cp /etc/default/devgate /tmp/default
echo 'DEVGATE_OPTIONS=--no-kubelet' >>/etc/default/devgate
sed 's/zero/full/g' /etc/devgate/policy.d/zero.yaml >/etc/devgate/policy.d/full.yaml
systemctl daemon-reload
ok systemctl restart devgate
soon 'devgate cdi lease devgate.dev/full --for job1 >/tmp/name'
ok grep -qx 'devgate.devgate.dev/full=job1' /tmp/name
refused devgate cdi lease devgate.dev/zero --for job2 # a pod has it
file=/run/cdi/devgate-devgate.dev_full=job1.json
cp $file /tmp/file
ok test "$(stat -c %a /run/cdi)" = 755
ok test "$(stat -c %a $file)" = 644
systemctl stop devgate
rm -rf /run/cdi # as a boot does
ok systemd-tmpfiles --create /usr/lib/tmpfiles.d/devgate.conf
ok systemctl start devgate
ok cmp $file /tmp/file # started is started with the files of leases
ok inside test -w /var/run/cdi
refused inside test -w /run
devgate cdi check
ok devgate cdi release job1
refused test -e $file
rm -r $drop /etc/devgate/policy.d/full.yaml /tmp/file /tmp/name
mv /tmp/default /etc/default/devgate
systemctl daemon-reload
ok systemctl restart devgate
says '1 handed out'

step "off on purpose stays off"
ok systemctl disable --now devgate
install -i --force-confold /journey/new.deb
refused systemctl is-enabled devgate
ok systemctl enable --now devgate
says '1 handed out'

step "removed: nothing runs, no socket is left, state and settings stay"
install -r devgate
refused systemctl is-active devgate
ok test ! -e /run/devgate
refused sh -c 'ls /var/lib/kubelet/device-plugins | grep -q devgate'
ok test -s /var/lib/devgate/handed-out.json
ok test -f /etc/default/devgate

step "installed again: what was handed out is known"
install -i --force-confold /journey/new.deb
says '1 handed out'

step "purged while a pod has a device: it is not forgotten"
systemctl stop kubelet-for-tests.socket
record=/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint
echo '{"Data":{"PodDeviceEntries":[{"PodUID":"p","ContainerName":"c","ResourceName":"devgate.dev/zero","DeviceIDs":{"-1":["zero"]}}]}}' >$record
ok dpkg -P devgate
ok test -s /var/lib/devgate/handed-out.json
ok test -s $record
rm $record
install -i /journey/new.deb
says '1 handed out'

step "purged: nothing is left but what the admin wrote"
install -r devgate
rm /etc/devgate/policy.d/zero.yaml
systemctl stop kubelet-for-tests.socket
rm -f /var/lib/kubelet/device-plugins/kubelet.sock
install -P devgate
rm -f /tmp/before
find / -xdev -name '*devgate*' ! -path '/journey/*' ! -path '/proc/*' ! -path '/var/log/*' | sort >/tmp/after
ok test ! -s /tmp/after
ok test ! -e /var/lib/kubelet
ok test -z "$(systemctl --failed --no-legend)"

echo "JOURNEY COMPLETE"
