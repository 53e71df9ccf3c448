//! Whole files: the reference's example, every broken example, and what must not show.

use super::*;
use proptest::prelude::*;
use std::path::PathBuf;
use std::time::Duration;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn blessing() -> bool {
    std::env::var_os("GRISTMILL_BLESS").is_some()
}

/// Compares with a file of the repository, or writes it.
fn assert_golden(path: &Path, actual: &str) {
    if blessing() {
        std::fs::write(path, actual).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        expected == actual,
        "{} is not current; if the new text is right, run the tests with GRISTMILL_BLESS=1\n--- expected\n{expected}\n--- actual\n{actual}",
        path.display()
    );
}

fn no_env(_: &str) -> Option<String> {
    None
}

/// The first YAML block of the reference page.
fn reference_example() -> String {
    let page = std::fs::read_to_string(root().join("docs/reference/pipeline.md")).unwrap();
    let block = page.split("```yaml\n").nth(1).unwrap();
    block.split("```").next().unwrap().to_owned()
}

/// A folder with what the reference's example reads.
fn example_folder(yaml: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("data/flights")).unwrap();
    for file in ["data/airlines.csv", "data/airports.csv"] {
        std::fs::write(folder.path().join(file), "faa,tz\nJFK,-5\n").unwrap();
    }
    std::fs::write(folder.path().join("pipeline.yaml"), yaml).unwrap();
    folder
}

