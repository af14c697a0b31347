//! Bundles modules, styles and data into one file that opens from a disk, without a server.

use sha2::{Digest, Sha256};

use crate::{File, base64, file};

/// Content of a saved page.
#[derive(Debug, Clone, Copy)]
pub struct Saved<'a> {
    /// Title of the window.
    pub title: &'a str,
    /// Name of the main module, without extension: `saved` for `web/saved.js`.
    pub entry: &'a str,
    /// Additional styles, which precede the styles of the page, such as the embedded font.
    pub styles: &'a str,
    /// Data of the module as JSON, in an element with the id `data`.
    pub json: &'a str,
    /// Paragraphs for browsers without scripts, as plain text.
    pub words: &'a [String],
}

impl Saved<'_> {
    /// Returns the file. Its policy allows only its own script and style, by hash, and no external resources. Data
    /// can therefore never become code.
    pub fn html(&self) -> String {
        let script = bundle(self.entry);
        let page = file("/web/page.css").map_or("", |file| file.text);
        let style = format!("{}\n{page}", self.styles);
        let policy = format!(
            "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; img-src data: blob:; font-src data:; \
             base-uri 'none'; form-action 'none'",
            hash(&script),
            hash(&style)
        );
        let words: String = self.words.iter().map(|text| format!("<p>{}</p>", escape(text))).collect();
        let icon = file("/web/icon.svg").map_or("", |file| file.text);
        let icon = format!("data:image/svg+xml;base64,{}", base64(icon.as_bytes()));
        // In JSON, `<` occurs only in strings, where its escape has the same meaning. Without `<`, no string can end the element.
        let json = self.json.replace('<', "\\u003c");
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n<title>{}</title>\n\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
             <link rel=\"icon\" href=\"{icon}\" type=\"image/svg+xml\">\n<style>{style}</style>\n</head>\n<body class=\"report\">\n\
             <a class=\"skip\" href=\"#main\">Skip to the content</a>\n\
             <main id=\"main\" tabindex=\"-1\"><noscript>{words}</noscript></main>\n\
             <script type=\"application/json\" id=\"data\">{json}</script>\n<script type=\"module\">{script}</script>\n</body>\n</html>\n",
            escape(self.title),
        )
    }
}

fn hash(text: &str) -> String {
    base64(&Sha256::digest(text.as_bytes()))
}

/// Escapes text for use between tags or in an attribute.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Bundles a module and its imports into one script. Each module becomes a function that is called once and returns its
/// exports; imported modules come first. The modules of `web/` have a fixed form for this: an import is one line, and
/// an export begins a line.
fn bundle(entry: &str) -> String {
    let mut script = String::from("\n");
    let mut done: Vec<String> = Vec::new();
    append(entry, &mut done, &mut script);
    script
}

/// Appends modules depth first. A cycle of imports ends at the first module that is visited twice.
fn append(name: &str, done: &mut Vec<String>, script: &mut String) {
    if done.iter().any(|own| own == name) {
        return;
    }
    done.push(name.to_owned());
    let Some(File { text, .. }) = file(&format!("/web/{name}.js")) else { return };
    let mut body = String::with_capacity(text.len());
    let mut exports = Vec::new();
    for line in text.lines() {
        if let Some((names, from)) = import(line) {
            append(from, done, script);
            body.push_str(&format!("const {names} = ${from};\n"));
        } else if let Some(rest) = line.strip_prefix("export ") {
            exports.extend(declared(rest));
            body.push_str(&format!("{rest}\n"));
        } else {
            body.push_str(&format!("{line}\n"));
        }
    }
    script.push_str(&format!(
        "const ${name} = (() => {{\n{body}return {{ {} }};\n}})();\n",
        exports.join(", ")
    ));
}

/// Parses `import { a, b } from "./name.js";` into `({ a, b }, name)`.
fn import(line: &str) -> Option<(&str, &str)> {
    let (names, from) = line.strip_prefix("import ")?.split_once(" from \"./")?;
    Some((names, from.strip_suffix(".js\";")?))
}

/// Returns the name that a line declares.
fn declared(line: &str) -> Option<&str> {
    let mut words = line.split(|sign: char| !(sign.is_alphanumeric() || sign == '_'));
    words.find(|word| !matches!(*word, "" | "async" | "function" | "class" | "const" | "let"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FILES;

    const HOSTILE: &str = "</script><script>alert(1)</script><!--";

    fn saved() -> String {
        let json = format!("{{\"title\": \"{HOSTILE}\"}}");
        let words = [HOSTILE.to_owned()];
        Saved { title: HOSTILE, entry: "saved", styles: "@font-face{}", json: &json, words: &words }.html()
    }

    #[test]
    fn data_never_becomes_markup() {
        let html = saved();
        assert!(!html.contains("alert(1)<") && !html.contains("<script>"));
        // One element for the data and one for the module. The module itself looks for the data element in other
        // reports.
        let named = bundle("saved").matches("<script").count();
        assert_eq!((html.matches("<script").count() - named, html.matches("</script>").count()), (2, 2));
        assert!(html.contains("\\u003c/script>"));
    }

    #[test]
    fn policy_hashes_match_embedded_content() {
        let html = saved();
        let policy = html.split("content=\"").nth(1).unwrap().split('"').next().unwrap();
        assert!(
            policy.starts_with("default-src 'none'; ")
                && !policy.contains("unsafe")
                && !policy.contains("http")
        );
        for (open, close) in [("<style>", "</style>"), ("<script type=\"module\">", "</script>")] {
            let text = html.split(open).nth(1).unwrap().split(close).next().unwrap();
            assert!(policy.contains(&format!("'sha256-{}'", hash(text))), "{open}");
        }
        // Hash of the empty text, FIPS 180-4.
        assert_eq!(hash(""), "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
    }

    #[test]
    fn bundle_lists_modules_once_in_dependency_order() {
        let script = bundle("saved");
        for file in FILES {
            let Some(name) = file.path.strip_prefix("/web/").and_then(|path| path.strip_suffix(".js")) else {
                continue;
            };
            let count = script.matches(&format!("const ${name} = (")).count();
            let used = script.matches(&format!("}} = ${name};")).count();
            assert_eq!(count, usize::from(used > 0 || name == "saved"), "{name}");
            // No import or export is left, so every one of them had the supported form.
            let text = file.text;
            assert!(
                text.lines().all(|line| !line.starts_with("import ") || import(line).is_some()),
                "{name}"
            );
            assert!(
                !text.contains("export default") && !text.contains("export {") && !text.contains("export *"),
                "{name}"
            );
        }
        assert!(script.find("const $dom = (").unwrap() < script.find("const $plot = (").unwrap());
        assert!(!script.lines().any(|line| line.starts_with("import ") || line.starts_with("export ")));
        assert!(!script.to_lowercase().contains("</script") && !script.contains("<!--"));
    }
}
