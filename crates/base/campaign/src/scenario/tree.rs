//! Reads TOML files. Every key and value keeps its file and line, through `extends` and `--set`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml::de::{DeTable, DeValue};

use crate::value::Value;

use super::ScenarioError;

/// Maximum depth of `extends`; a deeper chain is circular.
const EXTENDS_DEPTH: usize = 8;
/// Maximum size of a scenario file. Larger ones are rejected before parsing.
const FILE_BYTES: u64 = 1 << 20;
/// Tables that an extending file replaces as a whole; all others merge key by key.
const REPLACED: [&str; 4] = ["sweep", "search", "plot", "expect"];

/// Position in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) file: Arc<str>,
    pub(crate) line: u32,
}

#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) tree: Tree,
}

#[derive(Debug, Clone)]
pub(crate) enum Tree {
    Leaf(Value),
    List(Vec<Node>),
    /// Entries of a table, in the order of the file.
    Table(Vec<(String, Node)>),
}

impl Node {
    pub(crate) fn child(&self, key: &str) -> Option<&Self> {
        let Tree::Table(entries) = &self.tree else { return None };
        entries.iter().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    pub(crate) fn entries(&self) -> &[(String, Self)] {
        if let Tree::Table(entries) = &self.tree { entries } else { &[] }
    }

    /// Returns the value of a leaf or of a list of leaves.
    pub(crate) fn value(&self) -> Option<Value> {
        match &self.tree {
            Tree::Leaf(value) => Some(value.clone()),
            Tree::List(list) => list.iter().map(Self::value).collect::<Option<Vec<_>>>().map(Value::List),
            Tree::Table(_) => None,
        }
    }

    /// Collects every value below, by dotted path; `load.nodes = 1` and `"load.nodes" = 1` mean the same.
    pub(crate) fn flatten(&self, prefix: &str, into: &mut Vec<(String, Self)>) {
        for (key, node) in self.entries() {
            let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
            match node.tree {
                Tree::Table(_) => node.flatten(&path, into),
                Tree::Leaf(_) | Tree::List(_) => into.push((path, node.clone())),
            }
        }
    }

    pub(crate) fn error(&self, sentence: impl Into<String>) -> ScenarioError {
        ScenarioError::at(&self.place, sentence)
    }
}

/// Reads a file and all files that it extends.
pub(crate) fn load(path: &Path) -> Result<Node, ScenarioError> {
    load_at_depth(path, 0, None)
}

/// Parses text; `extends` is followed relative to `base`.
pub(crate) fn parse(text: &str, file: &str, base: Option<&Path>) -> Result<Node, ScenarioError> {
    extend(parse_one(text, file)?, base, 0)
}

/// Sets `path` to a TOML value, or to text if it is not a TOML value (`--set sut.type=flexran`). As for text in a file,
/// the kind of the key decides whether the text is, for example, a duration or a choice.
pub(crate) fn set(root: &mut Node, assignment: &str) -> Result<(), ScenarioError> {
    let place = Place { file: format!("--set {assignment}").into(), line: 0 };
    let Some((path, text)) = assignment.split_once('=') else {
        return Err(ScenarioError::at(&place, "must be path=value, such as load.nodes=10"));
    };
    let path = path.trim();
    let text = text.trim();
    if path.is_empty() || path.split('.').any(str::is_empty) {
        return Err(ScenarioError::at(&place, "must be path=value, such as load.nodes=10"));
    }
    let tree = parse_one(&format!("x = {text}"), "")
        .ok()
        .and_then(|mut node| if let Tree::Table(entries) = &mut node.tree { entries.pop() } else { None })
        .map_or_else(|| Tree::Leaf(Value::Text(text.to_owned())), |(_, node)| node.tree);
    let node = Node { place: place.clone(), tree };
    let mut at = root;
    let mut keys: Vec<&str> = path.split('.').collect();
    // `sweep.axes.load.nodes` names the axis `load.nodes`, which the file writes as one quoted key.
    let joined = path.strip_prefix("sweep.axes.");
    if let Some(axis) = joined {
        keys = vec!["sweep", "axes", axis];
    }
    let last = keys.pop().unwrap_or(path);
    for key in keys {
        at = enter(at, key, &place);
    }
    put(at, last, node);
    Ok(())
}

fn enter<'a>(node: &'a mut Node, key: &str, place: &Place) -> &'a mut Node {
    if !matches!(node.tree, Tree::Table(_)) {
        node.tree = Tree::Table(Vec::new());
    }
    let Tree::Table(entries) = &mut node.tree else { unreachable!("made a table above") };
    let index = entries.iter().position(|(name, _)| name == key).unwrap_or_else(|| {
        entries.push((key.to_owned(), Node { place: place.clone(), tree: Tree::Table(Vec::new()) }));
        entries.len() - 1
    });
    &mut entries[index].1
}

fn put(node: &mut Node, key: &str, value: Node) {
    if !matches!(node.tree, Tree::Table(_)) {
        node.tree = Tree::Table(Vec::new());
    }
    if let Tree::Table(entries) = &mut node.tree {
        match entries.iter_mut().find(|(name, _)| name == key) {
            Some((_, old)) => *old = value,
            None => entries.push((key.to_owned(), value)),
        }
    }
}

