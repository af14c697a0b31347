//! The kernel's packet programs: maps, programs, and their attachment to a network device (bpf(2), XDP).
#![allow(unsafe_code)]

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

mod program;
mod table;

pub use program::BpfProgram;
pub use table::{BpfTable, BpfTableKind};

const MAP_CREATE: libc::c_long = 0;
const MAP_UPDATE: libc::c_long = 2;
const PROG_LOAD: libc::c_long = 5;
const MAP_LOOKUP_AND_DELETE: libc::c_long = 21;
const LINK_CREATE: libc::c_long = 28;
const MAP_TYPE_HASH: u32 = 1;
const MAP_TYPE_XSK: u32 = 17;
const PROG_TYPE_XDP: u32 = 6;
const ATTACH_XDP: u32 = 37;
/// Allocates entries on demand: a map for a million sessions is small while it is empty.
const NO_PREALLOC: u32 = 1;
/// Maximum length of the message of the kernel's verifier.
const LOG_BYTES: usize = 1 << 16;

/// Space for `union bpf_attr`, as large as the longest form used here. Unused fields are zero, which means absent.
#[repr(C, align(8))]
struct Attributes([u32; 32]);

impl Attributes {
    fn new() -> Self {
        Self([0; 32])
    }

    fn pointer(&mut self, word: usize, to: *const u8) {
        let address = to as u64;
        self.0[word] = address as u32;
        self.0[word + 1] = (address >> 32) as u32;
    }

    /// Calls bpf(2). The attributes contain pointers to data that the command reads or writes: `self` and that data
    /// must outlive the call.
    unsafe fn call(&mut self, command: libc::c_long) -> io::Result<libc::c_long> {
        // SAFETY: the structure has 128 bytes and the alignment that the kernel requires, and unset fields are zero.
        // The caller guarantees that its pointers are valid.
        let result =
            unsafe { libc::syscall(libc::SYS_bpf, command, self.0.as_mut_ptr(), size_of_val(&self.0)) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
    }
}

fn owned(descriptor: libc::c_long) -> OwnedFd {
    // SAFETY: the kernel has just created this descriptor, and no other code has it.
    unsafe { OwnedFd::from_raw_fd(descriptor as i32) }
}

/// A table shared by programs and this process: keys of `KEY` bytes, values of `VALUE` bytes.
#[derive(Debug)]
pub struct BpfMap<const KEY: usize, const VALUE: usize> {
    descriptor: OwnedFd,
}

impl<const KEY: usize, const VALUE: usize> BpfMap<KEY, VALUE> {
    /// Creates an empty table of at most `entries` entries. Needs CAP_BPF, or CAP_SYS_ADMIN.
    pub fn hash(entries: u32) -> io::Result<Self> {
        let mut attributes = Attributes::new();
        attributes.0[..5].copy_from_slice(&[MAP_TYPE_HASH, KEY as u32, VALUE as u32, entries, NO_PREALLOC]);
        // SAFETY: the attributes contain no pointers.
        unsafe { attributes.call(MAP_CREATE) }.map(|fd| Self { descriptor: owned(fd) })
    }

    /// Returns the descriptor for a program's instructions.
    pub fn descriptor(&self) -> i32 {
        self.descriptor.as_raw_fd()
    }

    fn command(&self, command: libc::c_long, key: &[u8; KEY], value: *const u8) -> io::Result<()> {
        let mut attributes = Attributes::new();
        attributes.0[0] = self.descriptor.as_raw_fd() as u32;
        attributes.pointer(2, key.as_ptr());
        attributes.pointer(4, value);
        // SAFETY: key and value have the lengths that the map was created with, and outlive the call.
        unsafe { attributes.call(command) }.map(drop)
    }

    /// Sets an entry atomically for programs that read it.
    pub fn set(&self, key: &[u8; KEY], value: &[u8; VALUE]) -> io::Result<()> {
        self.command(MAP_UPDATE, key, value.as_ptr())
    }

