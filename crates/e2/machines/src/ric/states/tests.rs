//! Tests of snapshots with one RIC and a simulated store.
use super::super::directory::DirectoryConfig;
use super::super::{IAppInput, IAppOutbox, RicConfig, RicInput, RicOutput};
use super::*;
use std::sync::Mutex;

/// State of the iApp, which belongs to no single base station. `None` until a snapshot is restored.
type Words = Arc<Mutex<Option<String>>>;

/// iApp whose state is a word; it rejects the word `bad`.
struct Parrot {
    words: Words,
    version: u16,
}

impl IApp for Parrot {
    fn name(&self) -> &str {
        "parrot"
    }
    fn handle(&mut self, _: Time, input: IAppInput<'_>, out: &mut IAppOutbox) {
        if matches!(input, IAppInput::Roused) {
            out.save(None);
        }
    }
    fn keeps(&self) -> Option<Keeps> {
        Some(Keeps { version: self.version, bytes_max: 16 })
    }
    fn snapshot(&self, _: Option<&GlobalE2NodeId>) -> Bytes {
        self.words.lock().unwrap().clone().unwrap_or_default().into()
    }
    fn restore(
        &mut self,
        _: Time,
        about: Option<&GlobalE2NodeId>,
        snapshot: &Bytes,
        _: &mut IAppOutbox,
    ) -> Result<(), String> {
        assert_eq!(about, None);
        let words = String::from_utf8_lossy(snapshot).into_owned();
        if words == "bad" {
            return Err("it is bad".to_owned());
        }
        *self.words.lock().unwrap() = Some(words);
        Ok(())
    }
}

struct Lab {
    ric: Ric,
    words: Words,
    now: Time,
    writes: Vec<BusWrite>,
    refused: Vec<SnapshotError>,
}

impl Lab {
    fn new() -> Self {
        let directory = DirectoryConfig::new("north", 7).unwrap();
        let mut ric = Ric::new(RicConfig::default().with(|it| it.directory = Some(directory)));
        let words = Words::default();
        ric.add_iapp(Box::new(Parrot { words: words.clone(), version: 2 }));
        let mut lab = Self { ric, words, now: Time::ZERO, writes: Vec::new(), refused: Vec::new() };
        lab.pass(Duration::from_secs(1));
        lab
    }

    fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.now = self.ric.wake_at().map_or(end, |at| at.max(self.now).min(end));
            self.ric.handle(self.now, RicInput::Wake);
            self.take();
        }
    }

    fn take(&mut self) {
        while let Some(output) = self.ric.poll() {
            match output {
                RicOutput::Event(RicEvent::Bus(StoreRequest::Write(write)))
                    if write.key.starts_with(STATES) =>
                {
                    self.writes.push(write);
                }
                RicOutput::Event(RicEvent::NotTaken { why, .. }) => self.refused.push(why),
                _ => {}
            }
        }
    }

    fn bus(&mut self, news: StoreEvent) {
        self.ric.bus(self.now, news);
        self.take();
    }

    fn store_entry(&mut self, revision: u64, value: &str) {
        let key = "state.parrot".to_owned();
        let value = Bytes::copy_from_slice(value.as_bytes());
        self.bus(StoreEvent::Entry { key, revision, value });
    }

    fn says(&mut self, word: &str) {
        *self.words.lock().unwrap() = Some(word.to_owned());
        let iapp = self.ric.iapp("parrot").unwrap();
        self.ric.wake_iapp(self.now, iapp);
        self.take();
    }

    fn knows(&self) -> Option<String> {
        self.words.lock().unwrap().clone()
    }
}

fn by(ric: &str, version: u16, words: &str) -> String {
    format!("ranlab1 state ric={ric} life=9 version={version}\n{words}")
}

#[test]
fn snapshots_of_other_rics_are_restored_and_invalid_ones_clear_state() {
    let mut lab = Lab::new();
    lab.store_entry(5, &by("south", 2, "hello"));
    assert_eq!(lab.knows().as_deref(), Some("hello"));
    // The watch is restarted and reports the same or older values.
    lab.store_entry(5, &by("south", 2, "again"));
    lab.store_entry(4, &by("south", 2, "older"));
    assert_eq!(lab.knows().as_deref(), Some("hello"));
    let long = "x".repeat(17);
    for (revision, value, expected) in [
        (6, by("south", 3, "newer"), SnapshotError::Version { version: 3, expected: 2 }),
        (7, by("south", 2, "bad"), SnapshotError::Malformed("it is bad".to_owned())),
        (8, by("south", 2, &long), SnapshotError::TooLarge { bytes: 17, most: 16 }),
        (9, "ranlab9".to_owned(), SnapshotError::Malformed("it is not a snapshot of this format".to_owned())),
    ] {
        *lab.words.lock().unwrap() = Some("before".to_owned());
        lab.store_entry(revision, &value);
        assert_eq!((lab.knows().as_deref(), lab.refused.pop()), (Some(""), Some(expected)), "{value}");
    }
    // An earlier incarnation with the same name counts as another RIC.
    lab.store_entry(10, &by("north", 2, "reborn"));
    assert_eq!(lab.knows().as_deref(), Some("reborn"));
    let counted = lab.ric.iapp_snapshots().unwrap();
    assert_eq!((counted.restored, counted.other_version, counted.malformed, counted.too_large), (2, 1, 2, 1));
    assert!(lab.writes.is_empty(), "a RIC must not write back the snapshots that it restored");
}

