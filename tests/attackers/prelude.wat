;; Functions that attackers share. One that an attacker names comes into its component, with what that names; one that
;; it has itself is its own instead. What is not named is not imported, so that a policy need not grant it.
;;
;; Memory: 0 to 4,095 is the attacker's own (an answer of the host may go to 128, `$ret`), but for 16 to 63, where
;; answers are left, and 512 to 575, where numbers are written. Then there is room for what answers are made of. Texts
;; (`@s`) are from 2 MiB on, and what the host passes in is behind them.

;; ---- what the contract has

(import "devgate:plugin/log@0.1.0" "write" (func $log (param i32 i32 i32)))
(import "devgate:plugin/config@0.1.0" "json" (func $config (param i32)))
(import "devgate:plugin/hardware@0.1.0" "devices" (func $devices (param i32 i32 i32)))
(import "devgate:plugin/hardware@0.1.0" "device-by-name" (func $device_by_name (param i32 i32 i32 i32 i32)))
(import "devgate:plugin/control@0.1.0" "write" (func $control (param i32 i32 i32 i32 i32 i32)))
(import "devgate:plugin/host-paths@0.1.0" "node-at" (func $node_at (param i32 i32 i32)))
(import "devgate:plugin/host-paths@0.1.0" "mount" (func $mount (param i32 i32 i32)))
(import "devgate:plugin/files@0.1.0" "text" (func $file_text (param i32 i32 i32)))
(import "devgate:plugin/files@0.1.0" "read" (func $file_read (param i32 i32 i64 i32 i32)))
(import "devgate:plugin/files@0.1.0" "entries" (func $file_entries (param i32 i32 i32)))
(import "devgate:plugin/kernel-log@0.1.0" "since" (func $kernel_log (param i32 i32 i32 i32)))
(import "devgate:plugin/state@0.1.0" "load" (func $load (param i32)))
(import "devgate:plugin/state@0.1.0" "store" (func $store (param i32 i32 i32)))
(import "devgate:plugin/types@0.1.0" "[method]device.duplicate" (func $duplicate (param i32) (result i32)))
(import "devgate:plugin/types@0.1.0" "[method]device.name" (func $device_name (param i32 i32)))
(import "devgate:plugin/types@0.1.0" "[method]device.subsystem" (func $device_subsystem (param i32 i32)))
(import "devgate:plugin/types@0.1.0" "[method]device.driver" (func $device_driver (param i32 i32)))
(import "devgate:plugin/types@0.1.0" "[method]device.location" (func $device_location (param i32 i32)))
(import "devgate:plugin/types@0.1.0" "[method]device.numa-node" (func $device_numa (param i32 i32)))
(import "devgate:plugin/types@0.1.0" "[method]device.attribute" (func $attribute (param i32 i32 i32 i32)))
(import "devgate:plugin/types@0.1.0" "[method]device.attributes" (func $attributes (param i32 i32 i32 i32)))
(import "devgate:plugin/types@0.1.0" "[method]device.attribute-bytes"
    (func $attribute_bytes (param i32 i32 i32 i64 i32 i32)))
(import "devgate:plugin/types@0.1.0" "[method]device.entries" (func $device_entries (param i32 i32 i32 i32)))
(import "devgate:plugin/types@0.1.0" "[method]device.link" (func $link (param i32 i32 i32 i32)))
(import "devgate:plugin/types@0.1.0" "[method]device.related" (func $related (param i32 i32 i32 i32)))
(import "devgate:plugin/types@0.1.0" "[method]device.parent" (func $parent (param i32 i32)))
(import "devgate:plugin/types@0.1.0" "[method]device.children" (func $children (param i32 i32 i32 i32)))
(import "devgate:plugin/types@0.1.0" "[method]device.nodes" (func $nodes (param i32 i32)))
(import "devgate:plugin/types@0.1.0" "[resource-drop]device" (func $drop_device (param i32)))
(import "devgate:plugin/types@0.1.0" "[method]node.path" (func $node_path (param i32 i32)))
(import "devgate:plugin/types@0.1.0" "[method]node.kind" (func $node_kind (param i32) (result i32)))
(import "devgate:plugin/types@0.1.0" "[method]node.number" (func $node_number (param i32 i32)))
(import "devgate:plugin/types@0.1.0" "[method]node.owner" (func $node_owner (param i32 i32)))
(import "devgate:plugin/types@0.1.0" "[resource-drop]node" (func $drop_node (param i32)))
(import "devgate:plugin/types@0.1.0" "[method]mount-source.path" (func $mount_path (param i32 i32)))
(import "devgate:plugin/types@0.1.0" "[method]mount-source.writable" (func $mount_writable (param i32) (result i32)))
(import "devgate:plugin/types@0.1.0" "[resource-drop]mount-source" (func $drop_mount (param i32)))

