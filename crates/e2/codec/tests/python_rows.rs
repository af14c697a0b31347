//! Checks that the row classes of the Python package have the columns of the registry's models, in the same order.

use ranlab_e2_codec::e2sm::MODELS;

/// Fields of the class of a model in `models.py`, in their order.
fn fields(text: &str, model: &str) -> Vec<String> {
    let docstring = format!("\"\"\"A row of ``{model}`` (");
    let lines = text.lines().skip_while(|line| !line.contains(&docstring)).skip(1);
    let own = lines.take_while(|line| line.is_empty() || line.starts_with("    "));
    own.filter_map(|line| line.strip_prefix("    ")?.split_once(": ").map(|(name, _)| name.to_owned()))
        .filter(|name| !name.starts_with('#'))
        .collect()
}

#[test]
fn python_has_the_columns_of_each_model() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../bindings/python/python/ranlab/models.py");
    let text = std::fs::read_to_string(path).unwrap();
    for model in MODELS {
        let keys = ["ue", "bearer", "tunnel", "slice", "queue"].map(str::to_owned);
        let columns = model.columns().into_iter().map(|column| column.name.to_string());
        let expected: Vec<String> = keys.into_iter().chain(columns).collect();
        let found: Vec<String> =
            fields(&text, model.name()).iter().map(|it| it.trim_end_matches('_').to_owned()).collect();
        assert_eq!(found, expected, "{} is out of date: run bindings/python/models.py", model.name());
    }
}
