use super::*;

const HEAD: &str = "name = \"strange\"\ntitle = \"S\"\nversion = \"1\"\n";

fn profile(rest: &str) -> Result<SystemProfile, String> {
    let peer: SystemProfile = read(&format!("{HEAD}{rest}"))?;
    peer.check().map(|()| peer)
}

#[test]
fn built_in_profiles_are_valid_and_named_as_their_files() {
    for name in names() {
        let peer = SystemProfile::load(name).unwrap();
        assert_eq!(peer.name, name);
        assert!(!peer.version.is_empty());
        // Only the required values are missing.
        let required = peer.fill.iter().filter(|(_, fill)| fill.default.is_none());
        let values: Vec<_> = required.map(|(fill, _)| format!("{fill}=/x")).collect();
        let filled = peer.filled(values.iter().map(String::as_str)).unwrap();
        let speaks = &filled.dialect;
        assert!(
            !(speaks.transports.is_empty() && speaks.southbound.is_empty() && speaks.n4.is_empty()),
            "{name}"
        );
    }
    assert_eq!(SystemProfile::load("oran-sc").unwrap().name, "oran-sc-ric");
}

#[test]
fn invalid_profiles_are_reported() {
    let error = SystemProfile::load("flexran2").unwrap_err().to_string();
    assert!(error.contains("known are ranlab, flexric"), "{error}");
    assert!(SystemProfile::load("./nothing.toml").unwrap_err().to_string().contains("cannot be read"));
    let peer = SystemProfile::load("flexric").unwrap();
    assert!(peer.refuses("udp").unwrap().contains("and not udp"));
    assert_eq!(peer.refuses("sctp"), None);
    assert!(SystemProfile::load("eupf").unwrap().refuses("tcp").unwrap().contains("speaks no E2"));
}

#[test]
fn profile_errors_name_line_key_and_allowed_values() {
    for (rest, words) in [
        ("[run]\nstrat = [\"x\"]", &["line 5", "strat", "start"][..]),
        ("[run]\neach = \"point\"", &["line 5", "point", "`repeat` or `campaign`"]),
        ("[run]\ngrace = \"5\"", &["\"5\" must be a time such as"]),
        ("[run]\nstart = \"sleep 5\"", &["line 5", "a sequence"]),
        ("[run]\nstop = [\"x\"]", &["`run.stop` has no `run.start`"]),
        ("[run]\nstart = [\"\"]", &["`run.start` must begin with a program"]),
        ("[ready]\nline = \"up\"", &["`ready.line` needs `run.start`"]),
        ("[ready]\nports = [\"2210\"]", &["`ready.ports`", "tcp:2210"]),
        ("[[read_back]]\nwhat = \"eggs\"\nurl = \"http://x\"", &["eggs", "`nodes`"]),
        (
            "[[read_back]]\nwhat = \"ues\"\nurl = \"http://x\"",
            &["`read_back` 1", "one of `count`, `sum` and `pattern`"],
        ),
    ] {
        let error = profile(rest).unwrap_err();
        assert!(words.iter().all(|word| error.contains(word)), "{rest}: {error}");
    }
}

#[test]
fn fill_values_are_substituted_everywhere() {
    let text = "[fill.folder]\nabout = \"where it was built\"\n[fill.port]\nabout = \"its port\"\ndefault = \"2210\"\n\
                [run]\nstart = [\"{folder}/rtc\", \"-p\", \"{port}\", \"{ \\\"a\\\": {} }\"]\nfolder = \"{folder}\"\n\
                [ready]\nports = [\"tcp:{port}\"]\n[addresses]\nsouthbound = \"127.0.0.1:{port}\"\n\
                [[read_back]]\nwhat = \"nodes\"\nurl = \"http://127.0.0.1:{port}/\"\npattern = 'x{2}'";
    let peer = profile(text).unwrap();
    let error = peer.clone().filled([]).unwrap_err().to_string();
    assert!(
        error.contains("needs `folder` (where it was built)") && error.contains("sut.fill = [\"folder=…\"]")
    );
    let error = peer.clone().filled(["folder=/x", "prot=1"]).unwrap_err().to_string();
    assert!(error.contains("\"prot=1\"") && error.contains("\"folder=…\", \"port=…\""), "{error}");
    let filled = peer.filled(["folder=/x", "port=2211"]).unwrap();
    assert_eq!(filled.run.start, ["/x/rtc", "-p", "2211", "{ \"a\": {} }"]);
    assert_eq!(filled.run.folder.as_deref(), Some(Path::new("/x")));
    assert_eq!(
        (&filled.ready.ports[0][..], &filled.addresses.southbound[..]),
        ("tcp:2211", "127.0.0.1:2211")
    );
    assert_eq!(
        (&filled.read_back[0].url[..], &filled.read_back[0].pattern[..]),
        ("http://127.0.0.1:2211/", "x{2}")
    );
    // A read-back entry without an address is dropped.
    let open5gs =
        SystemProfile::load("open5gs").unwrap().filled(["program=/x", "config=/y", "metrics="]).unwrap();
    assert!(open5gs.read_back.is_empty());
    // A running system needs only the values that are used.
    let running =
        profile(&text.replace("folder = \"{folder}\"\n", "")).unwrap().running().filled([]).unwrap();
    assert!(!running.runs() && running.ready.ports == ["tcp:2210"]);
    let error = profile("[run]\nstart = [\"{foldr}/rtc\"]").unwrap().filled([]).unwrap_err().to_string();
    assert!(error.contains("`{foldr}`") && error.contains("[fill.foldr]"), "{error}");
}
