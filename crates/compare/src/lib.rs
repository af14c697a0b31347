//! Experiments that compare E2 with FlexRAN and 5G-EmPOWER: rigs `sd-ran` and `base-station`, and the round trips of
//! `e2-rtt`. Only this crate imports two domains.

mod base_station;
mod components;
mod e2_rtt;
mod guides;
mod ping_flexran;
mod southbound;
#[cfg(test)]
mod tests_components;
#[cfg(test)]
mod tests_configs;
#[cfg(test)]
mod tests_places;
#[cfg(test)]
mod tests_ran;

pub use components::COMPARE;
pub use ping_flexran::PingFlexranPart;
