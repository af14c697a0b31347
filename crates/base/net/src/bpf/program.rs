//! A program that runs on frames in memory, independent of a device (`BPF_PROG_TEST_RUN`).

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use super::{Attributes, XdpError, load};

const PROG_TEST_RUN: libc::c_long = 10;
/// Bytes that a program may add in front of a frame.
const HEADROOM: usize = 256;

/// A program that the kernel has verified and loaded; it is unloaded when this is dropped.
#[derive(Debug)]
pub struct BpfProgram {
    descriptor: OwnedFd,
}

impl BpfProgram {
    /// Has the kernel verify `instructions` (each 8 bytes, as the kernel's `struct bpf_insn`) as an XDP
    /// program.
    ///
    /// # Errors
    /// The kernel rejects them; the error has the last lines of the verifier's log.
    pub fn load(instructions: &[u64]) -> Result<Self, XdpError> {
        load(instructions).map(|descriptor| Self { descriptor })
    }

    /// Runs the program on one frame, as if the frame had come from the loopback device. Returns the verdict and the
    /// resulting frame. No frame is sent.
    ///
    /// # Errors
    /// The kernel does not run it: the frame is shorter than 14 bytes, or does not fit a page.
    pub fn run(&self, frame: &[u8]) -> io::Result<(u32, Vec<u8>)> {
        let mut out = vec![0; frame.len() + HEADROOM];
        let mut attributes = Attributes::new();
        attributes.0[0] = self.descriptor.as_raw_fd() as u32;
        attributes.0[2..4].copy_from_slice(&[frame.len() as u32, out.len() as u32]);
        attributes.pointer(4, frame.as_ptr());
        attributes.pointer(6, out.as_mut_ptr());
        // SAFETY: both areas have the given lengths and outlive the call, which reads one and writes the
        // other.
        unsafe { attributes.call(PROG_TEST_RUN) }?;
        out.truncate(attributes.0[3] as usize);
        Ok((attributes.0[1], out))
    }

    /// Runs the program `times` times, first on `frame` and then on the result of the previous run. A signal may end
    /// the runs early.
    ///
    /// # Errors
    /// Fails like [`Self::run`].
    pub fn repeat(&self, frame: &[u8], times: u32) -> io::Result<()> {
        let mut attributes = Attributes::new();
        attributes.0[0] = self.descriptor.as_raw_fd() as u32;
        attributes.0[2] = frame.len() as u32;
        attributes.pointer(4, frame.as_ptr());
        attributes.0[8] = times;
        // SAFETY: the frame has the given length and outlives the call, which copies it; no memory is
        // written.
        match unsafe { attributes.call(PROG_TEST_RUN) } {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loaded_program_runs_repeatedly() {
        // r0 = XDP_TX; exit
        match BpfProgram::load(&[0x0000_0003_0000_00b7, 0x95]) {
            Err(error) => assert!(matches!(error, XdpError::Program { .. }), "{error}"),
            Ok(program) => {
                assert_eq!(program.run(&[7; 60]).unwrap(), (3, vec![7; 60]));
                program.repeat(&[7; 60], 100).unwrap();
                assert!(program.run(&[7; 3]).is_err() && program.repeat(&[7; 3], 1).is_err());
            }
        }
    }
}
