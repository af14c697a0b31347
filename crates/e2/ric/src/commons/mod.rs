//! Shared store of xApps: values under keys and messages under topics, in one namespace per xApp.
//!
//! An xApp has access to the namespace with its name and to the namespaces that its rule grants. The operator has access to all namespaces.
//! [`Store`] holds the values, either in this process ([`LocalStore`]) or on a message bus that several RICs share.
use crate::lock;
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::Mutex;

/// Maximum length of the name of a namespace, key or topic, in characters.
pub const NAME_MAX: usize = 128;
/// Maximum number of namespaces.
pub const NAMESPACES_MAX: usize = 128;
/// Maximum number of keys per namespace.
pub const KEYS_MAX: usize = 1_024;
/// Maximum length of a value or message, in bytes.
pub const VALUE_BYTES_MAX: usize = 16 << 10;
/// Maximum size of all keys and values of a namespace, in bytes.
pub const NAMESPACE_BYTES_MAX: usize = 1 << 20;

/// Value with its revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Revision; grows with each change of any key and is never 0.
    pub revision: u64,
    /// Value, as JSON text.
    pub value: Bytes,
}

/// Error of a store operation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The key is at another revision than the request expects.
    #[error("the key has revision {is} (0: it does not exist), but the request expects {wanted}")]
    Revision {
        /// Current revision.
        is: u64,
        /// Expected revision.
        wanted: u64,
    },
    /// The key does not exist.
    #[error("unknown key {0:?}")]
    Missing(String),
    /// A limit on namespaces, keys or bytes would be exceeded.
    #[error(
        "the store is full: at most {KEYS_MAX} keys and {NAMESPACE_BYTES_MAX} bytes per namespace, and {NAMESPACES_MAX} namespaces are allowed"
    )]
    Full,
    /// The store is not reachable.
    #[error("the store is not reachable: {0}")]
    Away(String),
}

/// Future result of a store operation.
pub type Answer<T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send>>;

/// Backend that stores values.
pub trait Store: Send + Sync {
    /// Returns the value of a key.
    ///
    /// # Errors
    /// Returns [`StoreError::Away`] if the store is not reachable.
    fn get(&self, namespace: &str, key: &str) -> Answer<Option<Entry>>;

    /// Returns all keys of a namespace in lexical order, with revision and size in bytes.
    ///
    /// # Errors
    /// Returns [`StoreError::Away`] if the store is not reachable.
    fn keys(&self, namespace: &str) -> Answer<Vec<(String, u64, usize)>>;

    /// Sets a key if it is at revision `wanted` (0: the key must not exist) and returns the new revision.
    ///
    /// # Errors
    /// Fails if the key is at another revision, a limit is exceeded or the store is not reachable.
    fn put(&self, namespace: &str, key: &str, value: Bytes, wanted: Option<u64>) -> Answer<u64>;

    /// Removes a key if it is at revision `wanted`.
    ///
    /// # Errors
    /// Fails if the key does not exist or is at another revision, or the store is not reachable.
    fn delete(&self, namespace: &str, key: &str, wanted: Option<u64>) -> Answer<()>;
}

/// In-memory store; its values are lost at exit.
#[derive(Debug, Default)]
pub struct LocalStore {
    namespaces: BTreeMap<String, Namespace>,
    revision: u64,
}

#[derive(Debug, Default)]
struct Namespace {
    entries: BTreeMap<String, Entry>,
    bytes: usize,
}

/// Checks that a key is at the expected revision.
fn meets(found: Option<&Entry>, expected: Option<u64>) -> Result<(), StoreError> {
    let is = found.map_or(0, |entry| entry.revision);
    let other = expected.filter(|expected| *expected != is);
    other.map_or(Ok(()), |wanted| Err(StoreError::Revision { is, wanted }))
}

/// All operations complete immediately.
impl Store for Mutex<LocalStore> {
    fn get(&self, namespace: &str, key: &str) -> Answer<Option<Entry>> {
        known(Ok(lock(self).get(namespace, key)))
    }

    fn keys(&self, namespace: &str) -> Answer<Vec<(String, u64, usize)>> {
        known(Ok(lock(self).keys(namespace)))
    }

    fn put(&self, namespace: &str, key: &str, value: Bytes, wanted: Option<u64>) -> Answer<u64> {
        known(lock(self).put(namespace, key, value, wanted))
    }

    fn delete(&self, namespace: &str, key: &str, wanted: Option<u64>) -> Answer<()> {
        known(lock(self).delete(namespace, key, wanted))
    }
}

fn known<T: Send + 'static>(answer: Result<T, StoreError>) -> Answer<T> {
    Box::pin(std::future::ready(answer))
}

impl LocalStore {
    fn get(&self, namespace: &str, key: &str) -> Option<Entry> {
        self.namespaces.get(namespace).and_then(|it| it.entries.get(key)).cloned()
    }

    fn keys(&self, namespace: &str) -> Vec<(String, u64, usize)> {
        let entries = self.namespaces.get(namespace).into_iter().flat_map(|it| &it.entries);
        entries.map(|(key, entry)| (key.clone(), entry.revision, entry.value.len())).collect()
    }

