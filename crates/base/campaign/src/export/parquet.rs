//! Writes Apache Parquet, as far as a table needs it: plain values, optional columns, no compression.
//!
//! All libraries for data frames read this format. A complete writer needs some twenty crates; this one needs 200 lines
//! (docs/decisions/0007). Names in comments are those of `parquet.thrift`. The test checks that another implementation
//! reads every value back.

use std::io::{self, Write};

use super::{Cell, Heading, Table, Type};

/// Maximum number of rows in a row group, which limits the memory of a reader.
pub const ROW_GROUP_ROWS: usize = 131_072;
/// Maximum number of bytes of values in a row group, which limits the memory of a writer.
const ROW_GROUP_BYTES: usize = 32 << 20;
/// Maximum number of row groups in a file, which limits its footer. A writer stores the footer in memory. The number of
/// a row group has 15 bits (`ordinal`).
const ROW_GROUPS_MAX: usize = 32_767;
const MAGIC: &[u8; 4] = b"PAR1";

/// Encodes a table as the bytes of a file.
pub fn parquet(table: &Table) -> Vec<u8> {
    let headings =
        table.columns.iter().map(|(name, column)| Heading::new(name, column.value_type())).collect();
    let mut file = Vec::new();
    let written = Writer::new(&mut file, headings, &[]).and_then(|mut writer| {
        for row in 0..table.rows() {
            writer.row(table.columns.iter().map(|(_, column)| column.get(row)))?;
        }
        writer.finish().map(drop)
    });
    // Writing to memory cannot fail, and a table in memory has fewer than 32,767 groups.
    debug_assert!(written.is_ok(), "{written:?}");
    file
}

/// Writes a file row by row. It holds one row group in memory, and the positions of the columns of each
/// written group.
pub(super) struct Writer<W: Write> {
    pub(super) out: W,
    offset: usize,
    headings: Vec<Heading>,
    notes: Vec<(String, String)>,
    pages: Vec<Page>,
    rows: usize,
    groups: Vec<Group>,
}

impl<W: Write> Writer<W> {
    /// Starts a file; `notes` are its key and value metadata.
    pub(super) fn new(mut out: W, headings: Vec<Heading>, notes: &[(String, String)]) -> io::Result<Self> {
        out.write_all(MAGIC)?;
        let pages = headings.iter().map(|_| Page::default()).collect();
        let notes = notes.to_vec();
        Ok(Self { out, offset: MAGIC.len(), headings, notes, pages, rows: 0, groups: Vec::new() })
    }

    /// Appends a row, which has a cell of the right type for each heading; missing cells at the end are null.
    pub(super) fn row<'a>(&mut self, cells: impl Iterator<Item = Option<Cell<'a>>>) -> io::Result<()> {
        let cells = cells.chain(std::iter::repeat(None));
        self.pages.iter_mut().zip(cells).for_each(|(page, cell)| page.push(cell));
        self.rows += 1;
        let bytes: usize = self.pages.iter().map(|page| page.values.len()).sum();
        if self.rows >= ROW_GROUP_ROWS || bytes >= ROW_GROUP_BYTES { self.group() } else { Ok(()) }
    }

    fn group(&mut self) -> io::Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        if self.groups.len() >= ROW_GROUPS_MAX {
            return Err(io::Error::other(format!("a Parquet file has at most {ROW_GROUPS_MAX} row groups")));
        }
        let rows = std::mem::take(&mut self.rows);
        let mut chunks = Vec::with_capacity(self.pages.len());
        for page in &mut self.pages {
            let bytes = page.take();
            self.out.write_all(&bytes)?;
            chunks.push(Chunk { offset: self.offset, length: bytes.len() });
            self.offset += bytes.len();
        }
        self.groups.push(Group { rows, chunks });
        Ok(())
    }

    /// Finishes the file. Without its footer, the file is not readable.
    pub(super) fn finish(mut self) -> io::Result<W> {
        self.group()?;
        let footer = footer(&self.headings, &self.notes, &self.groups);
        let length = u32::try_from(footer.len()).map_err(io::Error::other)?;
        self.out.write_all(&footer)?;
        self.out.write_all(&length.to_le_bytes())?;
        self.out.write_all(MAGIC)?;
        self.out.flush()?;
        Ok(self.out)
    }
}

/// A row group as written.
struct Group {
    rows: usize,
    chunks: Vec<Chunk>,
}