;; ---- what WASI has

(import "wasi:clocks/monotonic-clock@0.2.6" "now" (func $now (result i64)))
(import "wasi:clocks/monotonic-clock@0.2.6" "resolution" (func $resolution (result i64)))
(import "wasi:clocks/monotonic-clock@0.2.6" "subscribe-duration" (func $after (param i64) (result i32)))
(import "wasi:clocks/wall-clock@0.2.6" "now" (func $today (param i32)))
(import "wasi:io/poll@0.2.6" "[method]pollable.block" (func $block (param i32)))
(import "wasi:io/poll@0.2.6" "poll" (func $poll (param i32 i32 i32)))
(import "wasi:io/poll@0.2.6" "[resource-drop]pollable" (func $drop_pollable (param i32)))
(import "wasi:random/random@0.2.6" "get-random-bytes" (func $random_bytes (param i64 i32)))
(import "wasi:random/random@0.2.6" "get-random-u64" (func $random (result i64)))
(import "wasi:cli/stdin@0.2.6" "get-stdin" (func $stdin (result i32)))
(import "wasi:cli/stdout@0.2.6" "get-stdout" (func $stdout (result i32)))
(import "wasi:cli/stderr@0.2.6" "get-stderr" (func $stderr (result i32)))
(import "wasi:cli/exit@0.2.6" "exit" (func $exit (param i32)))
(import "wasi:cli/environment@0.2.6" "get-environment" (func $environment (param i32)))
(import "wasi:cli/environment@0.2.6" "get-arguments" (func $arguments (param i32)))
(import "wasi:filesystem/preopens@0.2.6" "get-directories" (func $directories (param i32)))
(import "wasi:io/streams@0.2.6" "[method]output-stream.blocking-write-and-flush"
    (func $print (param i32 i32 i32 i32)))
(import "wasi:io/streams@0.2.6" "[method]output-stream.check-write" (func $check_write (param i32 i32)))
(import "wasi:io/streams@0.2.6" "[method]output-stream.write" (func $write_some (param i32 i32 i32 i32)))
(import "wasi:io/streams@0.2.6" "[method]input-stream.blocking-read" (func $read_some (param i32 i64 i32)))
(import "wasi:io/streams@0.2.6" "[method]output-stream.subscribe" (func $writable (param i32) (result i32)))
(import "wasi:io/streams@0.2.6" "[resource-drop]output-stream" (func $drop_output (param i32)))

;; ---- memory

(memory $memory (export "memory") @pages)
(global $free (mut i32) (i32.const @free))
(global $ret i32 (i32.const 128))

