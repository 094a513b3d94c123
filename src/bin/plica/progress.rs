//! Progress of long work on standard error: only when that is a terminal.

use indicatif::{ProgressBar, ProgressStyle};
use std::time::Duration;

/// A progress bar with rate and time left; nothing at all when standard error is no terminal.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Work of so many bytes.
    pub fn bytes(total: u64) -> Self {
        Self::new(ProgressBar::new(total), "{bar:24} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left  {wide_msg}")
    }

    /// Work whose end is not known.
    pub fn unbounded() -> Self {
        Self::new(ProgressBar::new_spinner(), "{spinner} {bytes}, {bytes_per_sec}, {elapsed}  {wide_msg}")
    }

    /// Work of so many chunks.
    pub fn chunks(total: u64) -> Self {
        Self::new(
            ProgressBar::new(total),
            "{bar:24} {human_pos} of {human_len} chunks, {per_sec}, {eta} left  {wide_msg}",
        )
    }

    fn new(bar: ProgressBar, template: &str) -> Self {
        if !bar.is_hidden() {
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style.progress_chars("=> "));
            }
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        Self { bar }
    }

    /// What is worked on.
    pub fn about(&self, what: &str) {
        self.bar.set_message(crate::output::visible(what));
    }

    /// How far the work is.
    pub fn at(&self, position: u64) {
        self.bar.set_position(position);
    }

    /// One unit more is done.
    pub fn step(&self) {
        self.bar.inc(1);
    }

    /// Whether nobody sees it.
    pub fn is_hidden(&self) -> bool {
        self.bar.is_hidden()
    }

    /// Runs `print`, which writes to the terminal, with the bar out of its way.
    pub fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
