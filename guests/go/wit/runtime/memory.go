package runtime

import (
	"runtime/debug"
	"unsafe"
)

// What the host makes for the component lies in memory of its own, which is never given back: an instance lives for one call.
// For the same reason the collector does not run.
//
// Beside that reason there is another: while the host asks for memory, the component may call nothing, and Go's runtime asks for
// the time when a collection begins and ends (also of the wall clock, which the adapter cannot stop) and when its workers run,
// which may be whenever a goroutine starts.

// How much is asked of the runtime at once: it gives whole pages of 64 KiB.
const step = 1 << 18

// The free part.
var next, end uintptr

// arena gives memory that stays for the rest of the call.
func arena(size, align uintptr) unsafe.Pointer {
	start := next + offset(next, align)
	if start > end || size > end-start {
		whole := max(size, step)
		start = uintptr(sbrk(whole))
		if start == 0 {
			panic("out of memory: limits.memory of the policy says how much there is")
		}
		end = start + whole
	}
	next = start + size
	return unsafe.Pointer(start)
}

func init() {
	debug.SetGCPercent(-1)
}