;; What is passed in is put at the end of all, and memory grows for it.
(func $realloc (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
    (local $at i32)
    (local.set $at (i32.and (i32.add (global.get $free) (i32.const 7)) (i32.const -8)))
    (global.set $free (i32.add (local.get $at) (local.get 3)))
    (block $fits
        (loop $more
            (br_if $fits (i32.le_u (global.get $free) (i32.mul (memory.size) (i32.const 65536))))
            (br_if $more (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
        (unreachable))
    (local.get $at))

;; ---- what an attacker does by default: one unit without hardware, that has the attacker's name; all is well; nothing is added

(func $enumerate (result i32) (call $one))
(func $health (param i32 i32 i32 i32) (result i32) (call $healthy (local.get 3)))
(func $allocate (param i32 i32 i32 i32) (result i32) (call $edits))
(func $choose (param i32 i32 i32 i32 i32 i32 i32) (result i32) (call $fail (i32.const 7) @s("no choice")))
(func $prepare (param i32 i32 i32 i32) (result i32) (call $done))
(func $release (param i32 i32 i32 i32) (result i32) (call $done))

;; ---- answers

(global $pools_count (mut i32) (i32.const 0))
(global $units_count (mut i32) (i32.const 0))
(global $properties_count (mut i32) (i32.const 0))
(global $backing_count (mut i32) (i32.const 0))
(global $nodes_count (mut i32) (i32.const 0))
(global $annotations_count (mut i32) (i32.const 0))
(global $cdi_count (mut i32) (i32.const 0))
(global $mounts_count (mut i32) (i32.const 0))
(global $verdicts_count (mut i32) (i32.const 0))
;; The pool or unit that was begun last.
(global $owner (mut i32) (i32.const 0))
(global $pool_at (mut i32) (i32.const 0))

(func $raise (param $at i32)
    (i32.store (local.get $at) (i32.add (i32.load (local.get $at)) (i32.const 1))))

(func $begin (param $at i32) (param $text i32) (param $length i32)
    (i32.store (local.get $at) (local.get $text))
    (i32.store offset=4 (local.get $at) (local.get $length))
    (i32.store offset=16 (local.get $at) (i32.add (i32.const 0x10d000) (i32.mul (global.get $nodes_count) (i32.const 4))))
    (i32.store offset=24 (local.get $at)
        (i32.add (i32.const 0xaa000) (i32.mul (global.get $properties_count) (i32.const 16))))
    (global.set $owner (local.get $at)))

;; Begins a pool: the resource's name. At most 4,608.
(func $pool (param $text i32) (param $length i32)
    (global.set $pool_at (i32.add (i32.const 0x1000) (i32.mul (global.get $pools_count) (i32.const 32))))
    (global.set $pools_count (i32.add (global.get $pools_count) (i32.const 1)))
    (call $begin (global.get $pool_at) (local.get $text) (local.get $length))
    (i32.store offset=8 (global.get $pool_at)
        (i32.add (i32.const 0x25000) (i32.mul (global.get $units_count) (i32.const 32)))))

;; Begins a unit of the last pool: its id. At most 17,024.
(func $unit (param $text i32) (param $length i32)
    (local $at i32)
    (local.set $at (i32.add (i32.const 0x25000) (i32.mul (global.get $units_count) (i32.const 32))))
    (global.set $units_count (i32.add (global.get $units_count) (i32.const 1)))
    (call $raise (i32.add (global.get $pool_at) (i32.const 12)))
    (call $begin (local.get $at) (local.get $text) (local.get $length))
    (i32.store offset=8 (local.get $at)
        (i32.add (i32.const 0xed000) (i32.mul (global.get $backing_count) (i32.const 4)))))

;; A property of the last pool or unit: name and value. At most 17,152.
(func $property (param i32 i32 i32 i32)
    (call $pair (i32.add (i32.const 0xaa000) (i32.mul (global.get $properties_count) (i32.const 16)))
        (local.get 0) (local.get 1) (local.get 2) (local.get 3))
    (global.set $properties_count (i32.add (global.get $properties_count) (i32.const 1)))
    (call $raise (i32.add (global.get $owner) (i32.const 28))))

(func $pair (param $at i32) (param i32 i32 i32 i32)
    (i32.store (local.get $at) (local.get 1))
    (i32.store offset=4 (local.get $at) (local.get 2))
    (i32.store offset=8 (local.get $at) (local.get 3))
    (i32.store offset=12 (local.get $at) (local.get 4)))

;; A device, by its handle, that the last unit is made of. At most 32,768, and so many nodes.
(func $backing (param $handle i32)
    (i32.store (i32.add (i32.const 0xed000) (i32.mul (global.get $backing_count) (i32.const 4))) (local.get $handle))
    (global.set $backing_count (i32.add (global.get $backing_count) (i32.const 1)))
    (call $raise (i32.add (global.get $owner) (i32.const 12))))

;; A node, by its handle, of the last unit, or shared by the last pool.
(func $node (param $handle i32)
    (i32.store (i32.add (i32.const 0x10d000) (i32.mul (global.get $nodes_count) (i32.const 4))) (local.get $handle))
    (global.set $nodes_count (i32.add (global.get $nodes_count) (i32.const 1)))
    (call $raise (i32.add (global.get $owner) (i32.const 20))))

;; The answer of `enumerate`: these pools.
(func $pools (result i32)
    (i32.store (i32.const 16) (i32.const 0))
    (i32.store (i32.const 20) (i32.const 0x1000))
    (i32.store (i32.const 24) (global.get $pools_count))
    (i32.const 16))

;; One pool with one unit, of the attacker's own names.
(func $one (result i32) (call $pool @s("@resource")) (call $unit @s("@name")) (call $pools))

;; The answer of `health`: so many units are healthy. At most 17,408.
(func $healthy (param $count i32) (result i32)
    (global.set $verdicts_count (local.get $count))
    (call $verdicts))

;; A verdict for the next unit: 1 unhealthy, 2 unknown, and why.
(func $verdict (param $kind i32) (param $text i32) (param $length i32)
    (local $at i32)
    (local.set $at (i32.add (i32.const 0x1b2000) (i32.mul (global.get $verdicts_count) (i32.const 12))))
    (i32.store (local.get $at) (local.get $kind))
    (i32.store offset=4 (local.get $at) (local.get $text))
    (i32.store offset=8 (local.get $at) (local.get $length))
    (global.set $verdicts_count (i32.add (global.get $verdicts_count) (i32.const 1))))

(func $verdicts (result i32)
    (i32.store (i32.const 16) (i32.const 0))
    (i32.store (i32.const 20) (i32.const 0x1b2000))
    (i32.store (i32.const 24) (global.get $verdicts_count))
    (i32.const 16))

;; An environment variable of an allocation: name and value. At most 17,152, as of annotations.
(func $env (param i32 i32 i32 i32)
    (call $pair (i32.add (i32.const 0xaa000) (i32.mul (global.get $properties_count) (i32.const 16)))
        (local.get 0) (local.get 1) (local.get 2) (local.get 3))
    (global.set $properties_count (i32.add (global.get $properties_count) (i32.const 1))))

(func $annotation (param i32 i32 i32 i32)
    (call $pair (i32.add (i32.const 0x12d000) (i32.mul (global.get $annotations_count) (i32.const 16)))
        (local.get 0) (local.get 1) (local.get 2) (local.get 3))
    (global.set $annotations_count (i32.add (global.get $annotations_count) (i32.const 1))))

;; A CDI device of an allocation, or an id of a choice: a text. At most 17,408.
(func $cdi (param i32 i32)
    (local $at i32)
    (local.set $at (i32.add (i32.const 0x170000) (i32.mul (global.get $cdi_count) (i32.const 8))))
    (i32.store (local.get $at) (local.get 0))
    (i32.store offset=4 (local.get $at) (local.get 1))
    (global.set $cdi_count (i32.add (global.get $cdi_count) (i32.const 1))))

;; A mount of an allocation, by its handle.
(func $mounted (param $handle i32)
    (i32.store (i32.add (i32.const 0x192000) (i32.mul (global.get $mounts_count) (i32.const 4))) (local.get $handle))
    (global.set $mounts_count (i32.add (global.get $mounts_count) (i32.const 1))))

;; The answer of `allocate`: these.
(func $edits (result i32)
    (i32.store (i32.const 16) (i32.const 0))
    (i32.store (i32.const 20) (i32.const 0xaa000))
    (i32.store (i32.const 24) (global.get $properties_count))
    (i32.store (i32.const 28) (i32.const 0x192000))
    (i32.store (i32.const 32) (global.get $mounts_count))
    (i32.store (i32.const 36) (i32.const 0x12d000))
    (i32.store (i32.const 40) (global.get $annotations_count))
    (i32.store (i32.const 44) (i32.const 0x170000))
    (i32.store (i32.const 48) (global.get $cdi_count))
    (i32.store (i32.const 52) (i32.const 0))
    (i32.store (i32.const 56) (i32.const 0))
    (i32.const 16))

;; The answer of `choose`: the ids that `$cdi` was called with.
(func $chosen (result i32)
    (i32.store (i32.const 16) (i32.const 0))
    (i32.store (i32.const 20) (i32.const 0x170000))
    (i32.store (i32.const 24) (global.get $cdi_count))
    (i32.const 16))

;; The answer of `prepare` and `release`: done.
(func $done (result i32) (i32.store (i32.const 16) (i32.const 0)) (i32.const 16))

;; The answer of any call: it failed. Kinds: 0 denied, 1 not-found, 2 gone, 3 invalid, 4 io, 5 limit, 6 busy, 7 unsupported, 8 other.
(func $fail (param $kind i32) (param $text i32) (param $length i32) (result i32)
    (i32.store (i32.const 16) (i32.const 1))
    (i32.store (i32.const 20) (local.get $kind))
    (i32.store (i32.const 24) (i32.const 0))
    (i32.store (i32.const 28) (i32.const 0))
    (i32.store (i32.const 32) (local.get $text))
    (i32.store (i32.const 36) (local.get $length))
    (i32.const 16))

;; ---- what an attacker says

;; A line of the log.
(func $say (param i32 i32) (call $log (i32.const 1) (local.get 0) (local.get 1)))

;; That what it tried came true. No trial with its mechanism may see this line.
(func $win (call $log (i32.const 3) @s("@name has won")))

;; The message of the failure that the host left at `$at`, if it is one.
(func $told (param $at i32)
    (if (i32.load8_u (local.get $at))
        (then (call $say (i32.load offset=16 (local.get $at)) (i32.load offset=20 (local.get $at))))))

(global $next (mut i32) (i32.const 1))

;; That it came so far: a line whenever it is an eighth more than in the line before.
(func $reached (param $n i32)
    (if (i32.ge_u (local.get $n) (global.get $next))
        (then
            (global.set $next (i32.add (i32.add (local.get $n) (i32.shr_u (local.get $n) (i32.const 3))) (i32.const 1)))
            (call $say_number (local.get $n)))))

;; `reached N`.
(func $say_number (param $n i32)
    (local $at i32)
    (local.set $at (i32.const 560))
    (loop $digits
        (local.set $at (i32.sub (local.get $at) (i32.const 1)))
        (i32.store8 (local.get $at) (i32.add (i32.const 48) (i32.rem_u (local.get $n) (i32.const 10))))
        (local.set $n (i32.div_u (local.get $n) (i32.const 10)))
        (br_if $digits (local.get $n)))
    (local.set $at (i32.sub (local.get $at) (i32.const 8)))
    (i64.store align=1 (local.get $at) (i64.const 0x2064656863616572))
    (call $say (local.get $at) (i32.sub (i32.const 560) (local.get $at))))

;; ---- hardware

;; A handle of the one device that a policy can grant to this attacker: `hardware: [{subsystem: bench1, name: @device, use: offer}]`.
(func $own (result i32)
    (call $device_by_name @s("bench1") @s("@device") (global.get $ret))
    (call $told (global.get $ret))
    (i32.load offset=4 (global.get $ret)))

;; ---- native code

;; Where the code of `(native …)` is put: what stands here is called once while nothing is put there yet.
(func $room
    (i64.store (i32.const 1024) (i64.const 0x1122334455667788))
    @for(i 0 60){(i64.store (i32.add (i32.const 2048) (i32.const @i)) (i64.const 0x2122334455667@i))
    })