/// Position of a column's values in a row group, starting at the page header.
struct Chunk {
    offset: usize,
    length: usize,
}

/// Returns the `Type` of parquet.thrift.
fn physical(of: Type) -> i32 {
    match of {
        Type::Bool => 0,
        Type::Int | Type::Unsigned => 2,
        Type::Float => 5,
        Type::Text => 6,
    }
}

/// Returns the `ConvertedType` of parquet.thrift.
fn converted(of: Type) -> Option<i64> {
    match of {
        Type::Text => Some(0),
        Type::Unsigned => Some(14),
        Type::Bool | Type::Int | Type::Float => None,
    }
}

/// A column's values in a row group that is being written: one data page.
#[derive(Default)]
struct Page {
    present: Bits,
    bools: Bits,
    values: Vec<u8>,
}

impl Page {
    fn push(&mut self, cell: Option<Cell<'_>>) {
        self.present.push(cell.is_some());
        match cell {
            None => {}
            Some(Cell::Bool(value)) => self.bools.push(value),
            Some(Cell::Int(value)) => self.values.extend(value.to_le_bytes()),
            Some(Cell::Unsigned(value)) => self.values.extend(value.to_le_bytes()),
            Some(Cell::Float(value)) => self.values.extend(value.to_le_bytes()),
            Some(Cell::Text(text)) => {
                self.values.extend(u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes());
                self.values.extend(text.as_bytes());
            }
        }
    }

    /// Returns the encoded page with its header. The page is empty afterwards.
    fn take(&mut self) -> Vec<u8> {
        let page = std::mem::take(self);
        let levels = page.present.levels();
        let size = levels.len() + 4 + page.bools.bytes.len() + page.values.len();
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        let mut header = Thrift::default();
        header.int(1, I32, 0); // type: DATA_PAGE
        header.int(2, I32, size);
        header.int(3, I32, size);
        header.begin(5); // data_page_header
        header.int(1, I32, page.present.len as i64);
        header.int(2, I32, PLAIN);
        header.int(3, I32, RLE); // of definition levels
        header.int(4, I32, RLE); // of repetition levels, of which a flat column has none
        header.end();
        header.end();
        let mut bytes = header.bytes;
        bytes.extend(u32::try_from(levels.len()).unwrap_or(u32::MAX).to_le_bytes());
        bytes.extend(levels);
        bytes.extend(page.bools.bytes);
        bytes.extend(page.values);
        bytes
    }
}

/// Bits, packed from the lowest bit of each byte.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    len: usize,
}

impl Bits {
    fn push(&mut self, bit: bool) {
        if self.len.is_multiple_of(8) {
            self.bytes.push(0);
        }
        if let Some(last) = self.bytes.last_mut() {
            *last |= u8::from(bit) << (self.len % 8);
        }
        self.len += 1;
    }

    /// Encodes the definition levels (1 present, 0 absent) as one bit-packed run of the hybrid encoding.
    fn levels(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.bytes.len() + 5);
        varint(&mut bytes, (self.bytes.len() as u64) << 1 | 1);
        bytes.extend(&self.bytes);
        bytes
    }
}

const PLAIN: i64 = 0;
const RLE: i64 = 3;

/// Encodes the `FileMetaData`.
fn footer(headings: &[Heading], notes: &[(String, String)], groups: &[Group]) -> Vec<u8> {
    let mut meta = Thrift::default();
    meta.int(1, I32, 1); // version
    meta.list(2, STRUCT, headings.len() + 1);
    meta.open();
    meta.text(4, "table");
    meta.int(5, I32, headings.len() as i64);
    meta.end();
    for heading in headings {
        meta.open();
        meta.int(1, I32, physical(heading.of).into());
        meta.int(3, I32, 1); // repetition_type: OPTIONAL
        meta.text(4, &heading.name);
        if let Some(converted) = converted(heading.of) {
            meta.int(6, I32, converted);
        }
        meta.end();
    }
    meta.int(3, I64, groups.iter().map(|group| group.rows as i64).sum());
    meta.list(4, STRUCT, groups.len());
    for group in groups {
        meta.open();
        meta.list(1, STRUCT, group.chunks.len());
        for (heading, chunk) in headings.iter().zip(&group.chunks) {
            column_chunk(&mut meta, heading, chunk, group.rows);
        }
        meta.int(2, I64, group.chunks.iter().map(|chunk| chunk.length as i64).sum());
        meta.int(3, I64, group.rows as i64);
        meta.end();
    }
    if !notes.is_empty() {
        meta.list(5, STRUCT, notes.len()); // key_value_metadata
        for (key, value) in notes {
            meta.open();
            meta.text(1, key);
            meta.text(2, value);
            meta.end();
        }
    }
    meta.text(6, concat!("ranlab version ", env!("CARGO_PKG_VERSION")));
    meta.end();
    meta.bytes
}

