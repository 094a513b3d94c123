//! Plica beside its peers: one command, one table, losses included. `peers --help` says what can be asked for.

use plica_benches::clock::pin;
use plica_benches::corpus::{Corpus, Shape};
use plica_benches::row::{self, Files, Run, memory};
use plica_benches::table::Table;
use plica_benches::{Result, novels};
use std::path::PathBuf;
use std::time::{Duration, Instant};

const HELP: &str = "\
peers: Plica beside its peers, one table

  --chunks N       chunks of the Zipf corpus (100000)
  --novels DIR     the .txt files of a folder instead, chunked by Plica's chunker
  --tiles N        copies of the novels, each with other names (1)
  --rows LIST      of: bulk,size,search,document,alias,append,open,refresh,touch,history,memory (all)
  --history N      chunks of the worst history (10000); only of the Zipf corpus
  --most N         chunks of the largest file that append and open are measured on (as --chunks)
  --rounds N       rounds of a set of questions (11)
  --seconds N      seconds after which a set of questions is cut short (15)
  --folder DIR     where files are put; a temporary folder otherwise, removed at the end
  --export DIR     write the document, its understanding and the questions as JSON, for bm25s_peer.py
  --python PYTHON  a Python that has bm25s: run bm25s_peer.py, too
  --unpinned       leave threads on any core
";

/// All groups of rows.
const ROWS: &str = "bulk,size,search,document,alias,append,open,refresh,touch,history,memory";

struct Asked {
    run: Run,
    rows: Vec<String>,
    most: usize,
    /// Removed when dropped.
    _temporary: Option<tempfile::TempDir>,
}

fn asked(arguments: &[String]) -> Result<Option<Asked>> {
    let mut rest = arguments.iter();
    let (mut chunks, mut history, mut most, mut rounds, mut seconds, mut tiles) = (100_000, 10_000, None, 11, 15, 1);
    let (mut novels_folder, mut folder, mut export, mut python, mut rows) = (None, None, None, None, ROWS.to_owned());
    let mut pinned = true;
    while let Some(option) = rest.next() {
        if option == "--help" || option == "-h" {
            print!("{HELP}");
            return Ok(None);
        }
        if option == "--unpinned" {
            pinned = false;
            continue;
        }
        let value = rest.next().ok_or_else(|| format!("{option} needs a value; see --help"))?;
        match option.as_str() {
            "--chunks" => chunks = value.parse()?,
            "--novels" => novels_folder = Some(PathBuf::from(value)),
            "--tiles" => tiles = value.parse()?,
            "--rows" => rows = value.clone(),
            "--history" => history = value.parse()?,
            "--most" => most = Some(value.parse()?),
            "--rounds" => rounds = value.parse()?,
            "--seconds" => seconds = value.parse()?,
            "--folder" => folder = Some(PathBuf::from(value)),
            "--export" => export = Some(PathBuf::from(value)),
            "--python" => python = Some(PathBuf::from(value)),
            _ => return Err(format!("there is no {option}; see --help").into()),
        }
    }
    let rows: Vec<String> = rows.split(',').map(str::to_owned).collect();
    if let Some(unknown) = rows.iter().find(|row| !ROWS.split(',').any(|known| known == *row)) {
        return Err(format!("there are no rows {unknown:?}; there are {ROWS}").into());
    }
    let temporary = match &folder {
        None => Some(tempfile::tempdir()?),
        Some(folder) => {
            std::fs::create_dir_all(folder)?;
            None
        }
    };
    let folder = folder.or(temporary.as_ref().map(|folder| folder.path().to_owned())).ok_or("no folder")?;
    let (corpus, sources) = match novels_folder {
        Some(novels_folder) => {
            let (corpus, sources) = novels::read(&novels_folder, tiles)?;
            (corpus, Some(sources))
        }
        None => (Corpus::zipf(Shape::new(chunks)).keep(), None),
    };
    let most = most.unwrap_or(corpus.len());
    let limit = Duration::from_secs(seconds);
    let run = Run { folder, corpus, sources, history, rounds, limit, pinned, python, export };
    Ok(Some(Asked { run, rows, most, _temporary: temporary }))
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [what, path, chunks] = arguments.as_slice()
        && (what == memory::IMPORT || what == memory::READ)
    {
        return memory::be_child(what, path, chunks);
    }
    let Some(asked) = asked(&arguments)? else { return Ok(()) };
    let begun = Instant::now();
    let pinned = asked.run.pinned && pin([0]);
    let mut table = Table::default();
    let outcome = measure(&asked, &mut table);
    println!("{}", table.markdown());
    let (hit, missed) = table.verdicts();
    println!(
        "\n{} chunks of the corpus {}, {}; {hit} targets hit, {missed} missed; {:.0} s in all.",
        asked.run.corpus.len(),
        asked.run.corpus.name(),
        if pinned { "one pinned core" } else { "not pinned" },
        begun.elapsed().as_secs_f64()
    );
    outcome
}

/// All rows that were asked for. What was measured before an error is printed all the same.
fn measure(asked: &Asked, table: &mut Table) -> Result<()> {
    let (run, has) = (&asked.run, |name: &str| asked.rows.iter().any(|row| row == name));
    let files = if has("bulk") { row::bulk::rows(run, table)? } else { row::files(run, run.corpus.clone())? };
    if has("size") {
        row::size::rows(run, table, &files)?;
    }
    if has("search") {
        row::search::rows(run, table, &files, None)?;
    }
    if has("touch") {
        row::first_touch::rows(run, table, &files)?;
    }
    if has("document") && run.corpus.is_made() {
        row::document::rows(run, table, &files)?;
    }
    if has("alias") {
        row::alias::rows(run, table, &files)?;
    }
    if has("refresh") {
        row::open::refresh(run, table, &files)?;
    }
    if has("open") || has("append") {
        growing(asked, table, &files)?;
    }
    if has("history") && run.corpus.is_made() {
        row::history::rows(run, table, run.corpus.first(run.history), has("search"))?;
    }
    if has("memory") {
        row::memory::rows(run, table, &files)?;
    }
    Ok(())
}

/// The rows that are measured at powers of ten.
fn growing(asked: &Asked, table: &mut Table, files: &Files) -> Result<()> {
    let (run, has) = (&asked.run, |name: &str| asked.rows.iter().any(|row| row == name));
    let mut sizes: Vec<usize> = (2..).map(|power| 10usize.pow(power)).take_while(|&size| size <= asked.most).collect();
    if !sizes.contains(&run.corpus.len()) && run.corpus.len() <= asked.most {
        sizes.push(run.corpus.len());
    }
    let mut smallest = None;
    for chunks in sizes {
        let own = if chunks == run.corpus.len() { files.clone() } else { row::files(run, run.corpus.first(chunks))? };
        if has("open") && chunks >= 1000 {
            let medians = row::open::rows(run, table, &own, smallest)?;
            smallest = smallest.or(Some(medians));
        }
        if has("append") {
            row::append::rows(run, table, &own)?;
        }
    }
    Ok(())
}
