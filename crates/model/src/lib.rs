//! The world in virtual time: same seed, same result on any machine.
