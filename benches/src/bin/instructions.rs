//! Instructions of the hot paths, counted by callgrind, beside those that `INSTRUCTIONS.md` keeps.
//!
//! Counts do not depend on how busy the machine is, so a change that makes a path longer is seen where a clock sees noise.
//! They say nothing of waiting: not for memory, and not for the disk. `--check` fails where a count is more than five per
//! cent above the kept one; `--write` keeps the new ones.

use plica_benches::{Result, row, workload};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Share by which a count may grow.
const SLACK: f64 = 0.05;

const HELP: &str = "\
instructions [--check | --write] [WORKLOAD …]: instructions of the hot paths, beside the kept ones

  --check   exit with 1 where one is more than 5 % worse
  --write   keep the new ones in benches/INSTRUCTIONS.md
";

const HEAD: &str = "\
# Instructions of the hot paths

Counted by callgrind in a release build: `cargo run --release --manifest-path benches/Cargo.toml --bin instructions`.
`-- --check` compares with this table and fails where one is more than 5 % worse; `-- --write` writes it.

| workload | instructions | what |
|---|---|---|
";

fn main() -> Result<ExitCode> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [word, name, folder] = arguments.as_slice()
        && word == "child"
    {
        workload::run(name, Path::new(folder))?;
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        print!("{HELP}");
        return Ok(ExitCode::SUCCESS);
    }
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("valgrind is not here, and nothing was counted. Debian and Ubuntu: apt-get install valgrind");
        return Ok(ExitCode::SUCCESS);
    }
    let (check, write) = (take(&mut arguments, "--check"), take(&mut arguments, "--write"));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("INSTRUCTIONS.md");
    let mut kept = kept(&std::fs::read_to_string(&path).unwrap_or_default());
    let folder = tempfile::tempdir()?;
    workload::prepare(folder.path(), workload::CHUNKS)?;
    let mut worse = 0;
    println!("| workload | instructions | kept | change |\n|---|---|---|---|");
    for (name, _) in workload::ALL {
        if !arguments.is_empty() && !arguments.iter().any(|asked| asked == name) {
            continue;
        }
        let now = count(name, folder.path())?;
        let before = kept.insert(name.to_owned(), now);
        let change = before.map_or(0.0, |before| now as f64 / before as f64 - 1.0);
        worse += u32::from(change > SLACK);
        let before = before.map_or("–".to_owned(), |before| row::count(before as usize));
        println!("| {name} | {} | {before} | {:+.1} % |", row::count(now as usize), change * 100.0);
    }
    if write {
        std::fs::write(&path, table(&kept))?;
    }
    if check && worse > 0 {
        println!("\n{worse} of them are more than 5 % worse");
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

fn take(arguments: &mut Vec<String>, option: &str) -> bool {
    let before = arguments.len();
    arguments.retain(|argument| argument != option);
    arguments.len() < before
}

/// Instructions of one workload, run under callgrind in a process of its own.
fn count(name: &str, folder: &Path) -> Result<u64> {
    let profile: PathBuf = folder.join("callgrind.out");
    let out = Command::new("valgrind")
        .args(["--tool=callgrind", "--collect-atstart=no", "--toggle-collect=*workload::measured*"])
        .arg(format!("--callgrind-out-file={}", profile.display()))
        .arg(std::env::current_exe()?)
        .args(["child", name])
        .arg(folder)
        .output()?;
    let said = String::from_utf8_lossy(&out.stderr);
    let found = said.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse::<u64>().ok());
    match found.filter(|&count| count > 0 && out.status.success()) {
        Some(count) => Ok(count),
        None => Err(format!("valgrind counted nothing for {name}: {said}").into()),
    }
}

fn kept(text: &str) -> BTreeMap<String, u64> {
    let rows = text.lines().filter_map(|line| {
        let mut cells = line.split('|').map(str::trim).skip(1);
        let name = cells.next()?;
        Some((name.to_owned(), cells.next()?.replace(',', "").parse().ok()?))
    });
    rows.collect()
}

fn table(kept: &BTreeMap<String, u64>) -> String {
    let mut out = HEAD.to_owned();
    for (name, what) in workload::ALL {
        if let Some(&count) = kept.get(name) {
            out.push_str(&format!("| {name} | {} | {what} |\n", row::count(count as usize)));
        }
    }
    out
}
