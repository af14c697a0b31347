//! Tables shared by programs and this process, with sizes that are known at run time.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use super::{Attributes, MAP_CREATE, MAP_TYPE_HASH, MAP_UPDATE, NO_PREALLOC, owned};

const MAP_LOOKUP: libc::c_long = 1;
const MAP_DELETE: libc::c_long = 3;
const MAP_TYPE_ARRAY: u32 = 2;
const MAP_TYPE_LPM_TRIE: u32 = 11;

/// Lookup method of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BpfTableKind {
    /// Array with keys of four bytes; all entries exist and are initially zero.
    Array,
    /// Hash table.
    Hash,
    /// Longest-prefix match: keys start with a length in bits, four bytes in the machine's byte order.
    LpmTrie,
}

/// A table shared by programs and this process.
#[derive(Debug)]
pub struct BpfTable {
    descriptor: OwnedFd,
    key_bytes: usize,
    value_bytes: usize,
}

impl BpfTable {
    /// Creates a table of at most `entries`. Needs CAP_BPF, or CAP_SYS_ADMIN.
    ///
    /// # Errors
    /// Returns the kernel's error: no permission, no memory, unsupported sizes.
    pub fn new(kind: BpfTableKind, key_bytes: u32, value_bytes: u32, entries: u32) -> io::Result<Self> {
        let (kind, flags) = match kind {
            BpfTableKind::Array => (MAP_TYPE_ARRAY, 0),
            BpfTableKind::Hash => (MAP_TYPE_HASH, NO_PREALLOC),
            BpfTableKind::LpmTrie => (MAP_TYPE_LPM_TRIE, NO_PREALLOC),
        };
        let mut attributes = Attributes::new();
        attributes.0[..5].copy_from_slice(&[kind, key_bytes, value_bytes, entries, flags]);
        // SAFETY: the attributes contain no pointers.
        let descriptor = owned(unsafe { attributes.call(MAP_CREATE) }?);
        Ok(Self { descriptor, key_bytes: key_bytes as usize, value_bytes: value_bytes as usize })
    }

    /// Returns the descriptor for a program's instructions.
    #[must_use]
    pub fn descriptor(&self) -> i32 {
        self.descriptor.as_raw_fd()
    }

    /// Runs a command on an entry. `value` must have the length of the table's values if the command accesses it.
    fn command(&self, command: libc::c_long, key: &[u8], value: *const u8) -> io::Result<()> {
        if key.len() != self.key_bytes {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut attributes = Attributes::new();
        attributes.0[0] = self.descriptor.as_raw_fd() as u32;
        attributes.pointer(2, key.as_ptr());
        attributes.pointer(4, value);
        // SAFETY: key and value have the lengths of the table, as the callers check; both outlive the call.
        unsafe { attributes.call(command) }.map(drop)
    }

    /// Sets an entry. In hash tables and tries, programs see the old or the new value; in arrays, this holds only for each
    /// eight bytes.
    ///
    /// # Errors
    /// Returns the kernel's error (`E2BIG`: the table is full), or `InvalidInput` if key or value do not have the
    /// table's lengths.
    pub fn set(&self, key: &[u8], value: &[u8]) -> io::Result<()> {
        if value.len() != self.value_bytes {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.command(MAP_UPDATE, key, value.as_ptr())
    }

    /// Removes an entry, if it exists.
    ///
    /// # Errors
    /// Returns the kernel's error (arrays keep all entries), or `InvalidInput` as for [`Self::set`].
    pub fn remove(&self, key: &[u8]) -> io::Result<()> {
        match self.command(MAP_DELETE, key, std::ptr::null()) {
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(()),
            done => done,
        }
    }

    /// Returns the value of a key; `None` if the key is absent.
    ///
    /// # Errors
    /// Returns the kernel's error, or `InvalidInput` as for [`Self::set`].
    pub fn get(&self, key: &[u8]) -> io::Result<Option<Vec<u8>>> {
        let mut value = vec![0; self.value_bytes];
        let pointer: *mut u8 = value.as_mut_ptr();
        match self.command(MAP_LOOKUP, key, pointer) {
            Ok(()) => Ok(Some(value)),
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_store_entries_or_kernel_reports_why() {
        let table = match BpfTable::new(BpfTableKind::LpmTrie, 8, 4, 2) {
            Err(error) => {
                assert!(matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOSYS)), "{error}");
                return;
            }
            Ok(table) => table,
        };
        let key = |length: u32, address: [u8; 4]| [length.to_ne_bytes(), address].concat();
        table.set(&key(8, [10, 0, 0, 0]), &[1; 4]).unwrap();
        table.set(&key(16, [10, 7, 0, 0]), &[2; 4]).unwrap();
        assert_eq!(table.get(&key(32, [10, 7, 1, 1])).unwrap(), Some(vec![2; 4]));
        table.remove(&key(16, [10, 7, 0, 0])).unwrap();
        table.remove(&key(16, [10, 7, 0, 0])).unwrap();
        assert_eq!(table.get(&key(32, [10, 7, 1, 1])).unwrap(), Some(vec![1; 4]));
        assert_eq!(table.get(&key(32, [11, 7, 1, 1])).unwrap(), None);
        assert_eq!(table.set(&[1], &[1; 4]).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert_eq!(table.set(&key(8, [1; 4]), &[1]).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        let array = BpfTable::new(BpfTableKind::Array, 4, 8, 2).unwrap();
        array.set(&1_u32.to_ne_bytes(), &[3; 8]).unwrap();
        assert_eq!(array.get(&1_u32.to_ne_bytes()).unwrap(), Some(vec![3; 8]));
        assert_eq!(array.get(&0_u32.to_ne_bytes()).unwrap(), Some(vec![0; 8]));
        assert!(array.remove(&0_u32.to_ne_bytes()).is_err() && array.descriptor() >= 0);
    }
}
