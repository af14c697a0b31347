//! Checks that the stored OpenAPI documents match the route tables.
use ranlab_http::openapi::{lines, openapi};
use ranlab_machine::routes::Document;
use ranlab_ric::{association, console, hosting, slicing, traffic, virt};
use ranlab_ric_server::{a1, commons, own};
use std::path::Path;

#[test]
fn stored_openapi_documents_match_the_routes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/reference/openapi");
    let documents: [(&str, &[Document]); 8] = [
        ("ric", &[own::DOCUMENT, console::DOCUMENT]),
        ("hosted-xapps", &[hosting::DOCUMENT]),
        ("shared-store", &[commons::DOCUMENT]),
        ("a1", &[a1::DOCUMENT]),
        ("slicing", &[slicing::DOCUMENT]),
        ("traffic", &[traffic::DOCUMENT, own::EVENTS]),
        ("association", &[association::DOCUMENT]),
        ("virt", &[virt::DOCUMENT]),
    ];
    for (name, documents) in documents {
        let file = folder.join(format!("{name}.json"));
        let text = lines(&openapi(documents));
        if std::env::var_os("RANLAB_WRITE_OPENAPI").is_some() {
            std::fs::write(&file, text).unwrap();
        } else {
            let stored = std::fs::read_to_string(&file).unwrap_or_default();
            assert!(
                stored == text,
                "{} is out of date; run the test with RANLAB_WRITE_OPENAPI=1 to write it",
                file.display()
            );
        }
    }
}

/// Each addition refers to an existing operation or parameter. Each referenced schema, parameter and failure is described.
#[test]
fn openapi_details_belong_to_existing_operations() {
    let common = openapi(&[own::DOCUMENT]);
    for document in [
        own::DOCUMENT,
        console::DOCUMENT,
        hosting::DOCUMENT,
        commons::DOCUMENT,
        a1::DOCUMENT,
        slicing::DOCUMENT,
        traffic::DOCUMENT,
        association::DOCUMENT,
        virt::DOCUMENT,
    ] {
        let details: serde_json::Value = serde_json::from_str(document.details).unwrap();
        let whole = openapi(&[document, own::EVENTS]).to_string();
        for id in details["operations"].as_object().into_iter().flat_map(|all| all.keys()) {
            assert!(
                whole.contains(&format!("\"operationId\":\"{id}\"")),
                "the details describe {id}, which is not an operation"
            );
        }
        for name in details["parameters"].as_object().into_iter().flat_map(|all| all.keys()) {
            let is_used = |route: &ranlab_machine::routes::Route| {
                route.parameters().any(|own| own == name) || route.query.contains(&name.as_str())
            };
            assert!(
                document.routes.iter().any(is_used),
                "the details describe {name}, which is not a parameter"
            );
        }
        let described = openapi(&[document, own::DOCUMENT]);
        for reference in whole.split("\"$ref\":\"#/components/").skip(1) {
            let pointer = format!("/components/{}", reference.split('"').next().unwrap_or_default());
            let found = described.pointer(&pointer).or_else(|| common.pointer(&pointer));
            assert!(found.is_some(), "{pointer} is referenced, but not described");
        }
    }
}