fn load_text(yaml: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<Pipeline, Diagnoses> {
    let folder = example_folder(yaml);
    Pipeline::load(&folder.path().join("pipeline.yaml"), env)
}

const MINIMAL: &str = "version: 1\ntask: t\nschema: s-v1\nsource: { files: { url: data/flights, format: csv } }\n\
                       identity: [id]\nsink: { sqlite: { url: \"sqlite://t.db\" } }\n";

#[test]
fn the_example_of_the_reference_means_what_it_says() {
    let yaml = reference_example();
    let folder = example_folder(&yaml);
    let base = folder.path();
    let pipeline =
        Pipeline::load(&base.join("pipeline.yaml"), &no_env).unwrap_or_else(|d| panic!("{}", d.render(Style::Plain)));

    assert_eq!((pipeline.task.as_str(), pipeline.schema.as_str()), ("flights", "flights-v1"));
    assert_eq!(pipeline.base_dir, base);
    let SourceConfig::Files(files) = &pipeline.source;
    assert_eq!(files.url, Location::Local(base.join("data/flights/")));
    assert_eq!(files.pattern.as_deref(), Some("*.csv*"));
    let csv = CsvFormat { delimiter: b';', quote: b'\'', header: false, null_values: vec!["NA".into()] };
    assert_eq!(files.format, FileFormat::Csv(csv));
    let columns: Vec<_> =
        files.columns.iter().flat_map(|c| c.fields()).map(|f| (f.name.as_str(), f.logical_type.to_string())).collect();
    assert_eq!(columns, [("year", "int32".to_owned()), ("dep_time", "utf8".to_owned())]);
    assert_eq!((files.settle, files.max_field_bytes), (Duration::from_secs(2), 1 << 20));
    assert_eq!(pipeline.identity, ["flight_id"]);
    assert_eq!(pipeline.source_version, gristmill_core::version::VersionSource::Position);

    let normalize = pipeline.transforms.normalize.as_ref().unwrap();
    assert_eq!(normalize.component, ComponentRef::Label { name: "flights-normalize".into(), version: "0.1.0".into() });
    assert_eq!(normalize.config_json, "{}");
    let map = pipeline.transforms.map.as_ref().unwrap();
    assert_eq!(map.config_json, r#"{"delay_minutes":60}"#);
    let airports = &pipeline.transforms.dictionaries["airports"];
    assert_eq!((airports.file.clone(), airports.key.as_deref()), (base.join("data/airports.csv"), Some("faa")));
    assert_eq!(airports.columns.as_ref().unwrap().fields()[0].logical_type.to_string(), "int64");
    assert_eq!(pipeline.transforms.dictionaries["airlines"].key, None);
    assert_eq!(pipeline.transforms.limits, GuestLimits::default());
    assert_eq!(pipeline.batch, BatchLimits::default());

    let SinkConfig::Sqlite { path, .. } = &pipeline.sink else { panic!("a SQLite sink") };
    assert_eq!(*path, base.join("flights.db"));
    assert_eq!(pipeline.table("flights"), Target { table: "flights".into(), identity: vec!["flight_id".into()] });
    assert_eq!(pipeline.table("delays"), Target { table: "delays".into(), identity: vec!["flight_id".into()] });
    assert_eq!(pipeline.dead_letters.max_ratio, Some(0.01));
    assert_eq!(pipeline.dead_letters.max_records, Some(1000));
}

#[test]
fn what_is_left_out_has_its_default() {
    let pipeline = load_text(MINIMAL, &no_env).unwrap();
    let SourceConfig::Files(files) = &pipeline.source;
    assert_eq!(files.format, FileFormat::Csv(CsvFormat::default()));
    assert_eq!((&files.pattern, &files.columns), (&None, &None));
    assert!(pipeline.transforms.normalize.is_none() && pipeline.transforms.map.is_none());
    assert_eq!(pipeline.dead_letters.max_ratio, Some(0.01));
    assert_eq!(pipeline.table("records").table, "records");
}

#[test]
fn every_broken_example_gives_its_golden_diagnosis() {
    let folder = root().join("pipelines/broken");
    let mut examples: Vec<PathBuf> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    examples.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    examples.sort();
    assert!(examples.len() >= 25, "{} broken examples", examples.len());
    for path in &examples {
        let Err(diagnoses) = Pipeline::load(path, &no_env) else { panic!("{} is not broken", path.display()) };
        let root = format!("{}/", root().display());
        let rendered = diagnoses.render(Style::Plain).replace(&root, "");
        assert!(!rendered.contains("hunter2"), "a secret shows:\n{rendered}");
        for diagnosis in diagnoses.all() {
            assert!(diagnosis.hint().is_some_and(|hint| !hint.is_empty()), "no hint:\n{rendered}");
        }
        // Editors strip trailing spaces.
        let rendered: String = rendered.lines().map(|line| format!("{}\n", line.trim_end())).collect();
        assert_golden(&path.with_extension("expected.txt"), &rendered);
    }
    let goldens = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    for golden in goldens.filter(|path| path.to_string_lossy().ends_with(".expected.txt")) {
        let example = golden.to_string_lossy().replace(".expected.txt", ".yaml");
        assert!(Path::new(&example).is_file(), "{} belongs to no example", golden.display());
    }
}

/// Broken in form: an editor with the JSON Schema marks them as well.
const BROKEN_IN_FORM: &[&str] = &[
    "unknown-key",
    "unknown-key-at-top",
    "misspelt-required-key",
    "two-unknown-keys",
    "wrong-type",
    "wrong-type-text",
    "wrong-type-mapping",
    "missing-sink",
    "missing-format",
    "no-value",
    "bad-size",
    "bad-duration",
    "bad-id",
    "unknown-format",
    "unknown-format-option",
    "both-sinks",
    "no-sink-kind",
    "unknown-sink",
    "empty-identity",
    "bad-ratio",
    "version-2",
    "missing-version",
    "unknown-source-version",
    "list-at-root",
];

#[test]
fn the_json_schema_is_current_and_judges_as_the_loader_does() {
    let schema = json_schema();
    let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
    // Compared as values: the order of keys depends on a feature of serde_json that any dependency may turn on.
    let path = root().join("docs/reference/pipeline.schema.json");
    let current = std::fs::read_to_string(&path).ok().and_then(|text| serde_json::from_str(&text).ok());
    if current.as_ref() != Some(&schema) {
        assert_golden(&path, &text);
    }

    let validator = jsonschema::validator_for(&schema).unwrap();
    let value = |yaml: &str| serde_saphyr::from_str::<serde_json::Value>(yaml).unwrap();
    for good in [reference_example().as_str(), MINIMAL] {
        let errors: Vec<String> = validator.iter_errors(&value(good)).map(|error| error.to_string()).collect();
        assert_eq!(errors, Vec::<String>::new());
    }
    for name in BROKEN_IN_FORM {
        let yaml = std::fs::read_to_string(root().join(format!("pipelines/broken/{name}.yaml"))).unwrap();
        assert!(!validator.is_valid(&value(&yaml)), "{name} passes the JSON Schema");
    }
}

#[test]
fn a_task_version_depends_on_meaning_alone() {
    let canonical = |yaml: &str| load_text(yaml, &no_env).unwrap().canonical_json();
    let plain = canonical(MINIMAL);
    let laid_out = "# a comment\nsink:\n  sqlite:\n    url: 'sqlite://t.db'\nidentity:\n  - id\nversion: 1\n\
                    schema: s-v1\ntask: t\nsource:\n  files:\n    format: {csv: {delimiter: ','}}\n    url: data/flights\n\
                    batch: {max_rows: 50_000}\ndead_letters: {max_ratio: 0.5}\n";
    assert_eq!(canonical(laid_out), plain);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&plain).unwrap()["task"], "t");
    for (from, to) in [
        ("identity: [id]", "identity: [id, x]"),
        ("format: csv", "format: { csv: { delimiter: ';' } }"),
        ("task: t", "task: u"),
        ("sqlite://t.db", "sqlite://u.db"),
        ("identity", "source_version: arrival\nidentity"),
        ("identity", "batch: { max_rows: 7 }\nidentity"),
        ("identity", "transforms: { map: { component: m@0.1.0, config: { a: 1 } } }\nidentity"),
    ] {
        assert_ne!(canonical(&MINIMAL.replace(from, to)), plain, "{to}");
    }
}

