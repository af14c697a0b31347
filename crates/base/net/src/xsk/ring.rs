//! The rings shared by the kernel and a process: one side produces, the other consumes, without locks.
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering, fence};

/// Memory mapped for this process only, or shared with the kernel; unmapped when dropped.
#[derive(Debug)]
pub(super) struct Mapping {
    at: NonNull<u8>,
    len: usize,
}

// SAFETY: the memory belongs to the mapping, whichever thread owns it. Memory shared with the kernel is accessed by
// atomics, or as ring entries, which the protocol assigns to one side at a time.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps zeroed memory.
    pub(super) fn anonymous(len: usize) -> io::Result<Self> {
        Self::map(-1, len, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, 0)
    }

    /// Maps a ring of a socket.
    pub(super) fn map_ring(socket: BorrowedFd<'_>, len: usize, offset: u64) -> io::Result<Self> {
        Self::map(socket.as_raw_fd(), len, libc::MAP_SHARED | libc::MAP_POPULATE, offset)
    }

    fn map(descriptor: i32, len: usize, flags: i32, offset: u64) -> io::Result<Self> {
        let offset = libc::off_t::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput)?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the kernel chooses the address of the new mapping, which overlaps no other mapping.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), len, access, flags, descriptor, offset) };
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        NonNull::new(at.cast())
            .map(|at| Self { at, len })
            .ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
    }

    pub(super) fn address(&self) -> u64 {
        self.at.as_ptr() as u64
    }

    /// Returns bytes of this process's memory, or `None` if they are not all within the mapping. The caller ensures
    /// that the kernel does not hold them at the time.
    pub(super) fn octets(&mut self, at: usize, len: usize) -> Option<&mut [u8]> {
        at.checked_add(len).filter(|end| *end <= self.len)?;
        // SAFETY: the range is within the mapping, which stays borrowed as long as the slice. The memory was zeroed when it was mapped.
        Some(unsafe { std::slice::from_raw_parts_mut(self.at.as_ptr().add(at), len) })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: `map` has mapped this range, once; no borrow of it remains. A drop cannot report a failure.
        unsafe { libc::munmap(self.at.as_ptr().cast(), self.len) };
    }
}

/// Offsets of a ring's fields in its mapping.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    pub(super) producer: usize,
    pub(super) consumer: usize,
    pub(super) flags: usize,
    pub(super) entries: usize,
}

impl From<&libc::xdp_ring_offset> for Layout {
    fn from(offset: &libc::xdp_ring_offset) -> Self {
        let at = |octets: u64| usize::try_from(octets).unwrap_or(usize::MAX);
        Self {
            producer: at(offset.producer),
            consumer: at(offset.consumer),
            flags: at(offset.flags),
            entries: at(offset.desc),
        }
    }
}

/// State that producer and consumer share.
#[derive(Debug)]
struct Shared<T> {
    mapping: Mapping,
    layout: Layout,
    size: u32,
    of: PhantomData<T>,
}

impl<T: Copy> Shared<T> {
    /// Returns the size of a ring of `size` entries, in bytes.
    fn octets(layout: &Layout, size: u32) -> Option<usize> {
        layout.entries.checked_add(size_of::<T>().checked_mul(size as usize)?)
    }

    fn new(mapping: Mapping, layout: Layout, size: u32) -> io::Result<Self> {
        let within =
            |at: usize| at.is_multiple_of(4) && at.checked_add(4).is_some_and(|end| end <= mapping.len);
        let good = size.is_power_of_two()
            && [layout.producer, layout.consumer, layout.flags].into_iter().all(within)
            && layout.entries.is_multiple_of(align_of::<T>())
            && Self::octets(&layout, size).is_some_and(|end| end <= mapping.len);
        if good {
            Ok(Self { mapping, layout, size, of: PhantomData })
        } else {
            Err(io::ErrorKind::InvalidData.into())
        }
    }

    fn word(&self, at: usize) -> &AtomicU32 {
        // SAFETY: `new` has checked that the three fields of a ring's layout are aligned and within the
        // mapping; both sides access them with atomic operations only.
        unsafe { &*self.mapping.at.as_ptr().add(at).cast::<AtomicU32>() }
    }

    fn producer(&self) -> &AtomicU32 {
        self.word(self.layout.producer)
    }

    fn consumer(&self) -> &AtomicU32 {
        self.word(self.layout.consumer)
    }