#[test]
fn changes_are_combined_into_one_write_that_is_repeated_until_accepted() {
    let mut lab = Lab::new();
    lab.says("one");
    lab.says("two");
    assert!(lab.writes.is_empty(), "changes are combined before they are written");
    lab.pass(SAVE_AFTER);
    let write = lab.writes.pop().unwrap();
    assert_eq!(write.value, "ranlab1 state ric=north life=7 version=2\ntwo".as_bytes());
    lab.says("three");
    lab.pass(SAVE_AFTER * 2);
    assert!(lab.writes.is_empty(), "only one write per key is outstanding");
    lab.bus(StoreEvent::Written { id: write.id, outcome: Err(WriteFailure::Unknown) });
    lab.pass(AGAIN);
    let write = lab.writes.pop().unwrap();
    assert!(write.value.ends_with(b"three"));
    // The write gets no response at all.
    lab.pass(AGAIN * 7);
    let again = lab.writes.pop().unwrap();
    assert_eq!(again.expected, Some(0));
    assert!(again.value.ends_with(b"three") && again.id != write.id);
    lab.bus(StoreEvent::Written { id: again.id, outcome: Ok(4) });
    lab.pass(AGAIN * 9);
    assert!(lab.writes.is_empty());
    let counted = lab.ric.iapp_snapshots().unwrap();
    assert_eq!((counted.saved, counted.failed), (1, 2));
}

#[test]
fn later_of_two_concurrent_writes_prevails() {
    for own in [5, 7] {
        for first in [true, false] {
            let mut lab = Lab::new();
            lab.says("north's");
            lab.pass(SAVE_AFTER);
            let write = lab.writes.pop().unwrap();
            let written = StoreEvent::Written { id: write.id, outcome: Ok(own) };
            if first {
                lab.bus(written.clone());
            }
            lab.store_entry(6, &by("south", 2, "south's"));
            if !first {
                assert_eq!(
                    lab.knows().as_deref(),
                    Some("north's"),
                    "a RIC accepts no value while its own write is outstanding"
                );
                lab.bus(written);
            }
            lab.store_entry(own, std::str::from_utf8(&write.value).unwrap());
            let expected = if own == 5 { "south's" } else { "north's" };
            assert_eq!(
                lab.knows().as_deref(),
                Some(expected),
                "own write: revision {own}; its response before the entries of the watch: {first}"
            );
        }
    }
}

/// The response to a write may be missing. If the watch reports the written value, the RIC accepts later values of other
/// RICs.
#[test]
fn unanswered_write_is_complete_when_watch_reports_its_value() {
    for times_out in [false, true] {
        let mut lab = Lab::new();
        lab.says("north's");
        lab.pass(SAVE_AFTER);
        let write = lab.writes.pop().unwrap();
        if times_out {
            lab.bus(StoreEvent::Written { id: write.id, outcome: Err(WriteFailure::Unknown) });
        }
        lab.store_entry(5, std::str::from_utf8(&write.value).unwrap());
        lab.store_entry(6, &by("south", 2, "south's"));
        assert_eq!(lab.knows().as_deref(), Some("south's"));
        lab.pass(AGAIN * 9);
        assert!(lab.writes.is_empty(), "a value that the watch has reported must not be written again");
    }
}

#[test]
fn oversized_snapshot_is_stored_as_an_empty_one() {
    let mut lab = Lab::new();
    lab.says(&"x".repeat(17));
    lab.pass(SAVE_AFTER);
    assert_eq!(lab.refused.pop(), Some(SnapshotError::TooLarge { bytes: 17, most: 16 }));
    assert!(lab.writes.is_empty(), "an empty snapshot is written only to replace a stored one");
    lab.store_entry(3, &by("south", 2, "small"));
    lab.says(&"x".repeat(17));
    lab.pass(SAVE_AFTER);
    assert!(lab.writes.pop().unwrap().value.ends_with(b"version=2\n"));
}
