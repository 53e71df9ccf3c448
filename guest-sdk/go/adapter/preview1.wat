;; wasi_snapshot_preview1 for a guest that may ask nobody.
;;
;; Go's runtime cannot be linked without these functions. Here they are, inside the component, with no import of their
;; own but the guest's memory: time stands still except for sleeping, random numbers come from a fixed seed, there are
;; no arguments and no files, and what is written to standard output and standard error lands in a buffer that the guest
;; gives (`gristmill_capture`), as far as it has room. So equal input gives equal output.
;;
;; It has no memory and no stack of its own: Go's heap takes the guest's memory to be its alone and grows it.
(module
  (import "env" "memory" (memory 0))

  ;; Nanoseconds slept so far.
  (global $slept (mut i64) (i64.const 0))
  (global $seed (mut i64) (i64.const 0x6772697374))
  ;; Where captured text goes, how much fits, how much there is.
  (global $buffer (mut i32) (i32.const 0))
  (global $capacity (mut i32) (i32.const 0))
  (global $captured (mut i32) (i32.const 0))

  ;; Not part of preview 1: for the SDK.

  (func (export "gristmill_capture") (param $buffer i32) (param $capacity i32)
    (global.set $buffer (local.get $buffer))
    (global.set $capacity (local.get $capacity))
    (global.set $captured (i32.const 0)))

  (func (export "gristmill_captured") (result i32)
    (global.get $captured))

  ;; Time. The wall clock starts at 1970-01-01; the monotonic clock at 1, because Go refuses 0.

  (func $now (param $clock i32) (result i64)
    (i64.add (global.get $slept) (i64.extend_i32_u (i32.ne (local.get $clock) (i32.const 0)))))

  (func (export "clock_time_get") (param $clock i32) (param $precision i64) (param $time i32) (result i32)
    (i64.store (local.get $time) (call $now (local.get $clock)))
    (i32.const 0))

  (func (export "clock_res_get") (param $clock i32) (param $resolution i32) (result i32)
    (i64.store (local.get $resolution) (i64.const 1))
    (i32.const 0))

  ;; Sleeps until the first of the clocks that are waited for. Nothing else ever happens: waiting without one is a
  ;; deadlock.
  (func (export "poll_oneoff")
    (param $subscriptions i32) (param $events i32) (param $count i32) (param $happened i32) (result i32)
    (local $left i64) (local $least i64) (local $first i32)
    (local.set $least (i64.const -1))
    (block $done
      (loop $next
        (br_if $done (i32.eqz (local.get $count)))
        ;; A clock has tag 0.
        (if (i32.eqz (i32.load8_u offset=8 (local.get $subscriptions)))
          (then
            (local.set $left (i64.load offset=24 (local.get $subscriptions)))
            ;; Flag 1: a point in time instead of a span.
            (if (i32.and (i32.load16_u offset=40 (local.get $subscriptions)) (i32.const 1))
              (then
                (local.set $left
                  (i64.sub (local.get $left) (call $now (i32.load offset=16 (local.get $subscriptions)))))
                (if (i64.lt_s (local.get $left) (i64.const 0)) (then (local.set $left (i64.const 0))))))
            (if (i64.lt_u (local.get $left) (local.get $least))
              (then
                (local.set $least (local.get $left))
                (local.set $first (local.get $subscriptions))))))
        (local.set $subscriptions (i32.add (local.get $subscriptions) (i32.const 48)))
        (local.set $count (i32.sub (local.get $count) (i32.const 1)))
        (br $next)))
    (if (i32.eqz (local.get $first)) (then (call $deadlock)))
    (global.set $slept (i64.add (global.get $slept) (local.get $least)))
    (i64.store (local.get $events) (i64.load (local.get $first)))
    (i64.store offset=8 (local.get $events) (i64.const 0))
    (i64.store offset=16 (local.get $events) (i64.const 0))
    (i64.store offset=24 (local.get $events) (i64.const 0))
    (i32.store (local.get $happened) (i32.const 1))
    (i32.const 0))

  (func (export "sched_yield") (result i32) (i32.const 0))

  ;; Random numbers: splitmix64.

  (func $random (result i64)
    (local $z i64)
    (global.set $seed (i64.add (global.get $seed) (i64.const 0x9e3779b97f4a7c15)))
    (local.set $z (global.get $seed))
    (local.set $z
      (i64.mul (i64.xor (local.get $z) (i64.shr_u (local.get $z) (i64.const 30))) (i64.const 0xbf58476d1ce4e5b9)))
    (local.set $z
      (i64.mul (i64.xor (local.get $z) (i64.shr_u (local.get $z) (i64.const 27))) (i64.const 0x94d049bb133111eb)))
    (i64.xor (local.get $z) (i64.shr_u (local.get $z) (i64.const 31))))

  (func (export "random_get") (param $to i32) (param $length i32) (result i32)
    (block $done
      (loop $next
        (br_if $done (i32.eqz (local.get $length)))
        (i64.store8 (local.get $to) (call $random))
        (local.set $to (i32.add (local.get $to) (i32.const 1)))
        (local.set $length (i32.sub (local.get $length) (i32.const 1)))
        (br $next)))
    (i32.const 0))

  ;; The end of the program is the end of the call. The functions' names tell why in the trap's backtrace.

  (func $exit (export "proc_exit") (param $code i32) unreachable)
  (func $deadlock unreachable)
  (func (export "proc_raise") (param $signal i32) (result i32) unreachable)

  ;; No arguments. The environment tunes Go's garbage collector for a guest that lives for one call: it first collects
  ;; at 32 MiB and always before 384 MiB, so that most calls end without. GOGC=800 and GOMEMLIMIT=384MiB, 9 and 18 bytes.

  (func (export "args_sizes_get") (param $count i32) (param $bytes i32) (result i32)
    (i32.store (local.get $count) (i32.const 0))
    (i32.store (local.get $bytes) (i32.const 0))
    (i32.const 0))
  (func (export "args_get") (param i32 i32) (result i32) (i32.const 0))
  (func (export "environ_sizes_get") (param $count i32) (param $bytes i32) (result i32)
    (i32.store (local.get $count) (i32.const 2))
    (i32.store (local.get $bytes) (i32.const 27))
    (i32.const 0))
  (func (export "environ_get") (param $pointers i32) (param $text i32) (result i32)
    (i32.store (local.get $pointers) (local.get $text))
    (i32.store offset=4 (local.get $pointers) (i32.add (local.get $text) (i32.const 9)))
    (i64.store (local.get $text) (i64.const 0x3030383d43474f47))
    (i32.store8 offset=8 (local.get $text) (i32.const 0))
    (i64.store offset=9 (local.get $text) (i64.const 0x4d494c4d454d4f47))
    (i64.store offset=17 (local.get $text) (i64.const 0x694d3438333d5449))
    (i32.store16 offset=25 (local.get $text) (i32.const 0x42))
    (i32.const 0))

  ;; Standard output and standard error.

  (func (export "fd_write") (param $fd i32) (param $pieces i32) (param $count i32) (param $written i32) (result i32)
    (local $length i32) (local $total i32) (local $room i32)
    (if (i32.gt_u (i32.sub (local.get $fd) (i32.const 1)) (i32.const 1)) (then (return (i32.const 8))))
    (block $done
      (loop $next
        (br_if $done (i32.eqz (local.get $count)))
        (local.set $length (i32.load offset=4 (local.get $pieces)))
        (local.set $total (i32.add (local.get $total) (local.get $length)))
        (local.set $room (i32.sub (global.get $capacity) (global.get $captured)))
        (if (i32.gt_u (local.get $length) (local.get $room)) (then (local.set $length (local.get $room))))
        (memory.copy
          (i32.add (global.get $buffer) (global.get $captured)) (i32.load (local.get $pieces)) (local.get $length))
        (global.set $captured (i32.add (global.get $captured) (local.get $length)))
        (local.set $pieces (i32.add (local.get $pieces) (i32.const 8)))
        (local.set $count (i32.sub (local.get $count) (i32.const 1)))
        (br $next)))
    ;; What found no room counts as written: a program must not fail because it said too much.
    (i32.store (local.get $written) (local.get $total))
    (i32.const 0))

  ;; Three character devices, so that a standard library can open its standard streams. All else is no descriptor (8).
  (func (export "fd_fdstat_get") (param $fd i32) (param $stat i32) (result i32)
    (if (i32.gt_u (local.get $fd) (i32.const 2)) (then (return (i32.const 8))))
    (i64.store (local.get $stat) (i64.const 2))
    (i64.store offset=8 (local.get $stat) (i64.const -1))
    (i64.store offset=16 (local.get $stat) (i64.const 0))
    (i32.const 0))
  (func (export "fd_fdstat_set_flags") (param i32 i32) (result i32)
    (if (result i32) (i32.gt_u (local.get 0) (i32.const 2)) (then (i32.const 8)) (else (i32.const 0))))
  (func (export "fd_close") (param i32) (result i32)
    (if (result i32) (i32.gt_u (local.get 0) (i32.const 2)) (then (i32.const 8)) (else (i32.const 0))))
  (func (export "fd_prestat_get") (param i32 i32) (result i32) (i32.const 8))
  (func (export "fd_prestat_dir_name") (param i32 i32 i32) (result i32) (i32.const 8))
  ;; Standard input is at its end.
  (func (export "fd_read") (param $fd i32) (param i32 i32) (param $read i32) (result i32)
    (if (local.get $fd) (then (return (i32.const 8))))
    (i32.store (local.get $read) (i32.const 0))
    (i32.const 0))

  ;; There are no files and no sockets: not supported (52).

  (func (export "fd_advise") (param i32 i64 i64 i32) (result i32) (i32.const 52))
  (func (export "fd_allocate") (param i32 i64 i64) (result i32) (i32.const 52))
  (func (export "fd_datasync") (param i32) (result i32) (i32.const 52))
  (func (export "fd_fdstat_set_rights") (param i32 i64 i64) (result i32) (i32.const 52))
  (func (export "fd_filestat_get") (param i32 i32) (result i32) (i32.const 52))
  (func (export "fd_filestat_set_size") (param i32 i64) (result i32) (i32.const 52))
  (func (export "fd_filestat_set_times") (param i32 i64 i64 i32) (result i32) (i32.const 52))
  (func (export "fd_pread") (param i32 i32 i32 i64 i32) (result i32) (i32.const 52))
  (func (export "fd_pwrite") (param i32 i32 i32 i64 i32) (result i32) (i32.const 52))
  (func (export "fd_readdir") (param i32 i32 i32 i64 i32) (result i32) (i32.const 52))
  (func (export "fd_renumber") (param i32 i32) (result i32) (i32.const 52))
  (func (export "fd_seek") (param i32 i64 i32 i32) (result i32) (i32.const 52))
  (func (export "fd_sync") (param i32) (result i32) (i32.const 52))
  (func (export "fd_tell") (param i32 i32) (result i32) (i32.const 52))
  (func (export "path_create_directory") (param i32 i32 i32) (result i32) (i32.const 52))
  (func (export "path_filestat_get") (param i32 i32 i32 i32 i32) (result i32) (i32.const 52))
  (func (export "path_filestat_set_times") (param i32 i32 i32 i32 i64 i64 i32) (result i32) (i32.const 52))
  (func (export "path_link") (param i32 i32 i32 i32 i32 i32 i32) (result i32) (i32.const 52))
  (func (export "path_open") (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32) (i32.const 52))
  (func (export "path_readlink") (param i32 i32 i32 i32 i32 i32) (result i32) (i32.const 52))
  (func (export "path_remove_directory") (param i32 i32 i32) (result i32) (i32.const 52))
  (func (export "path_rename") (param i32 i32 i32 i32 i32 i32) (result i32) (i32.const 52))
  (func (export "path_symlink") (param i32 i32 i32 i32 i32) (result i32) (i32.const 52))
  (func (export "path_unlink_file") (param i32 i32 i32) (result i32) (i32.const 52))
  (func (export "sock_accept") (param i32 i32 i32) (result i32) (i32.const 52))
  (func (export "sock_recv") (param i32 i32 i32 i32 i32 i32) (result i32) (i32.const 52))
  (func (export "sock_send") (param i32 i32 i32 i32 i32) (result i32) (i32.const 52))
  (func (export "sock_shutdown") (param i32 i32) (result i32) (i32.const 52)))