    fn entry(&self, number: u32) -> *mut T {
        let index = (number & (self.size - 1)) as usize;
        // SAFETY: `new` has checked that `size` aligned entries are within the mapping.
        unsafe { self.mapping.at.as_ptr().add(self.layout.entries).cast::<T>().add(index) }
    }
}

/// This process's end of a ring that the kernel empties: FILL and TX.
#[derive(Debug)]
pub(super) struct Producer<T> {
    shared: Shared<T>,
    /// Number of the next entry; entries beyond `published` are not visible to the other side.
    next: u32,
    published: u32,
    /// Position of the other side at the last read.
    consumed: u32,
}

impl<T: Copy> Producer<T> {
    /// Returns the size of the ring, in bytes.
    pub(super) fn octets(layout: &Layout, size: u32) -> Option<usize> {
        Shared::<T>::octets(layout, size)
    }

    pub(super) fn new(mapping: Mapping, layout: Layout, size: u32) -> io::Result<Self> {
        let shared = Shared::new(mapping, layout, size)?;
        let next = shared.producer().load(Ordering::Relaxed);
        let consumed = shared.consumer().load(Ordering::Acquire);
        Ok(Self { shared, next, published: next, consumed })
    }

    /// Returns the number of entries that fit.
    pub(super) fn room(&mut self) -> u32 {
        let room = self.shared.size - self.next.wrapping_sub(self.consumed);
        if room > 0 {
            return room;
        }
        // Acquire: the other side has finished its reads of an entry before this side writes it again.
        self.consumed = self.shared.consumer().load(Ordering::Acquire);
        self.shared.size - self.next.wrapping_sub(self.consumed)
    }

    /// Adds an entry, for the other side to see at the next [`publish`](Self::publish); `false` if the ring is full.
    pub(super) fn push(&mut self, entry: T) -> bool {
        if self.room() == 0 {
            return false;
        }
        // SAFETY: the entry is this side's until it is published, and the place is valid for writes.
        unsafe { self.shared.entry(self.next).write(entry) };
        self.next = self.next.wrapping_add(1);
        true
    }

    /// Shows the added entries to the other side.
    pub(super) fn publish(&mut self) {
        if self.published != self.next {
            // Release: the entries are written before the number that publishes them.
            self.shared.producer().store(self.next, Ordering::Release);
            self.published = self.next;
        }
    }

    /// Returns the number of published entries that the other side has not taken yet.
    pub(super) fn waiting(&self) -> u32 {
        self.published.wrapping_sub(self.shared.consumer().load(Ordering::Acquire))
    }

    /// Returns whether the kernel reads the ring only after a system call.
    pub(super) fn needs_wakeup(&self) -> bool {
        // The flag is read after the kernel can see the published entries; otherwise both sides could wait
        // for each other.
        fence(Ordering::SeqCst);
        self.shared.word(self.shared.layout.flags).load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }
}

/// This process's end of a ring that the kernel fills: RX and COMPLETION.
#[derive(Debug)]
pub(super) struct Consumer<T> {
    shared: Shared<T>,
    next: u32,
    /// Position of the other side at the last read.
    produced: u32,
}

impl<T: Copy> Consumer<T> {
    /// Returns the size of the ring, in bytes.
    pub(super) fn octets(layout: &Layout, size: u32) -> Option<usize> {
        Shared::<T>::octets(layout, size)
    }

    pub(super) fn new(mapping: Mapping, layout: Layout, size: u32) -> io::Result<Self> {
        let shared = Shared::new(mapping, layout, size)?;
        let next = shared.consumer().load(Ordering::Relaxed);
        Ok(Self { shared, next, produced: next })
    }

    /// Returns the next entry; its slot belongs to the other side again after [`release`](Self::release).
    pub(super) fn pop(&mut self) -> Option<T> {
        if self.next == self.produced {
            // Acquire: the entries are read after the number that publishes them.
            self.produced = self.shared.producer().load(Ordering::Acquire);
            if self.next == self.produced {
                return None;
            }
        }
        // SAFETY: the other side has written and published the entry, and does not touch it until it is
        // released.
        let entry = unsafe { self.shared.entry(self.next).read() };
        self.next = self.next.wrapping_add(1);
        Some(entry)
    }

    /// Returns the number of available entries.
    pub(super) fn available(&mut self) -> u32 {
        // Acquire: as in `pop`.
        self.produced = self.shared.producer().load(Ordering::Acquire);
        self.produced.wrapping_sub(self.next)
    }

