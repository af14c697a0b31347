//! Baseline processes. They measure the cost of the transport without any protocol.
use bytes::Bytes;
use ranlab_sdk::transport::{
    Address, Frame, FrameReader, FrameWriter, Listener, ReadOutcome, SocketOptions, Stream,
};
use std::cell::RefCell;
use std::rc::Rc;

/// Sends every frame back to its sender.
pub(crate) async fn echo(address: Address) -> Option<()> {
    let listener = Listener::bind(&address, &SocketOptions::default()).await.ok()?;
    loop {
        let (stream, _) = listener.accept().await.ok()?;
        tokio::task::spawn_local(async move {
            let mut reader = FrameReader::default();
            let mut writer = FrameWriter::default();
            while let Some(frames) = batch(&stream, &mut reader).await {
                if pass_on(&stream, &mut writer, frames).await.is_none() {
                    return;
                }
            }
        });
    }
}

/// Forwards every frame of all upstream connections to the only downstream connection, batch by batch.
pub(crate) async fn relay(upstream: Address, downstream: Address) -> Option<()> {
    let options = SocketOptions::default();
    let sinks = Listener::bind(&downstream, &options).await.ok()?;
    let sources = Listener::bind(&upstream, &options).await.ok()?;
    let (sink, _) = sinks.accept().await.ok()?;
    let sink = Rc::new((sink, RefCell::new(FrameWriter::default())));
    loop {
        let (stream, _) = sources.accept().await.ok()?;
        let sink = sink.clone();
        tokio::task::spawn_local(async move {
            let mut reader = FrameReader::default();
            while let Some(frames) = batch(&stream, &mut reader).await {
                let mut frames = &frames[..];
                while !frames.is_empty() || sink.1.borrow().rest_bytes() > 0 {
                    let parts: Vec<_> = frames.iter().map(|body| Frame { head: &[], body }).collect();
                    let outcome = sink.1.borrow_mut().write(&sink.0, &parts);
                    let Ok(outcome) = outcome else { return };
                    frames = &frames[outcome.taken..];
                    if outcome.blocked && sink.0.writable().await.is_err() {
                        return;
                    }
                }
            }
        });
    }
}

/// Returns the frames of one read.
async fn batch(stream: &Stream, reader: &mut FrameReader) -> Option<Vec<Bytes>> {
    loop {
        stream.readable().await.ok()?;
        match reader.fill(stream).ok()? {
            ReadOutcome::Bytes(_) => {}
            ReadOutcome::WouldBlock => continue,
            ReadOutcome::Closed => return None,
        }
        let mut frames = Vec::new();
        while let Some(frame) = reader.next().ok()? {
            frames.push(frame);
        }
        if !frames.is_empty() {
            return Some(frames);
        }
    }
}

async fn pass_on(stream: &Stream, writer: &mut FrameWriter, frames: Vec<Bytes>) -> Option<()> {
    let mut frames = &frames[..];
    while !frames.is_empty() || writer.rest_bytes() > 0 {
        let parts: Vec<_> = frames.iter().map(|body| Frame { head: &[], body }).collect();
        let outcome = writer.write(stream, &parts).ok()?;
        frames = &frames[outcome.taken..];
        if outcome.blocked {
            stream.writable().await.ok()?;
        }
    }
    Some(())
}
