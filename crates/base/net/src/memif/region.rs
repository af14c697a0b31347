//! Memory that two processes share. All code that could fault or race is in this file.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals};

const HUGETLBFS: i64 = 0x9584_58f6;

/// Reason to reject a peer's memory.
#[derive(Debug, thiserror::Error)]
pub enum RegionError {
    /// The descriptor is not a memory file. A file on disk, a device, or a file system that the peer serves could block
    /// this process.
    #[error("a region's descriptor is not a memory file (memfd): {0}")]
    Kind(io::Error),
    /// The memory could be truncated while it is in use. Access beyond its end kills a process (SIGBUS).
    #[error("a region can shrink and cannot be sealed against it (F_SEAL_SHRINK): {0}")]
    Shrinks(io::Error),
    /// Pages of the memory may be missing at the first access, which also kills a process.
    #[error(
        "a region uses huge pages, of which the machine may have too few; only ordinary pages are allowed"
    )]
    Huge,
    /// The memory is shorter than announced.
    #[error("a region of {announced} bytes was announced, but its memory has {found} bytes")]
    Short {
        /// Size in the message.
        announced: u64,
        /// Size of the file.
        found: u64,
    },
    /// The kernel does not map the memory.
    #[error("a region cannot be mapped: {0}")]
    Map(io::Error),
}

/// Shared memory, mapped for reading and writing until it is dropped.
#[derive(Debug)]
pub struct Region {
    at: NonNull<u8>,
    len: usize,
    descriptor: OwnedFd,
}

// SAFETY: the mapping is not tied to a thread. All access is by atomics and volatile copies of bytes, because another
// process writes to it anyway.
unsafe impl Send for Region {}
// SAFETY: as above; no reference to plain data within is ever given out.
unsafe impl Sync for Region {}

impl Region {
    /// Creates memory of zeros whose length can no longer change.
    ///
    /// # Errors
    /// Fails like memfd_create(2), ftruncate(2), mmap(2).
    pub fn create(octets: usize) -> io::Result<Self> {
        const NAME: &CStr = c"ranlab-memif";
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let descriptor = rustix::fs::memfd_create(NAME, flags)?;
        rustix::fs::ftruncate(&descriptor, octets as u64)?;
        fcntl_add_seals(&descriptor, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        Self::map(descriptor, octets)
    }

    /// Maps a peer's memory: a memory file of ordinary pages that cannot shrink. It is sealed here if the
    /// peer has not sealed it. Sealing precedes measuring, so that a sufficient length stays sufficient.
    ///
    /// # Errors
    /// Returns the reason to reject the memory.
    pub fn accept(descriptor: OwnedFd, octets: u64) -> Result<Self, RegionError> {
        let kind = |error: rustix::io::Errno| RegionError::Kind(error.into());
        let seals = fcntl_get_seals(&descriptor).map_err(kind)?;
        if !seals.contains(SealFlags::SHRINK) {
            fcntl_add_seals(&descriptor, SealFlags::SHRINK)
                .map_err(|error| RegionError::Shrinks(error.into()))?;
        }
        if rustix::fs::fstatfs(&descriptor).map_err(kind)?.f_type as i64 == HUGETLBFS {
            return Err(RegionError::Huge);
        }
        let status = rustix::fs::fstat(&descriptor).map_err(kind)?;
        let found = u64::try_from(status.st_size).unwrap_or(0);
        if found < octets || octets == 0 {
            return Err(RegionError::Short { announced: octets, found });
        }
        let len = usize::try_from(octets).map_err(|_| RegionError::Map(io::ErrorKind::OutOfMemory.into()))?;
        Self::map(descriptor, len).map_err(RegionError::Map)
    }

    fn map(descriptor: OwnedFd, len: usize) -> io::Result<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the kernel chooses the address of the new mapping, which overlaps no other mapping.
        let at = unsafe {
            libc::mmap(std::ptr::null_mut(), len, access, libc::MAP_SHARED, descriptor.as_raw_fd(), 0)
        };
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let at = NonNull::new(at.cast()).ok_or(io::ErrorKind::AddrNotAvailable)?;
        Ok(Self { at, len, descriptor })
    }

    /// Returns the size of the region, in bytes.
    #[must_use]
    pub fn octets(&self) -> usize {
        self.len
    }