    /// Releases the slots of the taken entries.
    pub(super) fn release(&mut self) {
        // Release: the entries are read before their slots may be written again.
        self.shared.consumer().store(self.next, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUT: Layout = Layout { producer: 0, consumer: 64, flags: 128, entries: 192 };
    const SIZE: u32 = 8;

    /// Returns both endpoints of one ring, which starts at `first`: the test acts as the kernel.
    fn both(first: u32) -> (Producer<u64>, Consumer<u64>) {
        let octets = Producer::<u64>::octets(&LAYOUT, SIZE).unwrap();
        // SAFETY: a shared anonymous mapping, and a second view of it that is never unmapped (the test ends first).
        let (one, two) = unsafe {
            let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let at = libc::mmap(std::ptr::null_mut(), octets, access, flags, -1, 0);
            assert_ne!(at, libc::MAP_FAILED);
            let again = libc::mremap(at, 0, octets, libc::MREMAP_MAYMOVE);
            assert_ne!(again, libc::MAP_FAILED);
            let mapping =
                |at: *mut libc::c_void| Mapping { at: NonNull::new(at.cast()).unwrap(), len: octets };
            (mapping(at), mapping(again))
        };
        let shared = Shared::<u64>::new(one, LAYOUT, SIZE).unwrap();
        shared.producer().store(first, Ordering::Relaxed);
        shared.consumer().store(first, Ordering::Relaxed);
        let Shared { mapping, .. } = shared;
        (Producer::new(mapping, LAYOUT, SIZE).unwrap(), Consumer::new(two, LAYOUT, SIZE).unwrap())
    }

    #[test]
    fn ring_fills_empties_and_wraps() {
        for first in [0, 5, u32::MAX - 3] {
            let (mut producer, mut consumer) = both(first);
            for round in 0..5_u64 {
                for n in 0..u64::from(SIZE) {
                    assert!(producer.push(round * 100 + n));
                }
                assert!(!producer.push(9_999) && producer.room() == 0);
                assert_eq!(consumer.pop(), None, "entries must be invisible before they are published");
                producer.publish();
                assert_eq!(producer.waiting(), SIZE);
                for n in 0..u64::from(SIZE) {
                    assert_eq!(consumer.pop(), Some(round * 100 + n));
                }
                assert_eq!(consumer.pop(), None);
                assert!(!producer.push(9_999), "entries must not be overwritten before they are released");
                consumer.release();
                assert_eq!((producer.waiting(), producer.room()), (0, SIZE));
            }
        }
    }

    #[test]
    fn items_cross_threads_once_and_in_order() {
        const COUNT: u64 = 200_000;
        let (mut producer, mut consumer) = both(u32::MAX - 1_000);
        let sender = std::thread::spawn(move || {
            for n in 0..COUNT {
                while !producer.push(n) {
                    producer.publish();
                    std::thread::yield_now();
                }
                if n % 3 == 0 {
                    producer.publish();
                }
            }
            producer.publish();
        });
        let mut next = 0;
        while next < COUNT {
            match consumer.pop() {
                Some(entry) => {
                    assert_eq!(entry, next);
                    next += 1;
                    if next.is_multiple_of(2) {
                        consumer.release();
                    }
                }
                None => {
                    consumer.release();
                    std::thread::yield_now();
                }
            }
        }
        sender.join().unwrap();
    }

    #[test]
    fn wakeup_flag_of_kernel_is_read() {
        let (producer, consumer) = both(0);
        assert!(!producer.needs_wakeup());
        consumer.shared.word(LAYOUT.flags).store(libc::XDP_RING_NEED_WAKEUP, Ordering::Relaxed);
        assert!(producer.needs_wakeup());
    }

    #[test]
    fn layout_beyond_mapping_is_refused() {
        let bad = [
            Layout { producer: 4_096, ..LAYOUT },
            Layout { consumer: 2, ..LAYOUT },
            Layout { entries: 4_090, ..LAYOUT },
            Layout { entries: usize::MAX - 3, ..LAYOUT },
        ];
        for layout in bad {
            assert!(
                Producer::<u64>::new(Mapping::anonymous(4_096).unwrap(), layout, SIZE).is_err(),
                "{layout:?}"
            );
        }
        assert!(Consumer::<u64>::new(Mapping::anonymous(4_096).unwrap(), LAYOUT, 7).is_err());
    }

    #[test]
    fn byte_ranges_beyond_mapping_are_refused() {
        let mut memory = Mapping::anonymous(4_096).unwrap();
        assert_eq!(memory.octets(4_000, 96).map(|octets| octets.len()), Some(96));
        assert!(memory.octets(4_000, 97).is_none() && memory.octets(usize::MAX, 2).is_none());
    }
}
