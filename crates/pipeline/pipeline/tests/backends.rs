//! The documentation table of backends is up to date, and a backend that claims to support a pipeline generates its
//! configuration.
#![allow(clippy::unwrap_used)] // helpers of tests, which clippy does not recognise as such

use ranlab_pipeline::backends::{self, BackendRequest, permitted};
use ranlab_pipeline::declare::Direction;
use ranlab_pipeline::pipelines::Pipeline;

const DIRECTIONS: [Direction; 2] = [Direction::Uplink, Direction::Downlink];

fn at(path: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

#[test]
fn documentation_table_is_up_to_date() {
    let path = at("../../../docs/reference/backends.md");
    let now = backends::document();
    if std::env::var_os("RANLAB_WRITE_BACKENDS").is_some() {
        std::fs::write(&path, &now).unwrap();
    }
    let stands = std::fs::read_to_string(&path).unwrap();
    assert!(
        stands == now,
        "docs/reference/backends.md is stale: RANLAB_WRITE_BACKENDS=1 cargo test --test backends"
    );
}

#[test]
fn supported_pipelines_translate_and_others_have_reasons() {
    for backend in backends::all() {
        assert_eq!(backends::named(backend.name()).unwrap().title(), backend.title());
        assert!(!backend.install().is_empty());
        let mut claims = 0;
        for pipeline in Pipeline::all() {
            let declaration = pipeline.build().unwrap();
            for direction in DIRECTIONS {
                let request = BackendRequest { declaration: &declaration, directions: &[direction] };
                let translated = backend.translate(&request);
                match permitted(*backend, &request) {
                    Ok(()) => {
                        assert!(!translated.unwrap().texts.is_empty(), "{}", backend.name());
                        claims += 1;
                    }
                    Err(refused) => {
                        assert_eq!(translated.unwrap_err(), refused);
                        assert!(!refused.lacks.is_empty() && refused.to_string().contains(backend.name()));
                    }
                }
            }
        }
        assert!(claims > 0, "{} supports no pipeline", backend.name());
    }
}
