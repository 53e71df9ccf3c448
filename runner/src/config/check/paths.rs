//! Checks of files, folders and object stores.

use super::{Checker, Files};
use crate::config::pipeline::Location;
use crate::config::suggest;
use crate::config::values::Located;
use std::path::{Path, PathBuf};

impl Checker<'_> {
    /// A path relative to the pipeline file.
    pub(super) fn path(&self, text: &str) -> PathBuf {
        self.base_dir.join(text)
    }

    /// A file that must exist.
    pub(super) fn file(&mut self, what: &str, text: &Located<String>) -> Option<PathBuf> {
        let path = self.path(&text.value);
        if path.is_file() || self.files == Files::MayBeGone {
            return Some(path);
        }
        let shown = self.shown(text);
        let message = match path.is_dir() {
            true => format!("the {what} `{shown}` is a folder, not a file"),
            false => format!("the {what} `{shown}` does not exist"),
        };
        let hint = self.neighbour(text).unwrap_or_else(|| "the path is relative to the folder of this file".to_owned());
        self.refuse(text.span, message, hint);
        None
    }

    /// "Did you mean" for a path, from what stands where it points.
    pub(super) fn neighbour(&self, text: &Located<String>) -> Option<String> {
        if text.from_variable {
            return None;
        }
        let path = Path::new(text.value.trim_end_matches('/'));
        let name = path.file_name()?.to_str()?;
        let folder = path.parent()?;
        let entries = std::fs::read_dir(self.base_dir.join(folder)).ok()?.take(1_000);
        let mut names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        names.sort();
        let nearest = suggest::nearest(name, names.iter().map(String::as_str))?;
        Some(format!("did you mean `{}`?", folder.join(nearest).display()))
    }

    /// A folder, here or in an object store. None: refused.
    pub(super) fn location(&mut self, text: &Located<String>) -> Option<Location> {
        let value = text.value.as_str();
        let shown = self.shown(text);
        if value.trim().is_empty() {
            self.refuse(text.span, "`url` is empty", "write a folder, such as `data/`, or `s3://bucket/prefix/`");
            return None;
        }
        let Some((scheme, rest)) = value.split_once("://") else {
            return Some(Location::Local(self.path(value)));
        };
        match scheme {
            "file" if rest.starts_with('/') => Some(Location::Local(PathBuf::from(rest))),
            "file" => {
                let hint = format!(
                    "write `file:///absolute/path/`, or `{}` for a path relative to this file",
                    self.shown_rest(text, rest)
                );
                self.refuse(text.span, format!("`{shown}` is not an absolute path"), hint);
                None
            }
            "s3" => self.object_store(text),
            _ => {
                let hint = "use a path relative to this file, `file:///absolute/path/` or `s3://bucket/prefix/`";
                self.refuse(text.span, format!("`{shown}`: this kind of URL is not supported"), hint);
                None
            }
        }
    }

    fn shown_rest(&self, text: &Located<String>, rest: &str) -> String {
        if text.from_variable { "a/path/".to_owned() } else { rest.to_owned() }
    }

    fn object_store(&mut self, text: &Located<String>) -> Option<Location> {
        let shown = self.shown(text);
        let url = match url::Url::parse(&text.value) {
            Ok(url) if url.host_str().is_some_and(|host| !host.is_empty()) => url,
            _ => {
                self.refuse(text.span, format!("`{shown}` names no bucket"), "write `s3://bucket/prefix/`");
                return None;
            }
        };
        if !url.username().is_empty() || url.password().is_some() {
            let hint = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment instead";
            self.refuse(text.span, "credentials do not belong in a pipeline file", hint);
            return None;
        }
        if url.query().is_some() || url.fragment().is_some() {
            let hint =
                "write `s3://bucket/prefix/`; the region and the endpoint are set by AWS_REGION and AWS_ENDPOINT_URL";
            self.refuse(text.span, format!("`{shown}` has more than a bucket and a prefix"), hint);
            return None;
        }
        Some(Location::Url(url))
    }
}