#[test]
fn values_of_variables_reach_the_transform_and_nothing_else() {
    let env = |name: &str| (name == "KEY").then(|| "hunter2".to_owned());
    let yaml = format!(
        "{MINIMAL}transforms:\n  map:\n    component: m@0.1.0\n    config:\n      key: &k ${{KEY}}\n      again: [*k]\n      \
         in_text: \"a ${{KEY}}\"\n      plain: 1.5\n"
    );
    let pipeline = load_text(&yaml, &env).unwrap();
    let map = pipeline.transforms.map.as_ref().unwrap();
    assert_eq!(map.config_json, r#"{"again":["hunter2"],"in_text":"a hunter2","key":"hunter2","plain":1.5}"#);
    let canonical = pipeline.canonical_json();
    assert!(!canonical.contains("hunter2") && canonical.contains(r#""plain":1.5"#), "{canonical}");
    assert!(!format!("{pipeline:?}").contains("hunter2"));
    let other = load_text(&yaml, &|name| (name == "KEY").then(|| "other".to_owned())).unwrap();
    assert_ne!(other.canonical_json(), canonical, "another value is another task version");
}

#[test]
fn no_diagnosis_shows_the_value_of_a_variable() {
    let env = |name: &str| (name == "SECRET").then(|| "hunter2 @/:".to_owned());
    let secret = "\"${SECRET}\"";
    for (from, to) in [
        ("task: t", format!("task: {secret}")),
        ("schema: s-v1", format!("schema: {secret}")),
        ("data/flights", secret.to_owned()),
        ("data/flights", "\"${SECRET}://x\"".to_owned()),
        ("format: csv", format!("format: {secret}")),
        ("format: csv", format!("format: {{ csv: {{ delimiter: {secret} }} }}")),
        ("format: csv", "format: csv, pattern: \"[${SECRET}\"".to_owned()),
        ("format: csv", format!("format: csv, columns: {{ a: {secret} }}")),
        ("format: csv", format!("format: csv, columns: {{ a: int8 }}, settle: {secret}")),
        ("[id]", format!("[{secret}, {secret}]")),
        ("[id]", secret.to_owned()),
        ("\"sqlite://t.db\"", secret.to_owned()),
        ("\"sqlite://t.db\"", "\"sqlite://${SECRET}/\"".to_owned()),
        ("\"sqlite://t.db\"", "\"${SECRET}:x\"".to_owned()),
        ("\"sqlite://t.db\"", "\"sqlite://t.db\", table: \"gristmill_${SECRET}\"".to_owned()),
        ("identity", format!("source_version: {secret}\nidentity")),
        ("identity", format!("batch: {{ max_rows: {secret}, max_bytes: {secret}, max_age: {secret} }}\nidentity")),
        ("identity", format!("dead_letters: {{ max_ratio: {secret} }}\nidentity")),
        ("identity", format!("transforms: {{ map: {secret} }}\nidentity")),
        ("identity", "transforms: { map: \"${SECRET}.wasm\" }\nidentity".to_owned()),
        ("identity", "transforms: { map: \"${SECRET}@1\" }\nidentity".to_owned()),
        ("identity", format!("transforms: {{ dictionaries: {{ a: {secret} }} }}\nidentity")),
        ("version: 1", format!("version: {secret}")),
    ] {
        let yaml = MINIMAL.replacen(from, &to, 1);
        let Err(diagnoses) = load_text(&yaml, &env) else { panic!("not refused: {yaml}") };
        let shown =
            format!("{}{diagnoses}{}", diagnoses.render(Style::Plain), serde_json::to_string(&diagnoses).unwrap());
        assert!(!shown.contains("hunter2"), "{yaml}\n{shown}");
    }
}

#[test]
fn later_checks_blame_the_nearest_place() {
    let yaml = reference_example();
    let pipeline = load_text(&yaml, &no_env).unwrap();
    let line_of = |needle: &str| Some(yaml[..yaml.find(needle).unwrap()].matches('\n').count() + 1);
    let line = |at| pipeline.diagnose(at, "no", "yes").line();
    assert_eq!(line(At::Map), line_of("  map:"));
    assert_eq!(line(At::SourceColumn("dep_time".into())), line_of("dep_time"));
    assert_eq!(line(At::SourceColumn("unknown".into())), line_of("columns:"));
    assert_eq!(line(At::Dictionary("airports".into())), line_of("airports:"));
    assert_eq!(line(At::Table("delays".into())), line_of("delays: {}"));
    assert_eq!(line(At::IdentityColumn("flight_id".into())), line_of("identity:"));
    assert_eq!(line(At::Schema), line_of("schema:"));
    let minimal = load_text(MINIMAL, &no_env).unwrap();
    assert_eq!(minimal.diagnose(At::Map, "no", "yes").line(), Some(1));
}

#[test]
fn object_stores_and_absolute_paths() {
    let url = |url: &str| {
        let yaml =
            MINIMAL.replace("{ sqlite: { url: \"sqlite://t.db\" } }", &format!("{{ parquet: {{ url: \"{url}\" }} }}"));
        load_text(&yaml, &no_env).map(|pipeline| match pipeline.sink {
            SinkConfig::Parquet { url, .. } => url.to_string(),
            SinkConfig::Sqlite { .. } => unreachable!("the file names a Parquet sink"),
        })
    };
    assert_eq!(url("s3://bucket/a/b/").unwrap(), "s3://bucket/a/b/");
    assert_eq!(url("file:///tmp/out/").unwrap(), "/tmp/out/");
    for bad in ["s3://", "s3:///x", "s3://bucket/x?y=z", "file://tmp/x", "gs://bucket/", "  "] {
        assert!(url(bad).is_err(), "{bad}");
    }
}

#[test]
fn files_that_cannot_be_read_are_said_to_be() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.yaml");
    let message = |path: &Path| Pipeline::load(path, &no_env).unwrap_err().all()[0].message().to_owned();
    assert!(message(&path).contains("cannot be read"));
    std::fs::write(&path, b"version: 1\ntask: \xff\n").unwrap();
    assert!(message(&path).contains("not UTF-8 text from byte 17"));
    std::fs::write(&path, "#".repeat(yaml::FILE_MAX_BYTES + 1)).unwrap();
    assert!(message(&path).contains("larger than 1MiB"));
    assert!(message(folder.path()).contains("cannot be read"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    /// A file that was damaged anywhere is read, or refused with places in it; it never ends the process.
    #[test]
    fn damaged_files_are_refused_in_order(
        at in 0.0..1.0_f64,
        cut in 0_usize..30,
        put in "(\\PC|\n|\t|: |- |[\\[\\]{},\"'&*!|>#%@`$0-9]|\\$\\{A\\}|null|true|1e9|é){0,6}",
    ) {
        let yaml = reference_example();
        let chars: Vec<char> = yaml.chars().collect();
        let start = (at * chars.len() as f64) as usize;
        let end = (start + cut).min(chars.len());
        let damaged: String = chars[..start].iter().copied().chain(put.chars()).chain(chars[end..].iter().copied()).collect();
        if let Err(diagnoses) = load_text(&damaged, &|_| Some("value".to_owned())) {
            prop_assert!(!diagnoses.all().is_empty());
            let places: Vec<_> = diagnoses.all().iter().map(|d| (d.line(), d.column())).collect();
            prop_assert!(places.is_sorted(), "{:?}", places);
            for diagnosis in diagnoses.all() {
                prop_assert!(diagnosis.line() <= Some(damaged.matches('\n').count() + 1));
                prop_assert!(diagnosis.render(Style::Plain).contains(diagnosis.message().split_whitespace().next().unwrap()));
                if diagnosis.line().is_some() {
                    prop_assert!(diagnosis.render(Style::Plain).contains("pipeline.yaml:"), "no snippet: {}", diagnosis);
                }
            }
        }
    }
}
