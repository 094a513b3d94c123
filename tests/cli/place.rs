//! A folder to run the command in, and what a run gave.

use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// What a run of the command gave.
pub struct Run {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Run {
    /// The output, of a run that must have succeeded and said nothing else.
    pub fn good(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (0, ""), "{}", self.out);
        self.out
    }

    /// The output as one JSON value.
    pub fn json(self) -> Value {
        let out = self.good();
        assert!(out.ends_with('\n') && out.lines().count() == 1, "{out}");
        serde_json::from_str(&out).unwrap()
    }

    /// The message of a run that must have failed with `code`: one line that starts as all do.
    pub fn failed(self, code: i32) -> String {
        assert_eq!(self.code, code, "{}{}", self.out, self.err);
        assert!(self.err.starts_with("plica: ") && self.err.lines().count() == 1, "{:?}", self.err);
        self.err
    }
}

/// A folder of its own for a test.
pub struct Place {
    pub dir: TempDir,
}

impl Place {
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    /// With an index `i.plica` of the test documents in chunks of 30 words at fan-out 2.
    pub fn with_index() -> Self {
        let place = Self::new();
        place.run(&["build", "i.plica", &data("folder"), "--chunk-words", "30", "--fanout", "2"]).good();
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plica"));
        command.current_dir(self.dir.path()).args(arguments).env_remove("CLICOLOR_FORCE");
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Run {
        self.run_with(arguments, "")
    }

    pub fn run_with(&self, arguments: &[&str], input: &str) -> Run {
        let mut command = self.command(arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // A command that does not read its input may have ended by now.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        Run {
            code: output.status.code().expect("ended by a signal"),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    pub fn json(&self, arguments: &[&str]) -> Value {
        let mut all = arguments.to_vec();
        all.push("--json");
        self.run(&all).json()
    }
}

pub fn data(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/cli").join(name).to_str().unwrap().to_owned()
}

pub fn harbour() -> String {
    fs::read_to_string(data("folder/harbour.txt")).unwrap()
}

pub fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

pub fn texts(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}