    fn put(
        &mut self,
        namespace: &str,
        key: &str,
        value: Bytes,
        expected: Option<u64>,
    ) -> Result<u64, StoreError> {
        let is_new = !self.namespaces.contains_key(namespace);
        let found = self.namespaces.get(namespace).and_then(|it| it.entries.get(key));
        meets(found, expected)?;
        let (old, adds) = found.map_or((0, true), |entry| (key.len() + entry.value.len(), false));
        let (keys, bytes) = self.namespaces.get(namespace).map_or((0, 0), |it| (it.entries.len(), it.bytes));
        let bytes = bytes - old + key.len() + value.len();
        let too_many = is_new && self.namespaces.len() >= NAMESPACES_MAX;
        if too_many || adds && keys >= KEYS_MAX || bytes > NAMESPACE_BYTES_MAX {
            return Err(StoreError::Full);
        }
        self.revision += 1;
        let revision = self.revision;
        let namespace = self.namespaces.entry(namespace.to_owned()).or_default();
        namespace.bytes = bytes;
        namespace.entries.insert(key.to_owned(), Entry { revision, value });
        Ok(revision)
    }

    fn delete(&mut self, namespace: &str, key: &str, expected: Option<u64>) -> Result<(), StoreError> {
        let missing = || StoreError::Missing(key.to_owned());
        let found = self.namespaces.get_mut(namespace).ok_or_else(missing)?;
        let entry = found.entries.get(key).ok_or_else(missing)?;
        meets(Some(entry), expected)?;
        found.bytes -= key.len() + entry.value.len();
        found.entries.remove(key);
        if found.entries.is_empty() {
            self.namespaces.remove(namespace);
        }
        Ok(())
    }
}

/// Access of an xApp to namespaces other than its own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Access {
    /// Namespaces with read access.
    pub reads: BTreeSet<String>,
    /// Namespaces with read and write access.
    pub writes: BTreeSet<String>,
}

impl Access {
    /// Returns whether the xApp `name` may read (or, with `writes`, write) a namespace.
    pub fn allows(&self, name: &str, namespace: &str, writes: bool) -> bool {
        name == namespace || self.writes.contains(namespace) || !writes && self.reads.contains(namespace)
    }
}

/// Returns whether a text is a valid name of a namespace, key or topic.
pub fn is_name(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':');
    (1..=NAME_MAX).contains(&text.len()) && text.bytes().all(fits) && !matches!(text, "." | "..")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_machine::Random;

    fn bytes(text: &str) -> Bytes {
        Bytes::copy_from_slice(text.as_bytes())
    }

    #[test]
    fn put_fails_unless_key_has_expected_revision() {
        let mut s = LocalStore::default();
        let first = s.put("a", "k", bytes("1"), Some(0)).unwrap();
        assert_eq!(s.put("a", "k", bytes("2"), Some(0)), Err(StoreError::Revision { is: first, wanted: 0 }));
        let second = s.put("a", "k", bytes("2"), Some(first)).unwrap();
        assert!(second > first && s.get("b", "k").is_none());
        assert_eq!(s.delete("a", "k", Some(first)), Err(StoreError::Revision { is: second, wanted: first }));
        assert_eq!(s.delete("a", "k", None), Ok(()));
        assert_eq!(s.delete("a", "k", None), Err(StoreError::Missing("k".to_owned())));
        assert!(s.namespaces.is_empty());
        assert!(
            s.put("a", "k", bytes("3"), Some(0)).unwrap() > second,
            "a new key must not reuse the revision of a deleted one"
        );
    }

    #[test]
    fn limits_apply_per_namespace() {
        let mut s = LocalStore::default();
        let value = Bytes::from(vec![b'0'; VALUE_BYTES_MAX]);
        let taken =
            (0..10_000).filter(|key| s.put("thief", &format!("{key}"), value.clone(), None).is_ok()).count();
        assert!((50..64).contains(&taken), "{taken}");
        let taken =
            (0..10_000).filter(|key| s.put("many", &format!("{key}"), bytes("1"), None).is_ok()).count();
        assert_eq!(taken, KEYS_MAX);
        assert!(s.put("victim", "k", value, None).is_ok());
        assert!(
            s.put("many", "0", bytes("2"), None).is_ok(),
            "an existing key must be writable when the limit is reached"
        );
        let taken =
            (0..10_000).filter(|name| s.put(&format!("n{name}"), "k", bytes("1"), None).is_ok()).count();
        assert_eq!(taken, NAMESPACES_MAX - 3);
    }

    #[test]
    fn byte_count_matches_content_after_random_operations() {
        let mut random = Random::new(7);
        let mut below = |most| random.below(most);
        let mut s = LocalStore::default();
        for _ in 0..20_000 {
            let namespace = format!("n{}", below(3));
            let key = format!("k{}", below(20));
            let expected = (below(2) == 0).then(|| below(40));
            if below(3) == 0 {
                let _ = s.delete(&namespace, &key, expected);
            } else {
                let value = Bytes::from(vec![b'1'; below(100) as usize]);
                let _ = s.put(&namespace, &key, value, expected);
            }
            for it in s.namespaces.values() {
                let sum: usize = it.entries.iter().map(|(key, entry)| key.len() + entry.value.len()).sum();
                assert_eq!(sum, it.bytes);
            }
        }
    }

    #[test]
    fn names_and_access_are_validated() {
        for wrong in ["", ".", "..", "a/b", "a b", "ä", "a\0", &"x".repeat(129)] {
            assert!(!is_name(wrong), "{wrong}");
        }
        assert!(is_name("a.b:C_9-") && is_name("..."));
        let access = Access { reads: ["r".to_owned()].into(), writes: ["w".to_owned()].into() };
        let may = |namespace| (access.allows("me", namespace, false), access.allows("me", namespace, true));
        assert_eq!(
            (may("me"), may("r"), may("w"), may("x")),
            ((true, true), (true, false), (true, true), (false, false))
        );
    }
}
