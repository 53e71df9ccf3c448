//! The same promises over the S3 protocol, against a server on the loopback interface.

use super::*;
use crate::source::conformance::{Subject, all};
use crate::source::files::measure::row_bytes;
use hyper_util::rt::TokioIo;
use object_store::ObjectStoreExt;
use object_store::path::Path as ObjectPath;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;

const KEY: &str = "test-key";
const SECRET: &str = "test-secret";

/// A server over `root`, whose folders are buckets; its address.
async fn serve(root: &Path) -> String {
    let mut builder = S3ServiceBuilder::new(s3s_fs::FileSystem::new(root).unwrap());
    builder.set_auth(SimpleAuth::from_single(KEY, SECRET));
    let service = builder.build();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let connection =
                hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(socket), service.clone());
            tokio::spawn(connection);
        }
    });
    address
}

fn root(endpoint: &str, url: &str, secret: &str) -> FilesRoot {
    let settings = [
        ("aws_endpoint_url", endpoint),
        ("aws_allow_http", "true"),
        ("aws_region", "us-east-1"),
        ("aws_access_key_id", KEY),
        ("aws_secret_access_key", secret),
    ];
    let (store, prefix) = open_store_with(url, settings).unwrap();
    FilesRoot::Store { store, prefix }
}

fn s3_source(root: FilesRoot, spool_dir: &Path) -> FilesSource {
    let format = FileFormat::Csv(CsvOptions::default());
    let options = FilesOptions { root, spool_dir: spool_dir.to_owned(), ..options(Path::new("unused"), format) };
    FilesSource::new(options).unwrap()
}

fn csv(ids: std::ops::Range<u32>) -> String {
    let rows: String =
        ids.map(|id| format!("{id},\"a\nb\",{}\n", if id % 7 == 6 { "secret-x" } else { "1" })).collect();
    format!("id,name,size\n{rows}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_conform_and_leave_nothing_in_the_spool() {
    let (server, spool) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let bucket = server.path().join("bucket/in");
    std::fs::create_dir_all(&bucket).unwrap();
    write(&bucket, "a.csv", csv(0..10));
    write(&bucket, "b.csv.gz", gzip(csv(10..30).as_bytes()));
    write(&bucket, "_skipped.csv", "x");
    let endpoint = serve(server.path()).await;
    let cut_bucket = server.path().join("cut");
    std::fs::create_dir(&cut_bucket).unwrap();
    write(&cut_bucket, "a.csv", csv(0..10));
    let whole = gzip(csv(10..30).as_bytes());
    write(&cut_bucket, "b.csv.gz", &whole[..whole.len() - 1]);
    let (whole_root, cut_root) = (root(&endpoint, "s3://bucket/in/", SECRET), root(&endpoint, "s3://cut", SECRET));
    let (whole_spool, cut_spool) = (spool.path().to_owned(), spool.path().to_owned());
    all(&Subject {
        name: "s3".into(),
        open: Box::new(move || Box::new(s3_source(whole_root.clone(), &whole_spool))),
        content: Box::new(move || content_of(&bucket)),
        bytes: |rows| row_bytes(rows).iter().sum(),
        refused: 4,
        secrets: &["secret-x", SECRET],
        cut: Some((Box::new(move || Box::new(s3_source(cut_root.clone(), &cut_spool))), "b.csv.gz")),
    })
    .await;
    assert_eq!(std::fs::read_dir(spool.path()).unwrap().count(), 0, "the spool is empty");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn versions_of_objects() {
    let (server, spool) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::create_dir_all(server.path().join("bucket")).unwrap();
    let endpoint = serve(server.path()).await;
    let whole = root(&endpoint, "s3://bucket/in", SECRET);
    let FilesRoot::Store { store, .. } = &whole else { panic!("a store") };
    let put = async |key: &str, content: String| {
        store.put(&ObjectPath::from(key), content.into()).await.unwrap();
    };
    put("in/a.csv", csv(0..2)).await;
    let mut source = s3_source(whole.clone(), spool.path());
    let mut pages = read_all(&mut source).await;
    assert_eq!(ids(&pages), ["a.csv@1 insert 0", "a.csv@1 insert 1"]);
    assert!(matches!(source.poll(WIDE).await.unwrap(), Poll::Idle));
    put("in/0.csv", csv(5..6)).await;
    pages.extend(read_all(&mut source).await);
    assert_eq!(ids(&pages[1..]), ["0.csv@2 insert 5"]);
    assert!(!pages[1].state.contains_key("file:a.csv"), "an unchanged object is not even fetched");
    put("in/a.csv", csv(0..3)).await;
    put("in/b/c.csv", csv(8..9)).await;
    let page = source.poll(PageLimits { max_rows: 1, ..WIDE }).await.unwrap();
    let Poll::Page(page) = page else { panic!("{page:?}") };
    pages.push(*page);
    let cursor = pages[2].cursor_to.clone();
    let mut restarted = s3_source(whole.clone(), spool.path());
    assert_eq!(restarted.resume(&cursor, state_after(&pages)).await.unwrap(), Resumed::Valid);
    let rest = read_all(&mut restarted).await;
    assert_eq!(ids(&rest), ["a.csv@3 update 1", "a.csv@3 update 2", "b/c.csv@4 insert 8"]);

    put("in/a.csv", csv(0..4)).await;
    let mut restarted = s3_source(whole.clone(), spool.path());
    let resumed = restarted.resume(&cursor, state_after(&pages)).await.unwrap();
    assert_eq!(resumed, Resumed::Superseded { object: "a.csv".into() });
    store.delete(&ObjectPath::from("in/a.csv")).await.unwrap();
    let mut restarted = s3_source(whole.clone(), spool.path());
    assert!(matches!(restarted.resume(&cursor, state_after(&pages)).await, Err(SourceError::PositionLost { .. })));

    // The root may be one object, and an empty prefix is no error.
    let mut single = s3_source(root(&endpoint, "s3://bucket/in/b/c.csv", SECRET), spool.path());
    assert_eq!(ids(&read_all(&mut single).await), ["c.csv@1 insert 8"]);
    let mut nothing = s3_source(root(&endpoint, "s3://bucket/none", SECRET), spool.path());
    assert!(matches!(nothing.poll(WIDE).await.unwrap(), Poll::Idle));
    assert_eq!(std::fs::read_dir(spool.path()).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refusals_of_the_store_have_hints_and_no_secrets() {
    let (server, spool) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::create_dir_all(server.path().join("bucket")).unwrap();
    let endpoint = serve(server.path()).await;
    let denied = s3_source(root(&endpoint, "s3://bucket", "wrong-secret"), spool.path()).poll(WIDE).await;
    let missing = s3_source(root(&endpoint, "s3://no-bucket/x", SECRET), spool.path()).poll(WIDE).await;
    for answer in [denied, missing] {
        match answer {
            Err(SourceError::Permanent { what, hint }) => {
                assert!(!hint.is_empty() && !what.contains("secret"), "{what}");
            }
            other => panic!("{other:?}"),
        }
    }
    let no_spool = Path::new("/no/such/spool");
    write(&server.path().join("bucket"), "a.csv", csv(0..1));
    match s3_source(root(&endpoint, "s3://bucket", SECRET), no_spool).poll(WIDE).await {
        Err(SourceError::Permanent { what, .. }) => assert!(what.contains("/no/such/spool"), "{what}"),
        other => panic!("{other:?}"),
    }
}
