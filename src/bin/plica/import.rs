//! `plica import`: what another program understood, or the rows of a BEIR corpus.

use crate::arguments::Import;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, counted};
use crate::progress::Progress;
use crate::signals;
use crate::sources::cannot_read;
use crate::values::ModelArgument;
use crate::writing::{Ledger, exists, keep_if_used, model, open_or_create, options};
use plica::ingest::{EntityUpdate, FoldInput, Model, Reader, UpdateInput};
use plica::interchange::{self, ImportOptions};
use plica::{Options, Writer};
use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// What stands below the options of `plica import --help`.
pub const HELP: &str = r#"Lines (all keys but type, doc, text, name and path may be left out; a document line comes before its chunks):
  {"type":"document","doc":"pride","title":"…","metadata":{},"fanout":5,"chunk_words":500,"memory":"document"}
  {"type":"chunk","doc":"pride","id":"pride:0","title":"…","text":"…","start":0,"end":812}
  {"type":"entity","doc":"pride","name":"Elizabeth Bennet","kind":"person","aliases":["Lizzy"],
   "descriptions":["…"],"chunks":["pride:0"]}            (chunks by id, or as "pride#0")
  {"type":"summary","doc":"pride","level":1,"index":0,"text":"…"}
  {"type":"outline","doc":"pride","path":["characters"],"category":true,"summary":"…"}
  {"type":"outline","doc":"pride","path":["characters","Elizabeth Bennet"],"summary":"…",
   "fields":[{"name":"role","value":"…","start":120,"end":180}],"links":[["events","The ball"]]}
  {"type":"record","doc":"pride","entity":"Jane Bennet","entity_type":"person","kind":"relation",
   "label":"sister_of","value":"Elizabeth Bennet","chunks":["pride:0"]}

Examples:
  plica export old.plica | plica import new.plica -
  plica import corpus.plica --beir datasets/scifact --memory index"#;

/// Imports.
pub fn import(arguments: &Import) -> Outcome {
    let out = RefCell::new(Output::new());
    let said = match (&arguments.beir, &arguments.file) {
        (Some(folder), _) => import_beir(arguments, folder, &out)?,
        (None, Some(file)) => import_lines(arguments, file, &out)?,
        (None, None) => {
            return Err(Failure::Usage("nothing to import: name a file, or a folder with --beir".to_owned()));
        }
    };
    let mut out = out.borrow_mut();
    if !arguments.json {
        out.line(said)?;
    }
    out.flush()
}

/// What an import did, in words.
fn summary(index: &Path, writer: &Writer, added: &[String], skipped: u64, unit: &str) -> String {
    let skipped = if skipped > 0 { format!(", {} there already", counted(skipped, unit)) } else { String::new() };
    let chunks = counted(writer.chunks(), "chunk");
    let (index, added) = (index.display(), added.join(", "));
    format!("{index}: added {added}{skipped}; {chunks} in all, commit {}", writer.sequence())
}

/// Imports JSON lines.
fn import_lines(arguments: &Import, file: &Path, out: &RefCell<Output>) -> Outcome<String> {
    let read = Cell::new(0);
    let (source, progress): (Box<dyn Read>, Progress) = if file == Path::new("-") {
        (Box::new(std::io::stdin().lock()), Progress::unbounded())
    } else {
        let opened = File::open(file).map_err(|error| cannot_read(file, &error))?;
        let metadata = opened.metadata().map_err(|error| cannot_read(file, &error))?;
        if metadata.is_dir() {
            return Err(Failure::message(format!("{} is a folder; --beir imports one", file.display())));
        }
        let progress = if metadata.is_file() { Progress::bytes(metadata.len()) } else { Progress::unbounded() };
        (Box::new(opened), progress)
    };
    progress.about("import");
    let counting = Counting { source, read: &read, progress: &progress };
    let created = !exists(&arguments.index);
    // Who writes lines to a pipe may wait for what becomes of one before the next.
    let threads = if file == Path::new("-") { 1 } else { threads() };
    let (lines, mut writer) = open_for(arguments, threads, BufReader::with_capacity(1 << 18, counting))?;
    let ledger = Ledger::new(out, arguments.json);
    let mut options = ImportOptions::new().cancel(signals::stop_flag()).on_commit(|commit| ledger.acknowledge(commit));
    if let Some(chunks) = arguments.commit_every {
        options = options.commit_every(chunks.get());
    }
    let imported = ledger.settle(interchange::import(&mut writer, lines, options));
    let imported = keep_if_used(created, Some(&writer), imported)?;
    let summaries = if imported.summaries == 1 { "summary" } else { "summaries" };
    let mut added = vec![
        counted(imported.documents, "document"),
        counted(imported.chunks, "chunk"),
        counted(imported.entities, "entity line"),
        format!("{} {summaries}", imported.summaries),
    ];
    if imported.outline > 0 {
        added.push(counted(imported.outline, "outline line"));
    }
    if imported.records > 0 {
        added.push(counted(imported.records, "record line"));
    }
    Ok(summary(&arguments.index, &writer, &added, imported.skipped, "line"))
}

