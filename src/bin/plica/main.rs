//! The `plica` command: the engine for people and scripts.
//!
//! One module a subject: `arguments` says what can be asked for, `output` how answers look, `failure` how a command
//! ends; the others are the commands. Nothing here knows more of the engine than its public interface.

mod arguments;
mod ask;
mod backup;
mod build;
mod check;
mod compile;
mod entities;
mod eval;
mod export;
mod failure;
mod hits;
mod import;
mod log;
mod opening;
mod outline;
mod outline_arguments;
mod output;
mod passage;
mod progress;
mod record_arguments;
mod records;
mod removal_arguments;
mod remove;
mod salvage;
mod search;
mod show;
mod signals;
mod sources;
mod stat;
mod vacuum;
mod values;
mod writing;

use arguments::{Arguments, Command};
use clap::Parser;
use failure::Outcome;
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run(&Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if let Some(text) = failure.text() {
                let _ = writeln!(std::io::stderr(), "plica: {}", text.replace(['\n', '\r'], " "));
            }
            failure.exit_code()
        }
    }
}

fn run(command: &Command) -> Outcome {
    match command {
        Command::Ask(arguments) => ask::ask(arguments),
        Command::Build(arguments) => build::build(arguments),
        Command::Append(arguments) => build::append(arguments),
        Command::Remove(arguments) => remove::remove(arguments),
        Command::Vacuum(arguments) => vacuum::vacuum(arguments),
        Command::Backup(arguments) => backup::backup(arguments),
        Command::Salvage(arguments) => salvage::salvage(arguments),
        Command::Search(arguments) => search::search(arguments),
        Command::Tree(arguments) => show::tree(arguments),
        Command::Compile(arguments) => compile::compile(arguments),
        Command::Outline(arguments) => outline::outline(arguments),
        Command::Navigate(arguments) => outline::navigate(arguments),
        Command::Subject(arguments) => outline::subject(arguments),
        Command::Entity(arguments) => entities::entity(arguments),
        Command::Entities(arguments) => entities::entities(arguments),
        Command::Chunk(arguments) => show::chunk(arguments),
        Command::Records(arguments) => records::records(arguments),
        Command::Record(arguments) => records::record(arguments),
        Command::Hop(arguments) => records::hop(arguments),
        Command::Cat(arguments) => show::cat(arguments),
        Command::Docs(arguments) => show::docs(arguments),
        Command::Stat(arguments) => stat::stat(arguments),
        Command::Check(arguments) => check::check(arguments),
        Command::Log(arguments) => log::log(arguments),
        Command::Import(arguments) => import::import(arguments),
        Command::Export(arguments) => export::export(arguments),
        Command::Eval(arguments) => eval::eval(arguments),
    }
}