fn load_at_depth(path: &Path, depth: usize, from: Option<&Node>) -> Result<Node, ScenarioError> {
    let file = path.display().to_string();
    let place = Place { file: file.as_str().into(), line: 0 };
    let refuse = |what: &str| match from {
        Some(node) => node.error(format!("`{file}` {what}")),
        // `place` already contains the name of the file.
        None => ScenarioError::at(&place, what.to_owned()),
    };
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.len() > FILE_BYTES => {
            return Err(refuse("is larger than 1 MiB, the most that a scenario may be"));
        }
        Ok(_) => {}
        Err(error) => return Err(refuse(&format!("cannot be read: {error}"))),
    }
    let text = std::fs::read_to_string(path).map_err(|error| refuse(&format!("cannot be read: {error}")))?;
    extend(parse_one(&text, &file)?, path.parent(), depth)
}

fn extend(mut node: Node, base: Option<&Path>, depth: usize) -> Result<Node, ScenarioError> {
    let Some(extends) = node.child("extends").cloned() else { return Ok(node) };
    let Tree::Leaf(Value::Text(file)) = &extends.tree else {
        return Err(extends.error("`extends` must be the name of a file in quotes"));
    };
    if depth >= EXTENDS_DEPTH {
        return Err(
            extends.error(format!("`extends` goes deeper than {EXTENDS_DEPTH} files; is it a circle?"))
        );
    }
    let path: PathBuf = base.map_or_else(|| file.into(), |base| base.join(file));
    let mut under = load_at_depth(&path, depth + 1, Some(&extends))?;
    if let Tree::Table(entries) = &mut node.tree {
        entries.retain(|(key, _)| key != "extends");
    }
    merge(&mut under, node, 0);
    Ok(under)
}

fn merge(under: &mut Node, over: Node, depth: usize) {
    match (&mut under.tree, over) {
        (Tree::Table(_), Node { tree: Tree::Table(entries), .. }) => {
            for (key, node) in entries {
                let whole = depth == 0 && REPLACED.contains(&key.as_str());
                let Tree::Table(below) = &mut under.tree else { return };
                match below.iter_mut().find(|(name, _)| *name == key) {
                    Some((_, old)) if !whole => merge(old, node, depth + 1),
                    Some((_, old)) => *old = node,
                    None => below.push((key, node)),
                }
            }
        }
        (_, over) => *under = over,
    }
}

fn parse_one(text: &str, file: &str) -> Result<Node, ScenarioError> {
    let file: Arc<str> = file.into();
    let lines = Lines::new(text);
    let table = DeTable::parse(text).map_err(|error| {
        let line = error.span().map_or(0, |span| lines.line(span.start));
        let message = error.message().lines().next().unwrap_or("unreadable").to_owned();
        ScenarioError::at(&Place { file: Arc::clone(&file), line }, format!("not TOML: {message}"))
    })?;
    let root = Place { file: Arc::clone(&file), line: 1 };
    Ok(Node { place: root, tree: table_of(table.get_ref(), &file, &lines)? })
}

fn table_of(table: &DeTable<'_>, file: &Arc<str>, lines: &Lines) -> Result<Tree, ScenarioError> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    let mut nodes = Vec::with_capacity(entries.len());
    for (key, value) in entries {
        let place = Place { file: Arc::clone(file), line: lines.line(key.span().start) };
        let tree = tree_of(value.get_ref(), &place, file, lines)?;
        nodes.push((key.get_ref().to_string(), Node { place, tree }));
    }
    Ok(Tree::Table(nodes))
}

fn tree_of(
    value: &DeValue<'_>,
    place: &Place,
    file: &Arc<str>,
    lines: &Lines,
) -> Result<Tree, ScenarioError> {
    Ok(match value {
        DeValue::String(text) => Tree::Leaf(Value::Text(text.to_string())),
        DeValue::Integer(int) => {
            let digits = int.as_str().replace('_', "");
            let int = i64::from_str_radix(&digits, int.radix())
                .map_err(|_| ScenarioError::at(place, format!("{digits} does not fit 64 bits")))?;
            Tree::Leaf(Value::Int(int))
        }
        DeValue::Float(float) => {
            let number = float.as_str().replace('_', "").parse::<f64>();
            let number = number.ok().filter(|number| number.is_finite()).ok_or_else(|| {
                ScenarioError::at(place, format!("{} is not a finite number", float.as_str()))
            })?;
            Tree::Leaf(Value::Float(number))
        }
        DeValue::Boolean(bool) => Tree::Leaf(Value::Bool(*bool)),
        DeValue::Datetime(_) => return Err(ScenarioError::at(place, "a scenario has no dates")),
        DeValue::Array(list) => {
            let mut nodes = Vec::with_capacity(list.len());
            for value in list.iter() {
                let place = Place { file: Arc::clone(file), line: lines.line(value.span().start) };
                let tree = tree_of(value.get_ref(), &place, file, lines)?;
                nodes.push(Node { place, tree });
            }
            Tree::List(nodes)
        }
        DeValue::Table(table) => table_of(table, file, lines)?,
    })
}

/// Line numbers of byte offsets.
struct Lines(Vec<usize>);

impl Lines {
    fn new(text: &str) -> Self {
        Self(text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect())
    }

    fn line(&self, offset: usize) -> u32 {
        self.0.partition_point(|&newline| newline < offset) as u32 + 1
    }
}
