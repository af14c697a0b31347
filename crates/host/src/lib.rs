//! Hands on the lab machine: process and machine meters, facts; never in a product build.
