//! Tests that play roles in several processes: a test runs its own program again, with the role in the environment.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const ROLE: &str = "PLICA_TEST_ROLE";
const PLACE: &str = "PLICA_TEST_PLACE";

/// A child that does not outlive the test.
pub struct Reaped(pub Child);

impl Drop for Reaped {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Reaped {
    /// Waits for its end, which must be a good one.
    pub fn finish(mut self) {
        assert!(self.0.wait().unwrap().success(), "a child failed; its output is above");
    }
}

/// The role of this process and the path that it is about; `None` in the test itself.
pub fn role() -> Option<(String, PathBuf)> {
    Some((std::env::var(ROLE).ok()?, std::env::var_os(PLACE)?.into()))
}

/// What runs the test `name` in a role.
pub fn command(name: &str, role: &str, place: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--nocapture"]).env(ROLE, role).env(PLACE, place).stdout(Stdio::null());
    command
}

/// Runs the test `name` in a role.
pub fn start(name: &str, role: &str, place: &Path) -> Reaped {
    Reaped(command(name, role, place).spawn().unwrap())
}

/// How much of the whole run is to be done; a slice where nothing is said.
pub fn effort(variable: &str, slice: usize) -> usize {
    std::env::var(variable).ok().and_then(|value| value.parse().ok()).unwrap_or(slice)
}
