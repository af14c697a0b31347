//! Format of help texts: 80 columns, options in groups, placeholders, and examples for every command.
use clap::Command;

/// Width of help texts in columns, regardless of the terminal.
pub const COLUMNS: usize = 80;
/// Number of examples that a command takes from its subcommands.
const BORROWED: usize = 3;
/// Options with addresses that may be `tls://`.
const ADDRESSES: [&str; 3] = ["connect", "e2", "e42"];
/// Reference to the TLS options, which are the same for all commands.
const TLS: &str = "\n\nWith tls:// addresses: --tls-certificate, --tls-key, --tls-authority\n(ranlab tls init makes these files)";
/// Reference to the HTTPS options, which are the same for all commands that listen for HTTP.
const HTTPS: &str = "\n\nHTTPS instead of HTTP: --https-certificate, --https-key\n(ranlab tls init makes these files; a public authority's are possible, too)";
/// Reference to the option of HTTPS clients.
const HTTPS_CLIENT: &str = "\n\nWith https:// addresses: --https-authority";
/// Indentation of the continuation lines of an example.
const CONTINUED: &str = "      ";

/// Formats a command and all its subcommands.
pub fn arrange(command: Command) -> Command {
    let name = command.get_name().to_owned();
    let command = command.term_width(COLUMNS).mut_subcommands(arrange).mut_args(|argument| {
        let id = argument.get_id().as_str().to_owned();
        let argument = match heading(&name, &id) {
            Some(heading) if argument.get_help_heading().is_none() && !argument.is_positional() => {
                argument.help_heading(heading)
            }
            _ => argument,
        };
        match placeholder(&name, &id).filter(|_| argument.get_action().takes_values()) {
            Some(name) => argument.value_name(name),
            None => argument,
        }
    });
    let has_address = command.get_arguments().any(|it| ADDRESSES.contains(&it.get_id().as_str()));
    let has = |name: &str| command.get_arguments().any(|it| it.get_id().as_str() == name);
    let mut tls = String::new();
    if cfg!(feature = "tls") {
        let all = [(has_address, TLS), (has("http") || has("web"), HTTPS), (has("rest"), HTTPS_CLIENT)];
        tls.extend(all.into_iter().filter(|(shown, _)| *shown).map(|(_, text)| text));
    }
    match command.get_after_help().map(ToString::to_string) {
        Some(text) => command.after_help(format!("{}{tls}", fit(&text))),
        None => {
            let borrowed: Vec<String> = command
                .get_subcommands()
                .filter_map(example)
                .take(BORROWED)
                .map(|line| format!("  {line}"))
                .collect();
            match borrowed.is_empty() {
                true => command,
                false => command.after_help(fit(&format!("Examples:\n{}", borrowed.join("\n")))),
            }
        }
    }
}

/// Returns the first example of a command, on one line.
pub fn example(command: &Command) -> Option<String> {
    examples(command).into_iter().next()
}

/// Returns the examples of a command, each on one line.
pub fn examples(command: &Command) -> Vec<String> {
    let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let mut examples: Vec<String> = Vec::new();
    let mut is_open = false;
    for line in text.lines().map(str::trim) {
        let (line, continues) = line.strip_suffix('\\').map_or((line, false), |line| (line.trim_end(), true));
        match examples.last_mut() {
            Some(last) if is_open => *last = format!("{last} {line}"),
            _ if line.starts_with("ranlab ") => examples.push(line.to_owned()),
            _ => continue,
        }
        is_open = continues;
    }
    examples
}

/// Returns the heading for an option by its name, or `None` for the heading "Options". In an xApp, some names have another meaning.
fn heading(command: &str, id: &str) -> Option<&'static str> {
    Some(match id {
        "dialect" if matches!(command, "ping" | "monitor") => "Protocol version",
        "bus" if command == "traffic" => "Statistics",
        "bus" | "advertise" if command == "worker" => "Network",
        "ue" | "plmn" if matches!(command, "monitor" | "control" | "slice") => return None,
        "window" | "rate" if matches!(command, "ping" | "orders") => return None,
        "format" | "verbose" | "help" | "version" => "Global options",
        id if id.starts_with("web") => "Live page",
        "http" | "http_token_file" | "trust" | "host" | "slicing" => "HTTP",
        id if id == "bus" || id.starts_with("bus_") || id.starts_with("advertise") => "Several RICs as one",
        "sm" | "kpi" | "kpi_series" | "iapp" | "publish" | "publish_token_file" | "period" => "Statistics",
        "xapps" | "manifests" | "a1_types" | "rmr" | "sdl" => "xApps",
        "radio" | "fidelity" | "channel" | "rlc_buffer" | "flows" | "stay" | "moves" | "snssai" | "plmn"
        | "stage_key" | "dus" => "Radio",
        "connect" | "one_of" | "wait" | "e2" | "e42" | "listen" | "allow" | "admit" | "n4" | "n3" | "n6"
        | "smf" | "smfs" | "gnb" | "gnbs" | "ue" | "server" | "dnn" | "access_instance" | "core_instance"
        | "core_interface" | "echo" | "sources" | "n3_io" => "Network",
        "arrivals" | "rate" | "rate_to" | "burst" | "window" | "sessions" | "live" | "hold" | "dynamic"
        | "round" | "lead" | "delay" | "mbr_mbps" | "volume_threshold" | "qfi" | "replay" | "times"
        | "gaps" => "Sessions",
        "uplink" | "downlink" | "unpaced" | "bytes" | "sizes" | "reflect_every" | "offered_mbps"
        | "no_smoke_test" => "Packets",
        "t1" | "n1" | "heartbeat" | "dialect" | "new_start_time" => "PFCP",
        "threads" | "thread_load" | "pin" | "io" | "max_nodes" | "upf_pid" => "This machine",
        "e2ap" | "encoding" | "sm_encoding" => "Protocol version",
        _ => return None,
    })
}

