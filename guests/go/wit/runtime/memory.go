package runtime

import (
	"runtime/debug"
	"unsafe"
)

// What the host makes for the component lies in memory of its own, which is never given back: an instance lives for one call.
// For the same reason the collector does not run.

// How much is asked of the runtime at once.
const step = 1 << 18

var (
	// What is there before the runtime has started: a page that `devgatectl pack` has lines put together in, and as much for the host.
	first [1 << 14]uint64
	// The free part.
	next, end uintptr
	// All of it that the runtime gave: nothing else in Go refers to what the host writes.
	given [][]uint64
)

// arena gives memory that stays for the rest of the call.
func arena(size, align uintptr) unsafe.Pointer {
	if end == 0 {
		next = uintptr(unsafe.Pointer(&first))
		end = next + unsafe.Sizeof(first)
	}
	start := (next + align - 1) &^ (align - 1)
	if start > end || size > end-start {
		more := make([]uint64, max(size, step)/8+1)
		given = append(given, more)
		start = uintptr(unsafe.Pointer(unsafe.SliceData(more)))
		end = start + uintptr(len(more))*8
	}
	next = start + size
	return unsafe.Pointer(start)
}

func init() {
	debug.SetGCPercent(-1)
}
