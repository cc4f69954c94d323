//! An allocator that never frees: every call of a component runs in a fresh instance, whose whole memory the host throws
//! away at its end, so that freeing would only cost time. Measured, with the 64 KiB stack of `.cargo/config.toml`: half
//! the time of a short call, and 6 KB less of code.
//!
//! Memory is handed out from the end of the component's static data upwards; what the module starts with is used up
//! first, then the memory grows. The last block grows in place, which is what filling a `String` or a `Vec` does.

use crate::place::place;
use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

#[cfg(target_feature = "atomics")]
compile_error!("the arena serves one thread; build with `default-features = false` for an allocator that serves more");

#[global_allocator]
static ARENA: Arena = Arena { next: AtomicUsize::new(0), end: AtomicUsize::new(0) };

/// The unit that WebAssembly memory grows by.
const PAGE: usize = 64 * 1024;

/// Pages asked for at once, as each `memory.grow` costs the host a system call.
const STEP: usize = 4;

// SAFETY: the linker defines this symbol in every module; only its address means something, and only that is taken.
#[expect(unsafe_code, reason = "the linker's word for where static data ends")]
unsafe extern "C" {
    safe static __heap_base: u8;
}

/// The free part of the memory, as addresses. Atomic only so that it may be a `static`: there is one thread.
struct Arena {
    next: AtomicUsize,
    end: AtomicUsize,
}

impl Arena {
    /// The free part, which before the first use is all that lies above the static data.
    fn free(&self) -> (usize, usize) {
        if self.end.load(Relaxed) == 0 {
            self.next.store((&raw const __heap_base).expose_provenance(), Relaxed);
            self.end.store(std::arch::wasm32::memory_size::<0>().saturating_mul(PAGE), Relaxed);
        }
        (self.next.load(Relaxed), self.end.load(Relaxed))
    }

    /// Makes room up to the address `stop`, if the memory can grow that far.
    fn reach(&self, end: usize, stop: usize) -> bool {
        if stop <= end {
            return true;
        }
        let needed = (stop - end).div_ceil(PAGE);
        for pages in [needed.max(STEP), needed] {
            let old = std::arch::wasm32::memory_grow::<0>(pages);
            if old != usize::MAX {
                self.end.store((old + pages).saturating_mul(PAGE), Relaxed);
                return true;
            }
        }
        false
    }
}

#[expect(unsafe_code, reason = "an allocator is unsafe by its trait; the argument stands above")]
// SAFETY: blocks are disjoint, because `next` only ever rises and every block lies below it and above what it was before;
// they lie within the memory, because `reach` grew it to `stop` before they were handed out; nothing else grows the
// memory or uses what lies above `__heap_base`. They are aligned by `place`. No method unwinds.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (next, end) = self.free();
        match place(next, layout) {
            Some((start, stop)) if self.reach(end, stop) => {
                self.next.store(stop, Relaxed);
                std::ptr::with_exposed_provenance_mut(start)
            }
            _ => std::ptr::null_mut(),
        }
    }

    /// Memory above `next` was never written, and WebAssembly memory starts as zeros.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is the same.
        unsafe { self.alloc(layout) }
    }

    unsafe fn dealloc(&self, _block: *mut u8, _layout: Layout) {}

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if size <= layout.size() {
            return block;
        }
        let (next, end) = self.free();
        let start = block.addr();
        if start + layout.size() == next
            && let Some(stop) = start.checked_add(size)
            && self.reach(end, stop)
        {
            self.next.store(stop, Relaxed);
            return block;
        }
        let Ok(larger) = Layout::from_size_align(size, layout.align()) else {
            return std::ptr::null_mut();
        };
        // SAFETY: `larger` has a size, as it is more than `layout`'s.
        let copy = unsafe { self.alloc(larger) };
        if !copy.is_null() {
            // SAFETY: both blocks are valid for the smaller size, and a new block overlaps no older one.
            unsafe { std::ptr::copy_nonoverlapping(block, copy, layout.size()) };
        }
        copy
    }
}