/// Appends a `ColumnChunk` with its `ColumnMetaData`.
fn column_chunk(meta: &mut Thrift, heading: &Heading, chunk: &Chunk, rows: usize) {
    meta.open();
    meta.int(2, I64, chunk.offset as i64);
    meta.begin(3);
    meta.int(1, I32, physical(heading.of).into());
    meta.list(2, I32, 2);
    meta.zigzag(PLAIN);
    meta.zigzag(RLE);
    meta.list(3, BINARY, 1);
    meta.raw(heading.name.as_bytes());
    meta.int(4, I32, 0); // codec: UNCOMPRESSED
    meta.int(5, I64, rows as i64);
    meta.int(6, I64, chunk.length as i64);
    meta.int(7, I64, chunk.length as i64);
    meta.int(9, I64, chunk.offset as i64);
    meta.end();
    meta.end();
}

const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// Thrift's compact protocol, as far as Parquet's headers need it.
#[derive(Default)]
struct Thrift {
    bytes: Vec<u8>,
    /// Number of the last field of the current structure. `around` contains this number for each enclosing structure.
    last: i16,
    around: Vec<i16>,
}

impl Thrift {
    fn field(&mut self, id: i16, kind: u8) {
        // The numbers of consecutive fields of these structures differ by at most 15.
        self.bytes.push((((id - self.last) as u8) << 4) | kind);
        self.last = id;
    }

    fn int(&mut self, id: i16, kind: u8, value: i64) {
        self.field(id, kind);
        self.zigzag(value);
    }

    fn text(&mut self, id: i16, text: &str) {
        self.field(id, BINARY);
        self.raw(text.as_bytes());
    }

    fn list(&mut self, id: i16, kind: u8, length: usize) {
        self.field(id, LIST);
        if length < 15 {
            self.bytes.push((length as u8) << 4 | kind);
        } else {
            self.bytes.push(0xf0 | kind);
            varint(&mut self.bytes, length as u64);
        }
    }

    /// Begins a structure as a field.
    fn begin(&mut self, id: i16) {
        self.field(id, STRUCT);
        self.open();
    }

    /// Begins a structure as an entry of a list.
    fn open(&mut self) {
        self.around.push(self.last);
        self.last = 0;
    }

    fn end(&mut self) {
        self.bytes.push(0);
        self.last = self.around.pop().unwrap_or(0);
    }

    fn raw(&mut self, bytes: &[u8]) {
        varint(&mut self.bytes, bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    fn zigzag(&mut self, value: i64) {
        varint(&mut self.bytes, ((value << 1) ^ (value >> 63)) as u64);
    }
}

fn varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::super::Column;
    use super::*;

    #[test]
    fn file_ends_with_its_footer() {
        let table = Table { columns: vec![("n".to_owned(), Column::Int(vec![Some(7), None]))] };
        let file = parquet(&table);
        assert!(file.starts_with(MAGIC) && file.ends_with(MAGIC));
        let length = u32::from_le_bytes(*file[..file.len() - 4].last_chunk::<4>().unwrap()) as usize;
        let footer = &file[file.len() - 8 - length..file.len() - 8];
        // Version 1 as field 1 of type i32, zigzag; the last byte closes FileMetaData.
        assert_eq!((&footer[..2], footer[length - 1]), (&[0x15, 0x02][..], 0));
        assert!(file.windows(8).any(|window| window == 7_i64.to_le_bytes()));
    }

    #[test]
    fn levels_and_booleans_are_packed_as_bits() {
        let bits = |of: &[bool]| {
            let mut bits = Bits::default();
            of.iter().for_each(|bit| bits.push(*bit));
            bits
        };
        assert_eq!(bits(&[true, false, true]).levels(), [0b11, 0b101]);
        assert_eq!(bits(&[true; 9]).bytes, [0xff, 1]);
        let mut bytes = Vec::new();
        varint(&mut bytes, 300);
        assert_eq!(bytes, [0xac, 2]);
    }
}
