//! The `plica` command, run as a process: every command's answer, its JSON keys, exit statuses, and how it behaves when
//! it is interrupted, when nobody reads its output, and when what it is given is not what it needs.
#![cfg(feature = "cli")]

mod ask;
mod damage;
mod manners;
mod outline;
mod place;
mod reading;
mod records;
mod removal;
mod search;
mod writing;
