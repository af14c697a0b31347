//! Events that another program sends while the fleet runs. Each line has one event, with type and time stamp.
use super::node::Command;
use super::{Identity, NodeDirectory};
use ranlab_sdran::arrivals::{MAX_LINE_BYTES, TraceError, TraceNames, parse_line};
use std::time::Duration;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};

/// Counters of the received lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LiveReport {
    /// Events executed.
    pub events: u64,
    /// Events rejected, because the base station does not exist or its queue is full.
    pub refused: u64,
}

/// Sends events from another program to the base stations that execute them.
#[derive(Debug)]
pub struct LiveEvents {
    directory: NodeDirectory,
    first: u32,
    nodes: u32,
    names: TraceNames,
    report: LiveReport,
}

impl LiveEvents {
    pub(super) fn new(directory: NodeDirectory, first: u32, nodes: u32) -> Self {
        Self { directory, first, nodes, names: TraceNames::default(), report: LiveReport::default() }
    }

    /// Reads lines until the end of the input. An event with a time stamp is executed at that time, in seconds since this call. An event
    /// with `now` is executed immediately.
    pub async fn play(mut self, lines: impl AsyncBufRead + Unpin) -> Result<LiveReport, TraceError> {
        let began = tokio::time::Instant::now();
        let mut lines = lines;
        let mut text = String::new();
        let mut number = 0;
        loop {
            text.clear();
            number += 1;
            let bounded = &mut (&mut lines).take(MAX_LINE_BYTES as u64 + 2);
            match bounded.read_line(&mut text).await {
                Ok(0) => return Ok(self.report),
                Ok(_) => {}
                Err(_) => return Err(TraceError::Form { line: number, text: "no UTF-8".to_owned() }),
            }
            let Some(line) = parse_line(number, text.trim_end_matches(['\r', '\n']))? else { continue };
            if let Some(at) = line.at {
                tokio::time::sleep_until(began + at).await;
            }
            let here = (self.first..self.first.saturating_add(self.nodes)).contains(&line.node);
            let event = self.names.resolve(number, line, line.at.unwrap_or(Duration::ZERO))?;
            let sent = here && self.directory.send(Identity::new(line.node).pci, Command::Event(event));
            if sent {
                self.report.events += 1;
            } else {
                self.report.refused += 1;
            }
        }
    }
}
