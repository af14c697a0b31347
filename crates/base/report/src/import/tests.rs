use super::*;
use crate::compare::{Finding, Options, compare};

const OLD: &str = r#"{"results":[{"command":"old","mean":0.10002,"times":[0.1001,0.0999,0.1003,0.0998,0.1,0.1002,0.0997,0.1001,0.1,0.1001]}]}"#;
const NEW: &str = r#"{"results":[{"command":"new","mean":0.10118,"times":[0.1012,0.1009,0.1015,0.101,0.1011,0.1013,0.1008,0.1014,0.1012,0.1014]}]}"#;

#[test]
fn two_files_of_hyperfine_are_compared() {
    let old = hyperfine(OLD, "old").unwrap();
    let new = hyperfine(NEW, "new").unwrap();
    let compared = compare(&old, &new, &Options::default());
    let [row] = &compared.rows[..] else { panic!("{:?}", compared.rows) };
    assert!((row.p.unwrap() - 4.94e-10).abs() < 1e-12 && (row.change - 0.0116).abs() < 1e-4, "{row:?}");
    assert_eq!((row.finding, row.floor.is_some()), (Finding::Worse, true));
    assert!(
        compared.sentence.starts_with("The campaigns differ in sut.command (old → new)."),
        "{}",
        compared.sentence
    );
}

#[test]
fn each_command_of_a_file_becomes_a_point() {
    let text = |command: &str, times: &str| {
        format!(
            r#"{{"results":[{{"command":"{command} 1","times":[{times}],"parameters":{{"threads":"1"}}}},
            {{"command":"{command} 2","times":[{times}],"parameters":{{"threads":"2"}}}}]}}"#
        )
    };
    let results = hyperfine(&text("old", "0.1, 0.2"), "t").unwrap();
    assert_eq!(
        results.points.iter().map(|point| point.point.label()).collect::<Vec<_>>(),
        ["threads=1", "threads=2"]
    );
    let compared = compare(&results, &hyperfine(&text("new", "0.3, 0.4"), "t").unwrap(), &Options::default());
    assert_eq!((compared.rows.len(), compared.unmatched), (2, (0, 0)));
    let same = r#"{"results":[{"command":"a","times":[1.0]},{"command":"b","times":[2.0]}]}"#;
    assert_eq!(hyperfine(same, "t").unwrap().points[1].point.label(), "sut.command=b");
    assert!(matches!(hyperfine(r#"{"results":[{"command":"a"}]}"#, "t"), Err(ImportError::Hyperfine(_))));
    assert!(matches!(hyperfine(r#"{"results":[]}"#, "t"), Err(ImportError::Empty)));
}

#[test]
fn scaling_law_is_fitted_to_concurrency_table() {
    let text =
        "n,throughput\n1,70.0\n16,845.92\n32,1302.93\n64,1682.19\n96,1762.85\n128,1734.55\n192,1583.56\n";
    let results = csv(text, "law", &[]).unwrap();
    assert_eq!((results.points.len(), results.points[1].values("throughput")), (7, vec![845.92]));
    #[cfg(feature = "report")]
    {
        let law = &crate::report::laws(&results)[0];
        assert!(law.sentence().contains("best n: 99.0 ("), "{}", law.sentence());
        assert!(law.sentence().contains("least squares of the logarithm"), "{}", law.sentence());
        let linear = "threads,ops\n1,10\n2,20\n4,40\n8,80\n16,160\n32,320\n";
        let law = &crate::report::laws(&csv(linear, "linear", &[]).unwrap())[0];
        assert!(law.sentence().contains("best threads: no peak"), "{}", law.sentence());
    }
}

#[test]
fn columns_have_roles_by_content_and_name() {
    let text = "\u{feff}build,run,threads,\"time, s\",note\r\na,1,1,1.0,x\r\na,2,1,1.1,x\r\nb,1,1,2.0,x\r\nb,2,1,2.1,x\r\n\r\n";
    let results = csv(text, "t", &[]).unwrap();
    assert_eq!(
        results.scenario.sweep.axes.iter().map(|axis| axis.path.as_str()).collect::<Vec<_>>(),
        ["build", "threads"]
    );
    assert_eq!(results.points[0].values("time, s"), [1.0, 1.1]);
    assert_eq!(results.points[0].point.settings["sut.note"], Value::from("x"));
    let one = csv("time_ms\n1\n2\n3\n", "t", &[]).unwrap();
    assert_eq!((one.points.len(), one.points[0].values("time_ms")), (1, vec![1.0, 2.0, 3.0]));
    let sized = csv("size;load;rtt_us\n64;1;2.5\n128;1;2.6\n", "t", &["size".into(), "load".into()]).unwrap();
    assert_eq!(sized.points[1].point.label(), "size=128 load=1");
}

#[test]
fn invalid_tables_are_rejected_with_reason() {
    let wrong = |text: &str| csv(text, "t", &[]).unwrap_err();
    assert_eq!(wrong(""), ImportError::Empty);
    assert_eq!(wrong("a,b\n"), ImportError::Empty);
    assert_eq!(wrong("n,x\n1,2\n3\n"), ImportError::Fields { line: 3, found: 1, expected: 2 });
    assert!(matches!(wrong("n,x\n1,2\n2,3\n3,oops\n"), ImportError::NotANumber { line: 4, .. }));
    assert_eq!(wrong("n,\"x\n1,2\n"), ImportError::OpenQuote(1));
    assert_eq!(wrong("x,x\n1,2\n"), ImportError::Header("x".into()));
    assert_eq!(wrong("name\na\nb\n"), ImportError::NoMetric);
    assert!(matches!(csv("n,x\n1,2\n", "t", &["y".into()]), Err(ImportError::NoColumn(..))));
}