/// Returns the placeholder for an option's value by the option's name, or `None` to use the declared placeholder.
fn placeholder(command: &str, id: &str) -> Option<&'static str> {
    Some(match id {
        "ue" if command == "monitor" => "RNTI",
        "ue" if command == "slice" => "RNTI=SLICE",
        "ue" if command == "control" => "NAME=NUMBER,…",
        "http" | "n4" | "n3" | "smf" | "gnb" | "server" | "rmr" | "slicing" => "ADDRESS:PORT",
        "connect" | "e2" | "e42" | "advertise_e2" | "advertise_e42" | "sdl" | "publish" | "bus" => "URL",
        id if id.ends_with("_file") => "FILE",
        "xapps" | "registered" | "record" | "replay" => "FILE",
        "captures" | "manifests" | "a1_types" => "FOLDER",
        "ue" => "IP",
        "allow" | "trust" => "IP[/BITS]",
        "host" | "dnn" | "access_instance" | "core_instance" | "bus_name" | "bus_bucket" => "NAME",
        "nodes" | "ues" | "first" | "seed" | "threads" | "max_nodes" | "kpi_series" | "smfs" | "gnbs"
        | "window" | "burst" | "sessions" | "live" | "dynamic" | "reflect_every" | "n1" | "dus"
        | "bus_replicas" | "run" | "qfi" | "times" | "upf_pid" | "size" | "count" => "N",
        "thread_load" => "PERCENT",
        "radio" => "RAT:PRBS",
        "channel" => "MODEL:VALUE",
        "flows" => "FLOW",
        "snssai" => "SST[-SD]",
        "plmn" => "MCC.MNC",
        "stay" => "UES@FROM[-UNTIL]",
        "moves" => "UES=CELL@TIME",
        "mbr_mbps" | "offered_mbps" => "BIT/S",
        "uplink" | "downlink" => "PACKETS/S",
        "e2ap" => "VERSION",
        "pin" => "CPUS",
        _ => return None,
    })
}

/// Wraps examples to the width of help texts. A longer command continues on the next line.
fn fit(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let is_command = line.starts_with("  ") && line.chars().count() > COLUMNS;
        if is_command { continued(line) } else { line.to_owned() }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Splits a long command into several lines, between words and outside quotes.
fn continued(line: &str) -> String {
    let indent: String = line.chars().take_while(|c| *c == ' ').collect();
    let mut lines = vec![indent.clone()];
    for word in words(line.trim_start()) {
        let width = lines.last().map_or(0, |last| last.chars().count());
        let is_first = lines.last().is_some_and(|last| last.trim().is_empty());
        // Two columns are needed for the backslash.
        if !is_first && width + 1 + word.chars().count() + 2 > COLUMNS {
            if let Some(last) = lines.last_mut() {
                last.push_str(" \\");
            }
            lines.push(format!("{CONTINUED}{word}"));
        } else if let Some(last) = lines.last_mut() {
            last.push_str(if is_first { "" } else { " " });
            last.push_str(&word);
        }
    }
    lines.join("\n")
}

/// Splits a command into words like a shell, keeping quotes.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for c in text.chars() {
        match (quote, c) {
            (None, ' ') => words.push(String::new()),
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            _ => {}
        }
        if (c != ' ' || quote.is_some())
            && let Some(word) = words.last_mut()
        {
            word.push(c);
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn each(command: &Command, path: &str, check: &mut impl FnMut(&Command, &str)) {
        check(command, path);
        for below in command.get_subcommands() {
            each(below, &format!("{path} {}", below.get_name()), check);
        }
    }

    #[test]
    fn every_help_fits_80_columns() {
        let mut wide = Vec::new();
        let mut all = crate::verbs::command();
        // `build` copies the flags that parents share to each command.
        all.build();
        each(&all, "ranlab", &mut |command, path| {
            for text in [command.clone().render_long_help(), command.clone().render_help()] {
                let text = text.to_string();
                let over = text.lines().filter(|line| line.chars().count() > COLUMNS);
                wide.extend(over.map(|line| format!("{path}: {line}")));
            }
        });
        assert!(wide.is_empty(), "{wide:#?}");
    }

    #[test]
    fn every_command_has_an_example_that_parses() {
        let mut wrong = Vec::new();
        each(&crate::verbs::command(), "ranlab", &mut |command, path| match example(command) {
            None if path != "ranlab help" => wrong.push(format!("{path} has no example")),
            None => {}
            Some(line) => {
                // A shell operator ends the command of an example.
                let words = words(&line).into_iter().map(|word| word.replace(['\'', '"'], ""));
                let words: Vec<String> =
                    words.take_while(|word| !["&&", "&", ">", "|", "#"].contains(&word.as_str())).collect();
                let parsed = crate::verbs::command()
                    .try_get_matches_from(words.iter().map(|word| word.trim_end_matches(';')));
                if let Err(error) = parsed {
                    wrong.push(format!("{line}: {error}"));
                }
            }
        });
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn long_examples_continue_in_the_next_line() {
        let line = format!("  ranlab x {} -d 'a b {}'", "--flag value ".repeat(6).trim(), "c".repeat(30));
        let fitted = fit(&line);
        assert!(fitted.lines().all(|line| line.chars().count() <= COLUMNS), "{fitted}");
        assert_eq!(fitted.replace(" \\\n      ", " "), line);
    }
}
