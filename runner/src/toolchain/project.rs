//! What to build: a folder, its name and version, its language.

use super::{ToolchainError, rust};
use serde::Deserialize;
use std::fmt;
use std::path::{Path, PathBuf};

/// A language that transforms are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    Rust,
    C,
    Zig,
    Go,
    /// Also plain JavaScript.
    #[serde(alias = "javascript")]
    TypeScript,
    Python,
}

impl Language {
    pub const ALL: [Self; 6] = [Self::Rust, Self::C, Self::Zig, Self::Go, Self::TypeScript, Self::Python];

    /// As `transform.toml` and the command line name it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::C => "c",
            Self::Zig => "zig",
            Self::Go => "go",
            Self::TypeScript => "typescript",
            Self::Python => "python",
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rust => "Rust",
            Self::C => "C",
            Self::Zig => "Zig",
            Self::Go => "Go",
            Self::TypeScript => "TypeScript",
            Self::Python => "Python",
        })
    }
}

/// The project file of every language but Rust.
pub(super) const PROJECT_FILE: &str = "transform.toml";
/// Where a project has its SDK.
pub(super) const SDK_DIR: &str = "vendor/gristmill";

/// A folder to build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Project {
    pub dir: PathBuf,
    pub name: String,
    pub version: String,
    pub language: Language,
    /// Relative to `dir`; none where the project does not say.
    sdk: Option<PathBuf>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProjectFile {
    name: String,
    version: String,
    language: Language,
    sdk: Option<PathBuf>,
}

impl Project {
    /// A Rust project.
    pub fn new(dir: &Path, name: &str, version: &str) -> Self {
        Self { dir: dir.to_owned(), name: name.into(), version: version.into(), language: Language::Rust, sdk: None }
    }

    pub fn read(dir: &Path) -> Result<Self, ToolchainError> {
        let problem = |problem: String| ToolchainError::Project { dir: dir.to_owned(), problem };
        let path = dir.join(PROJECT_FILE);
        if !path.exists() {
            return match dir.join("Cargo.toml").exists() {
                true => rust::project(dir),
                false if !dir.is_dir() => Err(problem("there is no such folder".to_owned())),
                false => Err(problem(format!("it has neither {PROJECT_FILE} nor Cargo.toml"))),
            };
        }
        let text =
            std::fs::read_to_string(&path).map_err(|source| ToolchainError::File { path: path.clone(), source })?;
        let file: ProjectFile =
            toml::from_str(&text).map_err(|e| problem(format!("{PROJECT_FILE}: {}", e.to_string().trim_end())))?;
        let ProjectFile { name, version, language, sdk } = file;
        if language == Language::Rust {
            return Err(problem(format!("a project in Rust has a Cargo.toml and no {PROJECT_FILE}")));
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if name.is_empty() || !name.chars().all(is_plain) {
            return Err(problem(format!("{PROJECT_FILE}: name: letters, digits and . _ - make a name")));
        }
        if !is_version(&version) {
            return Err(problem(format!("{PROJECT_FILE}: version: three numbers make a version, such as 0.1.0")));
        }
        // Compilers run in the folder, and must find the way back.
        let dir = dir.canonicalize().map_err(|source| ToolchainError::File { path: dir.to_owned(), source })?;
        Ok(Self { dir, name, version, language, sdk })
    }

    /// `name@version`
    pub fn label(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }

    /// The folder of the SDK: as the project says, else `vendor/gristmill`, else that of the clone that it lies in.
    pub fn sdk(&self) -> Result<PathBuf, ToolchainError> {
        let stated = self.dir.join(self.sdk.as_deref().unwrap_or(Path::new(SDK_DIR)));
        let of_clone = || {
            let folders = self.dir.ancestors().map(|dir| dir.join("guest-sdk").join(self.language.as_str()));
            folders.filter(|_| self.sdk.is_none()).find(|dir| dir.is_dir())
        };
        let found = Some(stated.clone()).filter(|dir| dir.is_dir()).or_else(of_clone);
        found.ok_or_else(|| {
            let problem = format!("there is no SDK in {}; `gristmill transform new` puts it there", stated.display());
            ToolchainError::Project { dir: self.dir.clone(), problem }
        })
    }

    /// The command that installs the toolchain.
    pub fn setup_command(&self) -> String {
        let sdk = self.sdk().unwrap_or_else(|_| self.dir.join(SDK_DIR));
        format!("bash {}", sdk.join("setup.sh").display())
    }
}

/// `1.2.3`, and what may stand behind it: `1.2.3-beta.1`.
fn is_version(text: &str) -> bool {
    let (core, rest) = text.split_at(text.find(['-', '+']).unwrap_or(text.len()));
    let number = |part: &str| !part.is_empty() && part.len() < 10 && part.bytes().all(|b| b.is_ascii_digit());
    let plain = rest.bytes().all(|b| b.is_ascii_alphanumeric() || b"-+.".contains(&b));
    core.split('.').count() == 3 && core.split('.').all(number) && plain && rest.len() != 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Project, String> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(PROJECT_FILE), text).unwrap();
        Project::read(dir.path()).map_err(|e| e.to_string())
    }

    #[test]
    fn a_project_file_is_read() {
        let project = read("name = \"web-log\"\nversion = \"0.1.0\"\nlanguage = \"javascript\"\n").unwrap();
        assert_eq!((project.label().as_str(), project.language), ("web-log@0.1.0", Language::TypeScript));
        assert!(project.sdk().unwrap_err().to_string().contains("vendor/gristmill"));
        assert!(project.setup_command().ends_with("vendor/gristmill/setup.sh"));
    }

    #[test]
    fn mistakes_are_named() {
        for (text, part) in [
            ("name = \"a b\"\nversion = \"0.1.0\"\nlanguage = \"c\"", "make a name"),
            ("name = \"../a\"\nversion = \"0.1.0\"\nlanguage = \"c\"", "make a name"),
            ("name = \"a\"\nversion = \"1.0\"\nlanguage = \"c\"", "three numbers"),
            ("name = \"a\"\nversion = \"1.0.0/x\"\nlanguage = \"c\"", "three numbers"),
            ("name = \"a\"\nversion = \"1.0.0\"\nlanguage = \"cobol\"", "unknown variant `cobol`"),
            ("name = \"a\"\nversion = \"1.0.0\"\nlanguage = \"rust\"", "Cargo.toml"),
            ("version = \"1.0.0\"\nlanguage = \"go\"", "missing field `name`"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(part), "`{error}` should say `{part}`");
        }
        assert!(is_version("1.20.3-beta.1") && is_version("0.0.0+b7"));
    }
}