    /// Removes an entry and returns it; `None` if the key is absent.
    pub fn take(&self, key: &[u8; KEY]) -> io::Result<Option<[u8; VALUE]>> {
        let mut value = [0; VALUE];
        let pointer: *mut u8 = value.as_mut_ptr();
        match self.command(MAP_LOOKUP_AND_DELETE, key, pointer) {
            Ok(()) => Ok(Some(value)),
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl BpfMap<4, 4> {
    /// Creates a table of AF_XDP sockets (`XSKMAP`): descriptors by queue, 0 to `queues` - 1.
    pub fn sockets(queues: u32) -> io::Result<Self> {
        let mut attributes = Attributes::new();
        attributes.0[..4].copy_from_slice(&[MAP_TYPE_XSK, 4, 4, queues]);
        // SAFETY: the attributes contain no pointers.
        unsafe { attributes.call(MAP_CREATE) }.map(|fd| Self { descriptor: owned(fd) })
    }
}

/// Reason why a program is not attached to a device.
#[derive(Debug, thiserror::Error)]
pub enum XdpError {
    /// The device does not exist.
    #[error("there is no network device \"{name}\" in this namespace")]
    Device {
        /// Name of the device.
        name: String,
    },
    /// The kernel refused the program.
    #[error("the kernel refuses the XDP program: {source}{}{log}", if .log.is_empty() { "" } else { ": " })]
    Program {
        /// The kernel's error.
        source: io::Error,
        /// The last lines of the verifier's log.
        log: String,
    },
    /// The kernel refused the attachment.
    #[error("the kernel does not attach the XDP program to \"{name}\": {source}")]
    Attach {
        /// Name of the device.
        name: String,
        /// The kernel's error.
        source: io::Error,
    },
}

/// A program attached to a device; it is detached when this is dropped, or the process exits.
#[derive(Debug)]
pub struct XdpProgram {
    _program: OwnedFd,
    _link: OwnedFd,
    /// Whether the driver runs the program; otherwise the kernel runs it on socket buffers.
    pub native: bool,
}

impl XdpProgram {
    /// Has the kernel verify `instructions`, without attaching them.
    pub fn check(instructions: &[u64]) -> Result<(), XdpError> {
        load(instructions).map(drop)
    }

    /// Has the kernel run `instructions` on one frame, as if it had come from the loopback device of the
    /// calling thread's namespace (`BPF_PROG_TEST_RUN`). Returns the verdict and the resulting frame. No
    /// frame is sent.
    pub fn try_on(instructions: &[u64], frame: &[u8]) -> Result<(u32, Vec<u8>), XdpError> {
        BpfProgram::load(instructions)?
            .run(frame)
            .map_err(|source| XdpError::Program { source, log: String::new() })
    }

    /// Has the kernel verify `instructions` (each 8 bytes, as the kernel's `struct bpf_insn`) and attaches
    /// them to the device. With `native`, the driver runs them.
    pub fn attach(name: &str, instructions: &[u64], native: bool) -> Result<Self, XdpError> {
        let no_device = || XdpError::Device { name: name.to_owned() };
        let c_name = CString::new(name).map_err(|_| no_device())?;
        // SAFETY: the string ends with a zero and outlives the call.
        let index = unsafe { libc::if_nametoindex(c_name.as_ptr()) };
        if index == 0 {
            return Err(no_device());
        }
        let program = load(instructions)?;
        // SKB_MODE and DRV_MODE of the kernel's XDP_FLAGS.
        let mode: u32 = if native { 1 << 2 } else { 1 << 1 };
        let mut attributes = Attributes::new();
        attributes.0[..4].copy_from_slice(&[program.as_raw_fd() as u32, index, ATTACH_XDP, mode]);
        // SAFETY: the attributes contain no pointers.
        let link = unsafe { attributes.call(LINK_CREATE) }
            .map_err(|source| XdpError::Attach { name: name.to_owned(), source })?;
        Ok(Self { _program: program, _link: owned(link), native })
    }
}

fn load(instructions: &[u64]) -> Result<OwnedFd, XdpError> {
    // The kernel restricts its routing table to programs with this licence; see
    // docs/decisions/0008-licence-of-kernel-programs.md.
    const LICENCE: &[u8] = b"Dual MIT/GPL\0";
    let mut log = vec![0_u8; LOG_BYTES];
    let mut attributes = Attributes::new();
    attributes.0[..2].copy_from_slice(&[PROG_TYPE_XDP, instructions.len() as u32]);
    attributes.pointer(2, instructions.as_ptr().cast());
    attributes.pointer(4, LICENCE.as_ptr());
    // SAFETY: the number of instructions is correct, the licence ends with a zero, and both outlive the call.
    // A rejected program is loaded again with room for the log, which outlives that call.
    let result = unsafe {
        attributes.call(PROG_LOAD).or_else(|_| {
            attributes.0[6..8].copy_from_slice(&[1, LOG_BYTES as u32]);
            attributes.pointer(8, log.as_mut_ptr());
            attributes.call(PROG_LOAD)
        })
    };
    result.map(owned).map_err(|source| {
        let end = log.iter().position(|octet| *octet == 0).unwrap_or(log.len());
        let text = String::from_utf8_lossy(&log[..end]);
        let lines: Vec<_> = text.trim().lines().rev().take(6).collect();
        XdpError::Program { source, log: lines.into_iter().rev().collect::<Vec<_>>().join("; ") }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn map_stores_entries_or_kernel_reports_why() {
        match BpfMap::<4, 8>::hash(2) {
            Err(error) => {
                assert!(matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOSYS)), "{error}")
            }
            Ok(map) => {
                map.set(&[1; 4], &[7; 8]).unwrap();
                map.set(&[2; 4], &[8; 8]).unwrap();
                assert_eq!(map.set(&[3; 4], &[9; 8]).unwrap_err().raw_os_error(), Some(libc::E2BIG));
                assert_eq!(map.take(&[1; 4]).unwrap(), Some([7; 8]));
                assert_eq!(map.take(&[1; 4]).unwrap(), None);
            }
        }
    }

    #[test]
    fn missing_device_is_named() {
        let error = XdpProgram::attach("no-such-dev", &[0x95], false).unwrap_err();
        assert!(error.to_string().contains("no-such-dev"));
    }
}