    /// Returns the descriptor for the peer.
    #[must_use]
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    /// Returns the address of `octets` bytes, or `None` if they are not fully within the region or not aligned.
    fn place(&self, at: usize, octets: usize, alignment: usize) -> Option<*mut u8> {
        at.checked_add(octets).filter(|end| *end <= self.len && at.is_multiple_of(alignment))?;
        // SAFETY: the address is within the mapping.
        Some(unsafe { self.at.as_ptr().add(at) })
    }

    pub(super) fn u16(&self, at: usize) -> Option<&AtomicU16> {
        // SAFETY: the address is aligned and within the mapping, which outlives the reference.
        self.place(at, 2, 2).map(|place| unsafe { AtomicU16::from_ptr(place.cast()) })
    }

    pub(super) fn u32(&self, at: usize) -> Option<&AtomicU32> {
        // SAFETY: as in `u16`.
        self.place(at, 4, 4).map(|place| unsafe { AtomicU32::from_ptr(place.cast()) })
    }

    pub(super) fn u64(&self, at: usize) -> Option<&AtomicU64> {
        // SAFETY: as in `u16`.
        self.place(at, 8, 8).map(|place| unsafe { AtomicU64::from_ptr(place.cast()) })
    }

    /// Copies bytes out of the region. Returns `false` if the range is not fully within it.
    pub(super) fn read(&self, at: usize, into: &mut [u8]) -> bool {
        let Some(from) = self.place(at, into.len(), 1) else { return false };
        let (words, rest) = into.as_chunks_mut::<8>();
        let done = words.len() * 8;
        for (index, word) in words.iter_mut().enumerate() {
            // SAFETY: within the range that `place` has checked. Volatile: the peer may write concurrently,
            // which can only mix bytes of both times. Unaligned access is by bytes.
            *word = unsafe { from.add(8 * index).cast::<[u8; 8]>().read_volatile() };
        }
        for (index, octet) in rest.iter_mut().enumerate() {
            // SAFETY: as above.
            *octet = unsafe { from.add(done + index).read_volatile() };
        }
        true
    }

    /// Copies bytes into the region. Returns `false` and writes nothing if the range is not fully within it.
    pub(super) fn write(&self, at: usize, from: &[u8]) -> bool {
        let Some(to) = self.place(at, from.len(), 1) else { return false };
        let (words, rest) = from.as_chunks::<8>();
        let done = words.len() * 8;
        for (index, word) in words.iter().enumerate() {
            // SAFETY: as in `read`.
            unsafe { to.add(8 * index).cast::<[u8; 8]>().write_volatile(*word) };
        }
        for (index, octet) in rest.iter().enumerate() {
            // SAFETY: as in `read`.
            unsafe { to.add(done + index).write_volatile(*octet) };
        }
        true
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: `map` has mapped this range, once; references into it cannot outlive it. A drop cannot
        // report a failure.
        unsafe { libc::munmap(self.at.as_ptr().cast(), self.len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    fn memory_file(flags: MemfdFlags) -> OwnedFd {
        let descriptor = rustix::fs::memfd_create(c"peer", flags).unwrap();
        File::from(descriptor.try_clone().unwrap()).set_len(8192).unwrap();
        descriptor
    }

    /// A peer that truncates its memory in use would kill this process by SIGBUS. `accept` prevents this.
    #[test]
    fn unsealed_peer_memory_is_sealed() {
        let theirs = memory_file(MemfdFlags::ALLOW_SEALING);
        let region = Region::accept(theirs.try_clone().unwrap(), 8192).unwrap();
        let file = File::from(theirs);
        assert_eq!(file.set_len(4096).unwrap_err().raw_os_error(), Some(libc::EPERM));
        assert!(region.write(8190, &[7; 2]) && !region.write(8190, &[7; 3]));
        let mut last = [0; 2];
        assert!(region.read(8190, &mut last) && last == [7; 2] && !region.read(usize::MAX, &mut last));
        assert!(region.u16(8191).is_none() && region.u16(8190).is_some() && region.u64(8188).is_none());
    }

    #[test]
    fn unsealable_memory_is_refused() {
        assert!(matches!(
            Region::accept(memory_file(MemfdFlags::empty()), 8192),
            Err(RegionError::Shrinks(_))
        ));
    }
}
