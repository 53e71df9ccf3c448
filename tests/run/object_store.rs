//! Source, storage and target in an object store, over its real protocol.

use super::orders::{lines, pipeline};
use crate::harness::Workspace;
use hyper_util::rt::TokioIo;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use std::fs;
use std::net::SocketAddr;

/// A server for the folders below `root`, each a bucket, until the test ends.
fn serve(root: std::path::PathBuf) -> (tokio::runtime::Runtime, SocketAddr) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut builder = S3ServiceBuilder::new(s3s_fs::FileSystem::new(root).unwrap());
    builder.set_auth(SimpleAuth::from_single("key", "secret"));
    let service = builder.build();
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    runtime.spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let http = hyper::server::conn::http1::Builder::new();
            tokio::spawn(http.serve_connection(TokioIo::new(socket), service.clone()));
        }
    });
    (runtime, address)
}

#[test]
fn everything_may_lie_in_a_bucket() {
    let workspace = Workspace::new();
    for bucket in ["source", "storage", "target"] {
        fs::create_dir_all(workspace.path(&format!("s3/{bucket}"))).unwrap();
    }
    workspace.write("s3/source/orders/a.csv", lines(0..10, "a", 1));
    workspace.write("s3/source/orders/b.csv", lines(5..15, "b", 2));
    let text = pipeline("").replace("url: data/", "url: \"s3://source/orders/\"");
    let text =
        text.replace("sqlite: { url: \"sqlite://target.db\", table: orders }", "parquet: { url: \"s3://target/set\" }");
    workspace.write("pipeline.yaml", text);
    let (_runtime, address) = serve(workspace.path("s3"));
    let gristmill = |args: &[&str]| {
        let mut command = workspace.command(&[&["--storage", "s3://storage/gristmill", "--json"], args].concat());
        let credentials = [("AWS_ACCESS_KEY_ID", "key"), ("AWS_SECRET_ACCESS_KEY", "secret"), ("AWS_REGION", "local")];
        command.envs(credentials).env("AWS_ENDPOINT_URL", format!("http://{address}")).env("AWS_ALLOW_HTTP", "true");
        let output = command.output().unwrap();
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{args:?}: {out}\n{err}");
        assert!(!out.contains("secret") && !err.contains("secret"), "a credential was shown: {out}\n{err}");
        serde_json::from_str::<serde_json::Value>(&out).unwrap()["result"].clone()
    };

    let first = gristmill(&["run", "--once", "--count", "pipeline.yaml"]);
    assert_eq!(first["summary"]["recordsRead"], 20);
    assert_eq!(first["summary"]["targetRecords"], serde_json::json!({ "orders": 15 }));
    assert_eq!(gristmill(&["run", "--once", "pipeline.yaml"])["summary"]["recordsRead"], 0);
    assert_eq!(gristmill(&["batches", "verify", "orders"])["intact"], 1);
    assert_eq!(gristmill(&["replay", "orders", "--verify"])["equal"], 1);

    workspace.write("s3/source/orders/b.csv", lines(5..15, "b", 3));
    let third = gristmill(&["run", "--once", "--count", "pipeline.yaml"]);
    assert_eq!(third["summary"]["recordsRead"], 10, "a changed object is a new version");
    assert_eq!(third["summary"]["targetRecords"], serde_json::json!({ "orders": 15 }));
}