/// Opens the index, or creates it: with what the options say, else with what the first document line says.
fn open_for<R: BufRead>(arguments: &Import, threads: usize, lines: R) -> Outcome<(impl BufRead, Writer)> {
    let (stated, lines) = interchange::stated(lines)?;
    let otherwise = options(&arguments.creation, stated.options(Options::new().threads(threads)));
    Ok((lines, open_or_create(&arguments.index, &arguments.creation, &otherwise)?))
}

/// Threads that an import uses: the writer's and one that reads ahead, where there are two processors.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |count| count.get().min(2))
}

/// Imports the rows of a BEIR corpus.
fn import_beir(arguments: &Import, folder: &Path, out: &RefCell<Output>) -> Outcome<String> {
    let corpus = folder.join("corpus.jsonl");
    if !exists(&corpus) {
        return Err(Failure::message(format!("{} is no BEIR folder: it holds no corpus.jsonl", folder.display())));
    }
    let created = !exists(&arguments.index);
    let mut writer =
        open_or_create(&arguments.index, &arguments.creation, &options(&arguments.creation, Options::new()))?;
    let mut progress = Progress::chunks(0);
    if !progress.is_hidden() {
        progress = Progress::chunks(count_lines(&corpus)?);
    }
    progress.about("import");
    let ledger = Ledger::new(out, arguments.json);
    let model = model(arguments.model.unwrap_or(ModelArgument::Builtin));
    let counted_model = model.map(|model| CountedModel { model, progress: &progress });
    let mut reader = Reader::new(counted_model.as_ref().map(|model| model as &dyn Model))
        .cancel(signals::stop_flag())
        .on_commit(|commit| ledger.acknowledge(commit));
    if let Some(chunks) = arguments.commit_every {
        reader = reader.commit_every(chunks.get());
    }
    let imported = ledger.settle(interchange::import_beir(&mut writer, folder, &mut reader, 1));
    let imported = keep_if_used(created, Some(&writer), imported)?;
    let added = [counted(imported.documents, "document"), counted(imported.chunks, "chunk")];
    Ok(summary(&arguments.index, &writer, &added, imported.skipped, "row"))
}

/// Lines of a file.
fn count_lines(path: &Path) -> Outcome<u64> {
    let mut lines = 0;
    let mut file = File::open(path).map_err(|error| cannot_read(path, &error))?;
    let mut buffer = vec![0; 1 << 18];
    loop {
        match file.read(&mut buffer).map_err(|error| cannot_read(path, &error))? {
            0 => return Ok(lines),
            read => lines += buffer.iter().take(read).filter(|&&byte| byte == b'\n').count() as u64,
        }
    }
}

/// A model whose updates are counted, so that progress can be shown.
struct CountedModel<'a> {
    model: &'a dyn Model,
    progress: &'a Progress,
}

impl Model for CountedModel<'_> {
    fn update(&self, input: &UpdateInput<'_>) -> plica::Result<Vec<EntityUpdate>> {
        self.progress.step();
        self.model.update(input)
    }

    fn fold(&self, input: &FoldInput<'_>) -> plica::Result<String> {
        self.model.fold(input)
    }
}

/// A source that shows how much of it was read.
struct Counting<'a, R> {
    source: R,
    read: &'a Cell<u64>,
    progress: &'a Progress,
}

impl<R: Read> Read for Counting<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let bytes = self.source.read(buffer)?;
        self.read.set(self.read.get() + bytes as u64);
        self.progress.at(self.read.get());
        Ok(bytes)
    }
}
