//! Frees pages of the running program's file that are no longer needed.
#![allow(unsafe_code)]

use std::io;

/// A mapping of `/proc/self/smaps`.
#[derive(Debug, PartialEq, Eq)]
struct Mapping {
    start: usize,
    end: usize,
    /// Position in the file.
    offset: usize,
    permissions: String,
    resident_kb: u64,
    /// Pages that differ from the file.
    changed_kb: u64,
}

/// Unmaps the pages of the program's code and constants that are in memory, and returns their size in bytes.
///
/// At its start, a program maps several times as much code as a server needs afterwards, for arguments, configuration
/// and the dynamic linker's tables. It maps the code in pieces of 64 KiB (the kernel's fault-around). The pages stay in
/// the kernel's page cache, and a page that is needed again returns at its first use. Only mappings without a changed
/// page are unmapped, so relocated data, and code with a debugger's breakpoints, stay.
///
/// # Errors
/// `/proc/self/smaps` cannot be read, or the kernel refuses, for example for locked memory.
pub fn unmap_unused_code() -> io::Result<u64> {
    let text = std::fs::read_to_string("/proc/self/smaps")?;
    let mut freed = 0;
    for mapping in unchanged(&mappings(&text), unmap_unused_code as *const () as usize) {
        let length = mapping.end - mapping.start;
        // SAFETY: the range is a private mapping of the program's file that is not writable and has no changed page.
        // The kernel reads the same contents again at the next access.
        if unsafe { libc::madvise(mapping.start as *mut libc::c_void, length, libc::MADV_DONTNEED) } != 0 {
            return Err(io::Error::last_os_error());
        }
        freed += mapping.resident_kb * 1024;
    }
    Ok(freed)
}

fn mappings(smaps: &str) -> Vec<Mapping> {
    let mut all: Vec<Mapping> = Vec::new();
    for line in smaps.lines() {
        if let Some(mapping) = header(line) {
            all.push(mapping);
        } else if let Some(last) = all.last_mut() {
            let mut words = line.split_ascii_whitespace();
            let name = words.next().unwrap_or_default();
            let kb = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
            match name {
                "Rss:" => last.resident_kb = kb,
                // `Private_Dirty` is not used. After a file was written, its pages are dirty in the page cache for a
                // while, although they equal the file.
                "Anonymous:" | "Swap:" => last.changed_kb += kb,
                _ => {}
            }
        }
    }
    all
}

/// Parses `START-END PERMISSIONS OFFSET DEVICE INODE PATH`.
fn header(line: &str) -> Option<Mapping> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let hexadecimal = |word: &str| usize::from_str_radix(word, 16).ok();
    let start = hexadecimal(start)?;
    let end = hexadecimal(end)?;
    let permissions = words.next()?.to_owned();
    let offset = hexadecimal(words.next()?)?;
    Some(Mapping { start, end, offset, permissions, resident_kb: 0, changed_kb: 0 })
}

/// Returns the mapping of the code at an address, and the mapping before it with the beginning of the same file. Leaves
/// out a mapping with changed pages.
fn unchanged(all: &[Mapping], code: usize) -> impl Iterator<Item = &Mapping> {
    let of_code = all.iter().position(|it| it.permissions == "r-xp" && (it.start..it.end).contains(&code));
    let of_begin = of_code.and_then(|at| at.checked_sub(1)).filter(|at| {
        let it = &all[*at];
        it.permissions == "r--p" && it.offset == 0
    });
    of_begin.into_iter().chain(of_code).filter_map(|at| all.get(at)).filter(|it| it.changed_kb == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMAPS: &str = "\
5500-5600 r--p 00000000 fd:00 7 /usr/bin/ranlab-ric
Rss:                 100 kB
Private_Dirty:       100 kB
Anonymous:             0 kB
5600-5900 r-xp 00000100 fd:00 7 /usr/bin/ranlab-ric
Rss:                 300 kB
Private_Dirty:       300 kB
Anonymous:             0 kB
5900-5a00 r--p 00000400 fd:00 7 /usr/bin/ranlab-ric
Rss:                  64 kB
Private_Dirty:        64 kB
Anonymous:            64 kB
7000-7100 r-xp 00000000 fd:00 8 /usr/lib/libc.so.6
Rss:                 900 kB
VmFlags: rd ex mr mw me
";

    #[test]
    fn only_unchanged_code_and_constants_of_the_program_are_unmapped() {
        let chosen =
            |text: &str, code| unchanged(&mappings(text), code).map(|it| it.start).collect::<Vec<_>>();
        assert_eq!(chosen(SMAPS, 0x5700), [0x5500, 0x5600]);
        assert_eq!(chosen(SMAPS, 0x7000), [0x7000]);
        assert!(chosen(SMAPS, 0x5901).is_empty());
        let breakpoint =
            SMAPS.replacen("300 kB\nAnonymous:             0", "300 kB\nAnonymous:             4", 1);
        assert_eq!(chosen(&breakpoint, 0x5700), [0x5500]);
    }

    #[test]
    fn unmapped_code_runs_again() {
        assert!(unmap_unused_code().unwrap() > 0);
        assert_eq!(mappings(SMAPS).len(), 4);
    }
}
