//! Fleets of base stations on sockets: glue from model to machines.
