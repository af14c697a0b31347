//! A table that is written row by row with bounded memory.

use std::io::{self, Write};

use super::parquet::Writer;
use super::{Cell, FileKind, Heading, csv_field};
use crate::table::line;

/// Writes rows one by one.
///
/// CSV has a comment line first (`#`, with the units), then the heading; it can be read at any time. Parquet
/// has the units as metadata of the file, `unit.NAME`; it can be read only when it is finished.
pub struct RowWriter<W: Write>(Form<W>);

enum Form<W: Write> {
    Csv { out: W, columns: usize },
    Parquet(Box<Writer<W>>),
}

impl<W: Write> RowWriter<W> {
    /// Starts a table. `about` describes it in one line.
    ///
    /// # Errors
    /// Returns an error if writing fails, like the other functions.
    pub fn new(mut out: W, kind: FileKind, about: &str, headings: Vec<Heading>) -> io::Result<Self> {
        let with_unit = headings.iter().filter(|heading| !heading.unit.is_empty());
        if kind == FileKind::Parquet {
            let units = with_unit.map(|heading| (format!("unit.{}", heading.name), heading.unit.clone()));
            let notes: Vec<_> = [("about".to_owned(), about.to_owned())].into_iter().chain(units).collect();
            return Ok(Self(Form::Parquet(Box::new(Writer::new(out, headings, &notes)?))));
        }
        let units: Vec<_> = with_unit.map(|heading| format!("{} {}", heading.name, heading.unit)).collect();
        let about = format!("# {about}; units: {}", units.join(", ")).replace(['\r', '\n'], " ");
        let names: Vec<_> = headings.into_iter().map(|heading| heading.name).collect();
        write!(out, "{about}\r\n{}", line(&names))?;
        Ok(Self(Form::Csv { out, columns: names.len() }))
    }

    /// Appends a row, which has a cell of the right type for each heading; missing cells at the end are null.
    ///
    /// # Errors
    /// Writing fails, or a Parquet file has too many rows.
    pub fn row<'a>(&mut self, cells: impl Iterator<Item = Option<Cell<'a>>>) -> io::Result<()> {
        match &mut self.0 {
            Form::Csv { out, columns } => {
                let cells = cells.chain(std::iter::repeat(None)).take(*columns);
                let cells: Vec<_> = cells.map(csv_field).collect();
                out.write_all(line(&cells).as_bytes())
            }
            Form::Parquet(writer) => writer.row(cells),
        }
    }

    /// Flushes the rows that can already be read: all rows of CSV, no row of Parquet.
    ///
    /// # Errors
    /// Returns an error if writing fails.
    pub fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Form::Csv { out, .. } => out.flush(),
            Form::Parquet(_) => Ok(()),
        }
    }

    /// Finishes the table.
    ///
    /// # Errors
    /// Returns an error if writing fails.
    pub fn finish(self) -> io::Result<W> {
        match self.0 {
            Form::Csv { mut out, .. } => {
                out.flush()?;
                Ok(out)
            }
            Form::Parquet(writer) => writer.finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Type;
    use super::*;

    fn headings() -> Vec<Heading> {
        let snr = Heading { unit: "dB".to_owned(), ..Heading::new("snr", Type::Float) };
        vec![Heading::new("node", Type::Text), Heading::new("ue", Type::Unsigned), snr]
    }

    #[test]
    fn csv_starts_with_units() {
        let mut rows = RowWriter::new(Vec::new(), FileKind::Csv, "statistics", headings()).unwrap();
        rows.row([Some(Cell::Text("gnb, one")), Some(Cell::Unsigned(u64::MAX)), None].into_iter()).unwrap();
        rows.row([Some(Cell::Text("b")), None, Some(Cell::Float(-0.5))].into_iter()).unwrap();
        rows.row([Some(Cell::Text("c"))].into_iter()).unwrap();
        let csv = String::from_utf8(rows.finish().unwrap()).unwrap();
        let expected = "# statistics; units: snr dB\r\nnode,ue,snr\r\n\"gnb, one\",18446744073709551615,\r\nb,,-0.5\r\nc,,\r\n";
        assert_eq!(csv, expected);
    }

    #[test]
    fn parquet_writer_holds_one_row_group() {
        struct Counting(usize);
        impl Write for Counting {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0 += bytes.len();
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let text = "x".repeat(1 << 20);
        let one = vec![Heading::new("text", Type::Text)];
        let mut rows = RowWriter::new(Counting(0), FileKind::Parquet, "much", one).unwrap();
        let mut given = 0;
        for _ in 0..100 {
            rows.row([Some(Cell::Text(&text))].into_iter()).unwrap();
            given += text.len();
            let Form::Parquet(writer) = &rows.0 else { panic!("the writer must write Parquet") };
            assert!(
                given - writer.out.0.min(given) <= 32 << 20,
                "{given} bytes given, but only {} bytes written",
                writer.out.0
            );
        }
        assert!(rows.finish().unwrap().0 > given);
    }
}
