//! The second driver: virtual time over the same machines, without tokio, wall clock or hash order.
