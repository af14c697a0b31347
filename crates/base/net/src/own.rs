//! Loopback addresses that no other process uses.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::{Mutex, PoisonError};

/// Last byte of the address that reserves a network. No other program needs this address.
const HOST: u8 = 254;
const PORT: u16 = 8805;

/// Row and number of each reserved network, and the socket that reserves it.
static HELD: Mutex<Vec<(u8, u8, UdpSocket)>> = Mutex::new(Vec::new());

/// Returns the number of a network `127.row.NUMBER.0/24` that this process reserves until it exits: the lowest free number
/// below `most`. All calls with the same `row` return the same number.
///
/// # Errors
/// All numbers are in use, or there is no loopback.
pub fn own_loopback(row: u8, most: u8) -> io::Result<u8> {
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, number, _)) = held.iter().find(|(own, ..)| *own == row) {
        return Ok(*number);
    }
    let mut taken = Err(io::ErrorKind::AddrNotAvailable.into());
    for number in 0..most {
        taken = UdpSocket::bind((Ipv4Addr::new(127, row, number, HOST), PORT)).map(|socket| (number, socket));
        if let Err(error) = &taken
            && error.kind() == io::ErrorKind::AddrInUse
        {
            continue;
        }
        break;
    }
    let (number, socket) = taken?;
    held.push((row, number, socket));
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_in_use_is_skipped_and_chosen_one_reserved() {
        let row = 253;
        let other = UdpSocket::bind((Ipv4Addr::new(127, row, 0, HOST), PORT));
        let number = own_loopback(row, 9).unwrap();
        assert!(number > 0, "the first network is used by another socket");
        drop(other);
        assert_eq!(own_loopback(row, 9).unwrap(), number);
        assert!(UdpSocket::bind((Ipv4Addr::new(127, row, number, HOST), PORT)).is_err());
        let all: Vec<_> = (0..2).map(|n| UdpSocket::bind((Ipv4Addr::new(127, 252, n, HOST), PORT))).collect();
        assert_eq!(own_loopback(252, 2).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        drop(all);
    }
}
