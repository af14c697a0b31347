//! Apache Parquet, the part that a table needs: plain values, optional columns, no compression.
//!
//! The format is read by everything that reads data frames; a writer of its whole breadth is some twenty crates, of
//! this part 200 lines (docs/decisions/0007). Names in comments are those of `parquet.thrift`. The test is that
//! another implementation reads every value back.

use super::{Column, Table};

/// Rows of one row group: bounds what a reader must hold at once.
pub const ROW_GROUP_ROWS: usize = 131_072;
const MAGIC: &[u8; 4] = b"PAR1";

/// A table as the bytes of a file.
pub fn parquet(table: &Table) -> Vec<u8> {
    let mut file = MAGIC.to_vec();
    let mut groups = Vec::new();
    let rows = table.rows();
    for from in (0..rows).step_by(ROW_GROUP_ROWS) {
        let to = rows.min(from + ROW_GROUP_ROWS);
        let chunks =
            table.columns.iter().map(|(name, column)| chunk(&mut file, name, column, from, to)).collect();
        groups.push(Group { rows: to - from, chunks });
    }
    let footer = footer(table, &groups);
    let length = u32::try_from(footer.len()).unwrap_or(u32::MAX);
    file.extend(footer);
    file.extend(length.to_le_bytes());
    file.extend(MAGIC);
    file
}

/// A row group as written.
struct Group {
    rows: usize,
    chunks: Vec<Chunk>,
}

/// A column's values in a row group as written.
struct Chunk {
    name: String,
    physical: i32,
    values: usize,
    /// Of the page with its header.
    offset: usize,
    length: usize,
}

/// `Type` of parquet.thrift.
fn physical(column: &Column) -> i32 {
    match column {
        Column::Bool(_) => 0,
        Column::Int(_) => 2,
        Column::Float(_) => 5,
        Column::Text(_) => 6,
    }
}

/// One data page with its header.
fn chunk(file: &mut Vec<u8>, name: &str, column: &Column, from: usize, to: usize) -> Chunk {
    let (levels, values) = match column {
        Column::Bool(all) => (present(&all[from..to]), bits(all[from..to].iter().flatten().copied())),
        Column::Int(all) => {
            (present(&all[from..to]), plain(all[from..to].iter().flatten().map(|v| v.to_le_bytes())))
        }
        Column::Float(all) => {
            (present(&all[from..to]), plain(all[from..to].iter().flatten().map(|v| v.to_le_bytes())))
        }
        Column::Text(all) => {
            let mut bytes = Vec::new();
            for text in all[from..to].iter().flatten() {
                bytes.extend(u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes());
                bytes.extend(text.as_bytes());
            }
            (present(&all[from..to]), bytes)
        }
    };
    let mut page = Vec::with_capacity(levels.len() + values.len() + 4);
    page.extend(u32::try_from(levels.len()).unwrap_or(u32::MAX).to_le_bytes());
    page.extend(levels);
    page.extend(values);
    let size = i64::try_from(page.len()).unwrap_or(i64::MAX);
    let mut header = Thrift::default();
    header.int(1, I32, 0); // type: DATA_PAGE
    header.int(2, I32, size);
    header.int(3, I32, size);
    header.begin(5); // data_page_header
    header.int(1, I32, (to - from) as i64);
    header.int(2, I32, PLAIN);
    header.int(3, I32, RLE); // of definition levels
    header.int(4, I32, RLE); // of repetition levels, of which a flat column has none
    header.end();
    header.end();
    let offset = file.len();
    file.extend(header.bytes);
    file.extend(page);
    Chunk {
        name: name.to_owned(),
        physical: physical(column),
        values: to - from,
        offset,
        length: file.len() - offset,
    }
}

/// Definition levels: 1 present, 0 absent, as one bit-packed run of the hybrid encoding.
fn present<T>(values: &[Option<T>]) -> Vec<u8> {
    let packed = bits(values.iter().map(Option::is_some));
    let mut bytes = Vec::with_capacity(packed.len() + 5);
    varint(&mut bytes, (packed.len() as u64) << 1 | 1);
    bytes.extend(packed);
    bytes
}

/// Bits from the lowest of each byte on.
fn bits(values: impl Iterator<Item = bool>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (index, value) in values.enumerate() {
        if index % 8 == 0 {
            bytes.push(0);
        }
        if let Some(last) = bytes.last_mut() {
            *last |= u8::from(value) << (index % 8);
        }
    }
    bytes
}

fn plain(values: impl Iterator<Item = [u8; 8]>) -> Vec<u8> {
    values.flatten().collect()
}

const PLAIN: i64 = 0;
const RLE: i64 = 3;

/// `FileMetaData`.
fn footer(table: &Table, groups: &[Group]) -> Vec<u8> {
    let mut meta = Thrift::default();
    meta.int(1, I32, 1); // version
    meta.list(2, STRUCT, table.columns.len() + 1);
    meta.open();
    meta.text(4, "table");
    meta.int(5, I32, table.columns.len() as i64);
    meta.end();
    for (name, column) in &table.columns {
        meta.open();
        meta.int(1, I32, physical(column).into());
        meta.int(3, I32, 1); // repetition_type: OPTIONAL
        meta.text(4, name);
        if matches!(column, Column::Text(_)) {
            meta.int(6, I32, 0); // converted_type: UTF8
        }
        meta.end();
    }
    meta.int(3, I64, table.rows() as i64);
    meta.list(4, STRUCT, groups.len());
    for group in groups {
        meta.open();
        meta.list(1, STRUCT, group.chunks.len());
        for chunk in &group.chunks {
            column_chunk(&mut meta, chunk);
        }
        meta.int(2, I64, group.chunks.iter().map(|chunk| chunk.length as i64).sum());
        meta.int(3, I64, group.rows as i64);
        meta.end();
    }
    meta.text(6, concat!("ranlab version ", env!("CARGO_PKG_VERSION")));
    meta.end();
    meta.bytes
}

/// `ColumnChunk` and its `ColumnMetaData`.
fn column_chunk(meta: &mut Thrift, chunk: &Chunk) {
    meta.open();
    meta.int(2, I64, chunk.offset as i64);
    meta.begin(3);
    meta.int(1, I32, chunk.physical.into());
    meta.list(2, I32, 2);
    meta.zigzag(PLAIN);
    meta.zigzag(RLE);
    meta.list(3, BINARY, 1);
    meta.raw(chunk.name.as_bytes());
    meta.int(4, I32, 0); // codec: UNCOMPRESSED
    meta.int(5, I64, chunk.values as i64);
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
    /// The last field of this structure, then those of the ones around it.
    last: i16,
    around: Vec<i16>,
}

impl Thrift {
    fn field(&mut self, id: i16, kind: u8) {
        // All fields of these structures are within 15 of each other.
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

    /// A structure as a field.
    fn begin(&mut self, id: i16) {
        self.field(id, STRUCT);
        self.open();
    }

    /// A structure as an entry of a list.
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
    use super::*;

    #[test]
    fn the_file_ends_in_its_footer() {
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
    fn levels_and_truths_are_bits() {
        assert_eq!(present(&[Some(1), None, Some(1)]), [0b11, 0b101]);
        assert_eq!(bits([true; 9].into_iter()), [0xff, 1]);
        let mut bytes = Vec::new();
        varint(&mut bytes, 300);
        assert_eq!(bytes, [0xac, 2]);
    }
}
