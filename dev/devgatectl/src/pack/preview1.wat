;; WASI preview 1 for a component of this host, where it has nothing behind it: no file, no environment, no time but what is counted
;; here. Nothing is asked of the host but `log.write`, so that a component may call all else where it may call no import, as in
;; `cabi_realloc`. `wit-component` leaves out what the module does not use.
(module
  (import "devgate:plugin/log@0.1.0" "write" (func $log (param $level i32) (param $text i32) (param $length i32)))
  (import "__main_module__" "cabi_realloc" (func $realloc (param i32 i32 i32 i32) (result i32)))
  (import "env" "memory" (memory 0))

  ;; Nanoseconds, the same for all clocks.
  (global $now (mut i64) (i64.const 0))
  ;; The state of a generator (xorshift): any number but 0.
  (global $seed (mut i64) (i64.const 0x9e3779b97f4a7c15))
  ;; A page of the module's memory: at 4 and 8 how long the unfinished lines of standard output (1) and error (2) are, at 1,024 and
  ;; 2,048 the lines. 0 before it is asked for, 1 meanwhile.
  (global $page (mut i32) (i32.const 0))
  ;; Whether the admin has been told why the module ends.
  (global $told (mut i32) (i32.const 0))

  ;; Asks for the page with the very first call, when a module's language is prepared for it: as it breaks, Go's runtime gives none.
  ;; Whether it is there.
  (func $ready (result i32)
    (if (i32.eqz (global.get $page)) (then
      (global.set $page (i32.const 1))
      (global.set $page (call $realloc (i32.const 0) (i32.const 0) (i32.const 8) (i32.const 65536)))
      (if (i32.eqz (global.get $page)) (then (unreachable)))
      (i64.store offset=4 align=4 (global.get $page) (i64.const 0))))
    (i32.gt_u (global.get $page) (i32.const 1)))

  (func $count (param $stream i32) (result i32)
    (i32.add (global.get $page) (i32.shl (local.get $stream) (i32.const 2))))
  (func $line (param $stream i32) (result i32)
    (i32.add (global.get $page) (i32.shl (local.get $stream) (i32.const 10))))

  ;; As much of a line is kept as the host logs of one.
  (func $take (param $stream i32) (param $byte i32)
    (local $count i32)
    (if (i32.eq (local.get $byte) (i32.const 0x0a)) (then (call $end (local.get $stream)) (return)))
    (local.set $count (i32.load (call $count (local.get $stream))))
    (if (i32.lt_u (local.get $count) (i32.const 1024)) (then
      (i32.store8 (i32.add (call $line (local.get $stream)) (local.get $count)) (local.get $byte))
      (i32.store (call $count (local.get $stream)) (i32.add (local.get $count) (i32.const 1))))))

  ;; Logs a line, unless it is empty: as `info` what is on standard output, as `warn` what is on standard error.
  (func $end (param $stream i32)
    (local $line i32) (local $count i32) (local $begins i64)
    (local.set $line (call $line (local.get $stream)))
    (local.set $count (i32.load (call $count (local.get $stream))))
    (if (i32.eqz (local.get $count)) (then (return)))
    (i32.store (call $count (local.get $stream)) (i32.const 0))
    (call $repair (local.get $line) (i32.add (local.get $line) (local.get $count)))
    (local.set $begins (i64.load (local.get $line)))
    ;; What a language says as it gives up is an `error`, which the host keeps as the reason of the crash: "panic: " and "fatal error"
    ;; of Go, "Assertion failed" of C.
    (if (i32.and (i32.ge_u (local.get $count) (i32.const 8)) (i32.or
        (i64.eq (i64.and (local.get $begins) (i64.const 0x00ffffffffffffff)) (i64.const 0x00203a63696e6170))
        (i32.or
          (i64.eq (local.get $begins) (i64.const 0x7265206c61746166))
          (i64.eq (local.get $begins) (i64.const 0x6f69747265737341)))))
      (then
        (global.set $told (i32.const 1))
        (call $log (i32.const 3) (local.get $line) (local.get $count)))
      (else (call $log (local.get $stream) (local.get $line) (local.get $count)))))

  ;; Puts `?` in the place of each byte that is no UTF-8: the host would refuse the whole call for it.
  (func $repair (param $at i32) (param $end i32)
    (local $size i32)
    (loop $next
      (if (i32.lt_u (local.get $at) (local.get $end)) (then
        (local.set $size (call $character (local.get $at) (local.get $end)))
        (if (i32.eqz (local.get $size)) (then
          (i32.store8 (local.get $at) (i32.const 0x3f))
          (local.set $size (i32.const 1))))
        (local.set $at (i32.add (local.get $at) (local.get $size)))
        (br $next)))))

  ;; How many bytes the character has that begins here, 0 where it is none.
  (func $character (param $at i32) (param $end i32) (result i32)
    (local $byte i32) (local $size i32) (local $code i32) (local $more i32)
    (local.set $byte (i32.load8_u (local.get $at)))
    (if (i32.lt_u (local.get $byte) (i32.const 0x80)) (then (return (i32.const 1))))
    ;; As many as it begins with ones.
    (local.set $size (i32.clz (i32.xor (i32.shl (local.get $byte) (i32.const 24)) (i32.const -1))))
    (if (i32.gt_u (i32.sub (local.get $size) (i32.const 2)) (i32.const 2)) (then (return (i32.const 0))))
    (if (i32.gt_u (i32.add (local.get $at) (local.get $size)) (local.get $end)) (then (return (i32.const 0))))
    (local.set $code (i32.and (local.get $byte) (i32.shr_u (i32.const 0x7f) (local.get $size))))
    (local.set $more (i32.const 1))
    (loop $next
      (local.set $byte (i32.load8_u (i32.add (local.get $at) (local.get $more))))
      (if (i32.ne (i32.and (local.get $byte) (i32.const 0xc0)) (i32.const 0x80)) (then (return (i32.const 0))))
      (local.set $code (i32.or (i32.shl (local.get $code) (i32.const 6)) (i32.and (local.get $byte) (i32.const 0x3f))))
      (local.set $more (i32.add (local.get $more) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $more) (local.get $size))))
    ;; It is none that is written longer than needed, half of a pair of UTF-16, or beyond the last one.
    (if (i32.eqz (i32.shr_u (local.get $code) (select
          (i32.const 7)
          (i32.sub (i32.mul (local.get $size) (i32.const 5)) (i32.const 4))
          (i32.eq (local.get $size) (i32.const 2)))))
      (then (return (i32.const 0))))
    (if (i32.or (i32.eq (i32.shr_u (local.get $code) (i32.const 11)) (i32.const 0x1b))
                (i32.gt_u (local.get $code) (i32.const 0x10ffff)))
      (then (return (i32.const 0))))
    (local.get $size))

  ;; Writes a number in decimal digits, and gives the place after it.
  (func $digits (param $at i32) (param $number i32) (result i32)
    (if (i32.ge_u (local.get $number) (i32.const 10)) (then
      (local.set $at (call $digits (local.get $at) (i32.div_u (local.get $number) (i32.const 10))))))
    (i32.store8 (local.get $at) (i32.add (i32.const 0x30) (i32.rem_u (local.get $number) (i32.const 10))))
    (i32.add (local.get $at) (i32.const 1)))

  (func $is_output (param $fd i32) (result i32)
    (i32.lt_u (i32.sub (local.get $fd) (i32.const 1)) (i32.const 2)))

  (func (export "fd_write") (param $fd i32) (param $parts i32) (param $count i32) (param $written i32) (result i32)
    (local $at i32) (local $end i32) (local $total i32)
    (if (i32.eqz (call $is_output (local.get $fd))) (then (return (i32.const 8))))
    (if (i32.eqz (call $ready)) (then (unreachable)))
    (loop $part
      (if (local.get $count) (then
        (local.set $at (i32.load (local.get $parts)))
        (local.set $end (i32.add (local.get $at) (i32.load offset=4 (local.get $parts))))
        (local.set $total (i32.add (local.get $total) (i32.sub (local.get $end) (local.get $at))))
        (loop $byte
          (if (i32.lt_u (local.get $at) (local.get $end)) (then
            (call $take (local.get $fd) (i32.load8_u (local.get $at)))
            (local.set $at (i32.add (local.get $at) (i32.const 1)))
            (br $byte))))
        (local.set $parts (i32.add (local.get $parts) (i32.const 8)))
        (local.set $count (i32.sub (local.get $count) (i32.const 1)))
        (br $part))))
    (i32.store (local.get $written) (local.get $total))
    (i32.const 0))

  ;; Standard output and error are terminals, so that C's library keeps no line back that is complete.
  (func (export "fd_fdstat_get") (param $fd i32) (param $out i32) (result i32)
    (if (i32.eqz (call $is_output (local.get $fd))) (then (return (i32.const 8))))
    (i64.store (local.get $out) (i64.const 2))
    (i64.store offset=8 (local.get $out) (i64.const 0x40))
    (i64.store offset=16 (local.get $out) (i64.const 0))
    (i32.const 0))

  ;; What was written and why it ends, then a trap.
  (func (export "proc_exit") (param $code i32)
    (local $line i32)
    (if (i32.eqz (call $ready)) (then (unreachable)))
    (call $end (i32.const 1))
    (call $end (i32.const 2))
    (if (i32.eqz (global.get $told)) (then
      (local.set $line (call $line (i32.const 2)))
      ;; "exited with code "
      (i64.store (local.get $line) (i64.const 0x7720646574697865))
      (i64.store offset=8 (local.get $line) (i64.const 0x65646f6320687469))
      (i32.store8 offset=16 (local.get $line) (i32.const 0x20))
      (call $log (i32.const 3) (local.get $line)
        (i32.sub (call $digits (i32.add (local.get $line) (i32.const 17)) (local.get $code)) (local.get $line)))))
    (unreachable))

  ;; Each call is a microsecond later.
  (func (export "clock_time_get") (param $clock i32) (param $precision i64) (param $out i32) (result i32)
    (drop (call $ready))
    (global.set $now (i64.add (global.get $now) (i64.const 1000)))
    (i64.store (local.get $out) (global.get $now))
    (i32.const 0))
  (func (export "clock_res_get") (param $clock i32) (param $out i32) (result i32)
    (i64.store (local.get $out) (i64.const 1000))
    (i32.const 0))

  ;; The same numbers in every call.
  (func (export "random_get") (param $at i32) (param $count i32) (result i32)
    (local $seed i64)
    (drop (call $ready))
    (local.set $seed (global.get $seed))
    (loop $next
      (if (local.get $count) (then
        (local.set $seed (i64.xor (local.get $seed) (i64.shl (local.get $seed) (i64.const 13))))
        (local.set $seed (i64.xor (local.get $seed) (i64.shr_u (local.get $seed) (i64.const 7))))
        (local.set $seed (i64.xor (local.get $seed) (i64.shl (local.get $seed) (i64.const 17))))
        (i64.store8 (local.get $at) (i64.shr_u (local.get $seed) (i64.const 56)))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (local.set $count (i32.sub (local.get $count) (i32.const 1)))
        (br $next))))
    (global.set $seed (local.get $seed))
    (i32.const 0))

  ;; All that is waited for is there at once. The clock is set to when the longest wait would have ended, or a program that waits for
  ;; a time would ask without end; no further than seventy years, of which no sum is negative. Files have an error.
  (func (export "poll_oneoff") (param $in i32) (param $out i32) (param $count i32) (param $events i32) (result i32)
    (local $began i64) (local $until i64)
    (drop (call $ready))
    (if (i32.eqz (local.get $count)) (then (return (i32.const 28))))
    (i32.store (local.get $events) (local.get $count))
    (local.set $began (global.get $now))
    (loop $next
      (i64.store (local.get $out) (i64.load (local.get $in)))
      (i64.store offset=8 (local.get $out) (i64.const 0))
      (i64.store offset=16 (local.get $out) (i64.const 0))
      (i64.store offset=24 (local.get $out) (i64.const 0))
      (i32.store8 offset=10 (local.get $out) (i32.load8_u offset=8 (local.get $in)))
      (if (i32.load8_u offset=8 (local.get $in))
        (then (i32.store16 offset=8 (local.get $out) (i32.const 8)))
        (else
          (local.set $until (call $least (i64.load offset=24 (local.get $in))))
          (if (i32.eqz (i32.and (i32.load16_u offset=40 (local.get $in)) (i32.const 1))) (then
            (local.set $until (call $least (i64.add (local.get $until) (local.get $began))))))
          (if (i64.gt_u (local.get $until) (global.get $now)) (then (global.set $now (local.get $until))))))
      (local.set $in (i32.add (local.get $in) (i32.const 48)))
      (local.set $out (i32.add (local.get $out) (i32.const 32)))
      (local.set $count (i32.sub (local.get $count) (i32.const 1)))
      (br_if $next (local.get $count)))
    (i32.const 0))
  (func $least (param $until i64) (result i64)
    (select (local.get $until) (i64.const 0x2000000000000000)
      (i64.lt_u (local.get $until) (i64.const 0x2000000000000000))))

  (func (export "args_sizes_get") (export "environ_sizes_get") (param $count i32) (param $size i32) (result i32)
    (drop (call $ready))
    (i32.store (local.get $count) (i32.const 0))
    (i32.store (local.get $size) (i32.const 0))
    (i32.const 0))
  (func (export "args_get") (export "environ_get") (param i32 i32) (result i32) (i32.const 0))
  (func (export "sched_yield") (result i32) (i32.const 0))
  ;; ENOSYS
  (func (export "proc_raise") (param i32) (result i32) (i32.const 52))

  ;; There is no other file: EBADF.
  (func (export "fd_close") (export "fd_datasync") (export "fd_sync") (param i32) (result i32) (i32.const 8))
  (func
    (export "fd_fdstat_set_flags") (export "fd_filestat_get") (export "fd_prestat_get") (export "fd_renumber") (export "fd_tell")
    (export "sock_shutdown")
    (param i32 i32) (result i32) (i32.const 8))
  (func
    (export "fd_prestat_dir_name") (export "path_create_directory") (export "path_remove_directory") (export "path_unlink_file")
    (export "sock_accept")
    (param i32 i32 i32) (result i32) (i32.const 8))
  (func (export "fd_read") (param i32 i32 i32 i32) (result i32) (i32.const 8))
  (func (export "path_filestat_get") (export "path_symlink") (export "sock_send")
    (param i32 i32 i32 i32 i32) (result i32) (i32.const 8))
  (func (export "path_readlink") (export "path_rename") (export "sock_recv")
    (param i32 i32 i32 i32 i32 i32) (result i32) (i32.const 8))
  (func (export "path_link") (param i32 i32 i32 i32 i32 i32 i32) (result i32) (i32.const 8))
  (func (export "fd_filestat_set_size") (param i32 i64) (result i32) (i32.const 8))
  (func (export "fd_fdstat_set_rights") (export "fd_allocate") (param i32 i64 i64) (result i32) (i32.const 8))
  (func (export "fd_seek") (param i32 i64 i32 i32) (result i32) (i32.const 8))
  (func (export "fd_filestat_set_times") (export "fd_advise") (param i32 i64 i64 i32) (result i32) (i32.const 8))
  (func (export "fd_pread") (export "fd_pwrite") (export "fd_readdir") (param i32 i32 i32 i64 i32) (result i32) (i32.const 8))
  (func (export "path_filestat_set_times") (param i32 i32 i32 i32 i64 i64 i32) (result i32) (i32.const 8))
  (func (export "path_open") (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32) (i32.const 8)))
