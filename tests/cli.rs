//! The `plica` command, run as a process: every command's answer, its JSON keys, exit statuses, and how it behaves when
//! it is interrupted, when nobody reads its output, and when what it is given is not what it needs.
#![cfg(feature = "cli")]

use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// What a run of the command gave.
struct Run {
    code: i32,
    out: String,
    err: String,
}

impl Run {
    /// The output, of a run that must have succeeded and said nothing else.
    fn good(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (0, ""), "{}", self.out);
        self.out
    }

    /// The output as one JSON value.
    fn json(self) -> Value {
        let out = self.good();
        assert!(out.ends_with('\n') && out.lines().count() == 1, "{out}");
        serde_json::from_str(&out).unwrap()
    }

    /// The message of a run that must have failed with `code`: one line that starts as all do.
    fn failed(self, code: i32) -> String {
        assert_eq!(self.code, code, "{}{}", self.out, self.err);
        assert!(self.err.starts_with("plica: ") && self.err.lines().count() == 1, "{:?}", self.err);
        self.err
    }
}

/// A folder of its own for a test.
struct Place {
    dir: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    /// With an index `i.plica` of the test documents in chunks of 30 words at fan-out 2.
    fn with_index() -> Self {
        let place = Self::new();
        place.run(&["build", "i.plica", &data("folder"), "--chunk-words", "30", "--fanout", "2"]).good();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plica"));
        command.current_dir(self.dir.path()).args(arguments).env_remove("CLICOLOR_FORCE");
        command
    }

    fn run(&self, arguments: &[&str]) -> Run {
        self.run_with(arguments, "")
    }

    fn run_with(&self, arguments: &[&str], input: &str) -> Run {
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

    fn json(&self, arguments: &[&str]) -> Value {
        let mut all = arguments.to_vec();
        all.push("--json");
        self.run(&all).json()
    }
}

fn data(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/cli").join(name).to_str().unwrap().to_owned()
}

fn harbour() -> String {
    fs::read_to_string(data("folder/harbour.txt")).unwrap()
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}

#[test]
fn a_folder_is_built_and_read_back() {
    let place = Place::with_index();
    let docs = place.json(&["docs", "i.plica"]);
    assert_eq!(keys(&docs), ["docs"]);
    let names = ["doc", "title", "chunks", "words", "bytes", "entities", "summaries", "hash", "metadata"];
    assert_eq!(keys(&docs["docs"][0]), names);
    assert_eq!(docs["docs"][0]["doc"], "harbour.txt");
    assert_eq!(docs["docs"][1]["doc"], "sub/notes.md");
    assert_eq!(docs["docs"][1]["title"], "Notes on bells");
    assert_eq!(docs["docs"].as_array().unwrap().len(), 2);

    assert_eq!(place.run(&["cat", "i.plica", "harbour.txt"]).good(), harbour());
    let text = place.json(&["cat", "i.plica", "harbour.txt"]);
    assert_eq!(keys(&text), ["doc", "text"]);

    let chunk = place.json(&["chunk", "i.plica", "harbour.txt#1"]);
    let names = ["id", "chunk", "doc", "ordinal", "title", "text", "words", "start", "end", "entities", "summaries"];
    assert_eq!(keys(&chunk), names);
    let (start, end) = (chunk["start"].as_u64().unwrap() as usize, chunk["end"].as_u64().unwrap() as usize);
    assert_eq!(chunk["text"], harbour()[start..end]);

    let again = place.run(&["build", "i.plica", &data("folder")]).good();
    assert!(again.starts_with("harbour.txt: unchanged\nsub/notes.md: unchanged\n"), "{again}");
}

#[test]
fn the_fold_tree_is_walked_from_the_top() {
    let place = Place::with_index();
    let top = place.json(&["tree", "i.plica", "harbour.txt"]);
    assert_eq!(keys(&top), ["doc", "path", "level", "first", "count", "summary", "entries"]);
    assert_eq!(keys(&top["entries"][0]), ["level", "first", "count", "summary", "chunk"]);
    let mut path = Vec::new();
    let mut page = top;
    // The first entry of each page covers the beginning, one level further down.
    while page["entries"][0]["chunk"].is_null() {
        let entry = page["entries"][0].clone();
        assert_eq!(entry["first"], 0);
        assert!(!entry["summary"].as_str().unwrap().is_empty());
        path.push("0");
        page = place.json(&["tree", "i.plica", "harbour.txt", "--path", &path.join("/")]);
        assert_eq!(page["level"], entry["level"]);
        assert_eq!(page["summary"], entry["summary"]);
    }
    assert!(path.len() >= 2, "the test document must fold twice");
    assert_eq!(page["entries"][0]["chunk"], "harbour.txt#0");
    let human = place.run(&["tree", "i.plica", "harbour.txt", "--path", "0"]).good();
    assert!(human.contains("0/1  level"), "{human}");
    place.run(&["tree", "i.plica", "harbour.txt", "--path", "0/9"]).failed(1);
    assert_eq!(place.run(&["tree", "i.plica", "harbour.txt", "--path", "x"]).code, 2);
}

#[test]
fn the_entity_memory_is_shown() {
    let place = Place::with_index();
    let found = place.json(&["entity", "i.plica", "berta holm", "--doc", "harbour.txt"]);
    assert_eq!(keys(&found), ["entities"]);
    let record = &found["entities"][0];
    assert_eq!(keys(record), ["doc", "name", "kind", "aliases", "descriptions", "chunks"]);
    assert_eq!(record["name"], "Berta Holm");
    assert!(texts(&record["chunks"]).contains(&"harbour.txt#0"));
    let all = place.json(&["entities", "i.plica"]);
    assert_eq!(keys(&all["entities"][0]), keys(record));
    let of_one = place.json(&["entities", "i.plica", "--doc", "sub/notes.md"]);
    assert!(of_one["entities"].as_array().unwrap().len() < all["entities"].as_array().unwrap().len());
    assert!(place.run(&["entities", "i.plica"]).good().contains("Berta Holm"));
    assert!(place.run(&["entity", "i.plica", "nobody"]).failed(1).contains("nobody"));
}

#[test]
fn search_answers_with_stable_keys() {
    let place = Place::with_index();
    let answer = place.json(&["search", "i.plica", "church bell", "-k", "2"]);
    assert_eq!(keys(&answer), ["query", "doc", "stats", "hits"]);
    assert_eq!(answer["stats"], "collection");
    assert_eq!(answer["doc"], Value::Null);
    let hit = &answer["hits"][0];
    assert_eq!(keys(hit), ["rank", "id", "chunk", "doc", "ordinal", "score", "text", "start", "end"]);
    assert_eq!(answer["hits"].as_array().unwrap().len(), 2);
    assert!(hit["text"].as_str().unwrap().contains("bell"));
    let second = place.json(&["search", "i.plica", "church bell", "-k", "1", "--offset", "1"]);
    assert_eq!(second["hits"][0], answer["hits"][1]);

    let line = place.run(&["search", "i.plica", "bell", "--doc", "harbour.txt", "--json"]).good();
    assert!(line.starts_with("{\"query\":\"bell\",\"doc\":\"harbour.txt\",\"stats\":\"document\",\"hits\":["));
    for score in line.split("\"score\":").skip(1) {
        let (_, decimals) = score.split_once(',').unwrap().0.split_once('.').unwrap();
        assert!(decimals.len() >= 6, "{score}");
    }

    let explained = place.json(&["search", "i.plica", "Berta Holm", "--doc", "harbour.txt", "--explain"]);
    let explain = &explained["hits"][0]["explain"];
    assert_eq!(keys(explain), ["text", "memory", "summary", "records", "covering_summary"]);
    assert_eq!(keys(&explain["memory"]), ["raw", "z", "weight"]);
    assert_eq!(keys(&explain["records"][0]), ["name", "aliases", "descriptions", "scores"]);
    assert_eq!(explain["records"][0]["name"], "Berta Holm");

    let human = place.run(&["search", "i.plica", "church bell", "--explain"]).good();
    assert!(human.starts_with("1. harbour.txt#") && human.contains("why: text"), "{human}");
    assert!(!human.contains('\x1b'));
    assert!(place.run(&["search", "i.plica", "zebra"]).good().starts_with("no hits"));
    let all = place.json(&["search", "i.plica", "zebra", "--all", "--pool", "all", "-k", "100"]);
    assert!(all["hits"].as_array().unwrap().len() > 5);
    for wrong in [["--weights", "1,2"], ["--pool", "0"], ["--where", "x"], ["-k", "0"], ["--b", "2"]] {
        assert_eq!(place.run(&["search", "i.plica", "bell", wrong[0], wrong[1]]).code, 2);
    }
}

#[test]
fn queries_come_by_the_line() {
    let place = Place::with_index();
    let queries = "church bell\n{\"_id\":\"q7\",\"text\":\"bell\",\"metadata\":{\"doc_id\":\"sub/notes.md\"}}\n\n";
    place.write("queries.txt", queries);
    let arguments = ["search", "i.plica", "--queries", "queries.txt", "--json", "--doc", "harbour.txt", "--timings"];
    let out = place.run(&arguments).good();
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(keys(&lines[0]), ["query", "doc", "stats", "hits", "micros"]);
    assert_eq!(keys(&lines[1]), ["_id", "query", "doc", "stats", "hits", "micros"]);
    assert_eq!((&lines[0]["doc"], &lines[1]["doc"]), (&"harbour.txt".into(), &"sub/notes.md".into()));
    assert_eq!(lines[1]["_id"], "q7");
    // Answers stay in step with the lines, empty ones included.
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[2]["hits"], Value::Array(vec![]));

    let piped = place.run_with(&["search", "i.plica", "--queries", "-", "--json"], "bell\n").json();
    assert_eq!(piped["query"], "bell");
    let wrong = place.run_with(&["search", "i.plica", "--queries", "-"], "bell\n{\"text\":\n").failed(1);
    assert!(wrong.contains("line 2"), "{wrong}");
    let unknown = place.run_with(&["search", "i.plica", "--queries", "-", "--doc", "x"], "bell\n").failed(1);
    assert!(unknown.contains("\"x\""), "{unknown}");
}

#[test]
fn numbers_and_commits_are_shown() {
    let place = Place::with_index();
    let stat = place.json(&["stat", "i.plica"]);
    let first = ["documents", "chunks", "sequence", "segments", "merge_debt", "bytes", "calls", "docs"];
    assert_eq!(keys(&stat)[..first.len()], first);
    assert_eq!(keys(&stat["bytes"])[..3], ["total", "live", "dead"]);
    assert!(keys(&stat["bytes"]).contains(&"fold"));
    assert_eq!(stat["bytes"]["total"], fs::metadata(place.path("i.plica")).unwrap().len());
    assert_eq!(keys(&stat["calls"]), ["accepted", "expected", "given"]);
    assert_eq!(stat["calls"]["accepted"], stat["calls"]["expected"]);
    assert_eq!(keys(&stat["docs"][0]), ["doc", "chunks", "calls", "expected", "given"]);
    assert_eq!((&stat["fanout"], &stat["chunk_words"]), (&2.into(), &30.into()));

    let log = place.json(&["log", "i.plica"]);
    assert_eq!(keys(&log["commits"][0]), ["commit", "time", "documents", "chunks", "segments", "bytes"]);
    assert_eq!(log["commits"][0]["commit"], stat["sequence"]);
    assert_eq!(log["commits"][0]["documents"], 2);
    let before = log["commits"][1]["commit"].to_string();
    let docs = place.json(&["docs", "i.plica", "--at", &before]);
    assert_eq!(docs["docs"].as_array().unwrap().len(), 1);
    assert!(place.run(&["docs", "i.plica", "--at", "99"]).failed(1).contains("plica log"));

    let check = place.json(&["check", "i.plica"]);
    assert_eq!(keys(&check), ["blocks", "bytes", "documents", "chunks", "entities", "findings"]);
    assert_eq!(check["findings"], Value::Array(vec![]));
    assert!(place.run(&["check", "i.plica"]).good().starts_with("sound: "));
    assert!(place.run(&["stat", "i.plica"]).good().contains("T(N, f)"));
    assert!(place.run(&["log", "i.plica"]).good().starts_with("commit"));
}

#[test]
fn damage_is_exit_status_3_whichever_command_meets_it() {
    let place = Place::with_index();
    let sound = fs::read(place.path("i.plica")).unwrap();
    let mut met = 0;
    for at in (20_480..sound.len()).step_by(701) {
        let mut bytes = sound.clone();
        bytes[at] ^= 0x10;
        place.write("d.plica", &bytes);
        let check = place.run(&["check", "d.plica", "--json"]);
        if check.code == 0 {
            // A byte of padding, or behind the last commit.
            continue;
        }
        assert_eq!((check.code, check.err.as_str()), (3, ""), "at {at}");
        let report: Value = serde_json::from_str(&check.out).unwrap();
        assert_eq!(keys(&report["findings"][0]), ["offset", "what", "detail"]);
        let cat = place.run(&["cat", "d.plica", "harbour.txt"]);
        assert!(cat.code == 3 || cat.code == 0 && cat.out == harbour(), "at {at}: {}", cat.err);
        met += usize::from(cat.code == 3);
    }
    assert!(met > 0, "no command but check met any damage");
    // Both publish slots and both intent slots.
    let mut bytes = sound;
    bytes[4096..20_480].fill(0x55);
    place.write("d.plica", &bytes);
    place.run(&["docs", "d.plica"]).failed(3);
    let check = place.run(&["check", "d.plica"]);
    assert_eq!(check.code, 3);
    assert!(check.out.starts_with("damaged "), "{}", check.out);
}

#[test]
fn errors_say_what_to_do() {
    let place = Place::with_index();
    place.write("a.txt", "One sentence.");
    place.write("latin.txt", b"caf\xe9");
    place.write("empty.txt", "");
    assert!(place.run(&["docs", "none.plica"]).failed(1).contains("plica build"));
    assert!(place.run(&["docs", "a.txt"]).failed(1).contains("no Plica index"));
    assert!(place.run(&["docs", "."]).failed(1).contains("."));
    assert!(place.run(&["build", "n.plica", "none.txt"]).failed(1).contains("none.txt"));
    assert!(place.run(&["build", "n.plica", "latin.txt"]).failed(1).contains("latin.txt: expected UTF-8"));
    assert!(place.run(&["build", "n.plica", "empty.txt"]).failed(1).contains("empty"));
    assert!(place.run(&["build", "n.plica", "i.plica"]).failed(1).contains("index"));
    assert!(!place.path("n.plica").exists(), "what cannot be read must not leave an index behind");
    let twice = place.run(&["build", "n.plica", "a.txt", &format!("{}/a.txt", place.dir.path().display())]);
    assert!(twice.failed(1).contains("--doc"));
    assert!(place.run(&["build", "n.plica", "a.txt", "empty.txt", "--doc", "x"]).failed(2).contains("--doc"));
    assert!(place.run(&["build", "i.plica", "a.txt", "--fanout", "3"]).failed(1).contains("--fanout 2"));
    assert!(place.run(&["build", "i.plica", "a.txt", "--chunk-words", "31"]).failed(1).contains("30"));
    assert!(place.run(&["build", "i.plica", "a.txt", "--memory", "index"]).failed(1).contains("--memory document"));
    place.write("harbour.txt", "Quite another text.");
    assert!(place.run(&["build", "i.plica", "harbour.txt"]).failed(1).contains("another text"));
    assert!(place.run(&["append", "i.plica", "nobody", "a.txt"]).failed(1).contains("nobody"));
    assert!(place.run(&["append", "none.plica", "a", "a.txt"]).failed(1).contains("none.plica"));
    assert!(place.run(&["chunk", "i.plica", "harbour.txt#99"]).failed(1).contains("#99"));
    assert!(place.run(&["cat", "i.plica", "x"]).failed(1).contains("\"x\""));
    assert!(place.run(&["import", "n.plica", "."]).failed(1).contains("--beir"));
    assert!(place.run(&["import", "n.plica", "--beir", "."]).failed(1).contains("corpus.jsonl"));
    for usage in [&["nonsense"][..], &["build", "i.plica"], &["search", "i.plica"], &["docs"], &[]] {
        assert_eq!(place.run(usage).code, 2, "{usage:?}");
    }
}

#[test]
fn every_command_has_help_with_an_example() {
    let place = Place::new();
    let help = place.run(&["--help"]).good();
    for command in [
        "ask", "build", "append", "search", "tree", "entity", "entities", "chunk", "cat", "docs", "stat", "check",
        "log", "import", "export", "eval",
    ] {
        assert!(help.contains(&format!("\n  {command} ")), "{command} not in {help}");
        let own = place.run(&[command, "--help"]).good();
        assert!(
            own.contains(&format!("\n  plica {command} ")) || own.contains(&format!("| plica {command} ")),
            "{own}"
        );
    }
    assert!(help.contains("Start:"));
    assert!(place.run(&["--version"]).good().starts_with("plica 0."));
}

#[test]
fn commits_are_acknowledged_by_the_line() {
    let place = Place::new();
    place.write("a.txt", "One is here. Two is here. Three is here. ");
    let built = place.run(&["build", "a.plica", "a.txt", "--chunk-words", "3", "--json"]).good();
    assert_eq!(built, "{\"commit\":2,\"chunks\":3}\n");
    assert_eq!(place.run(&["build", "a.plica", "a.txt", "--json"]).good(), "");
    let arguments = ["append", "a.plica", "a.txt", "-", "--commit-every", "1", "--json"];
    let appended = place.run_with(&arguments, "Four is here. Five is here.").good();
    let lines: Vec<Value> = appended.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().all(|line| keys(line) == ["commit", "chunks"]));
    assert_eq!((&lines[0]["chunks"], &lines[1]["chunks"]), (&4.into(), &5.into()));
    assert_eq!((&lines[0]["commit"], &lines[1]["commit"]), (&3.into(), &4.into()));
    let text = place.run(&["cat", "a.plica", "a.txt"]).good();
    assert_eq!(text, "One is here. Two is here. Three is here. Four is here. Five is here.");
}

/// A long append, with a commit a chunk, that nobody reads the acknowledgements of but for the first: it cannot end
/// before it is sent a signal, because the pipe fills up.
#[cfg(unix)]
fn interrupt(signal: &str) -> (Place, Option<i32>, String, String) {
    let place = Place::new();
    place.write("a.txt", "The first.");
    let more: String = (0..6000).map(|number| format!("Sentence {number} is added. ")).collect();
    place.write("more.txt", &more);
    place.run(&["build", "a.plica", "a.txt", "--chunk-words", "4", "--model", "none"]).good();
    let mut child = place
        .command(&["append", "a.plica", "a.txt", "more.txt", "--commit-every", "1", "--json", "--model", "none"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut acknowledged = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    acknowledged.read_line(&mut first).unwrap();
    assert_eq!(first, "{\"commit\":3,\"chunks\":2}\n");
    let id = child.id().to_string();
    assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    let mut rest = String::new();
    acknowledged.read_to_string(&mut rest).unwrap();
    let output = child.wait_with_output().unwrap();
    // A last line may be cut short by a kill.
    let whole = rest.rfind('\n').map_or("", |end| &rest[..end]);
    let last = whole.lines().last().unwrap_or(first.trim_end()).to_owned();
    (place, output.status.code(), String::from_utf8(output.stderr).unwrap(), last)
}

/// What was acknowledged is there, and the same append completes the document.
#[cfg(unix)]
fn goes_on(place: &Place, last: &str) {
    let last: Value = serde_json::from_str(last).unwrap();
    let chunks = last["chunks"].as_u64().unwrap();
    assert!(chunks < 6000, "the append was not interrupted");
    assert!(place.json(&["stat", "a.plica"])["chunks"].as_u64().unwrap() >= chunks);
    place.run(&["append", "a.plica", "a.txt", "more.txt", "--model", "none"]).good();
    let more = fs::read_to_string(place.path("more.txt")).unwrap();
    assert_eq!(place.run(&["cat", "a.plica", "a.txt"]).good(), format!("The first.{more}"));
    assert_eq!(place.run(&["check", "a.plica"]).code, 0);
}

#[cfg(unix)]
#[test]
fn an_interrupted_append_goes_on_where_it_was() {
    let (place, code, err, last) = interrupt("-INT");
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("same command goes on"), "{err}");
    goes_on(&place, &last);
}

#[cfg(unix)]
#[test]
fn a_killed_append_goes_on_where_it_was() {
    let (place, code, _, last) = interrupt("-KILL");
    assert_eq!(code, None);
    goes_on(&place, &last);
}

#[test]
fn a_closed_pipe_ends_it_quietly() {
    let place = Place::with_index();
    place.write("long.txt", "The tide comes in and the tide goes out again. ".repeat(8000));
    place.run(&["build", "long.plica", "long.txt", "--model", "none"]).good();
    place.write("new.txt", "A new text. ".repeat(100));
    for arguments in [
        &["cat", "long.plica", "long.txt"][..],
        &["docs", "i.plica"],
        &["export", "long.plica"],
        &["search", "i.plica", "bell", "--json"],
        &["build", "new.plica", "new.txt", "--json"],
        &["check", "i.plica"],
    ] {
        let mut command = place.command(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "{arguments:?}");
    }
}

#[test]
fn a_second_writer_is_told_which_file_and_what_to_do() {
    let place = Place::with_index();
    let _writer = plica::Writer::open(place.path("i.plica")).unwrap();
    place.write("a.txt", "One sentence.");
    let error = place.run(&["build", "i.plica", "a.txt"]).failed(1);
    assert!(error.contains("i.plica is being written by another writer") && error.contains("wait"), "{error}");
    // Readers do not mind.
    place.run(&["docs", "i.plica"]).good();
}

#[cfg(unix)]
#[test]
fn reading_writes_nothing() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::with_index();
    let folder = place.path("read-only");
    fs::create_dir(&folder).unwrap();
    fs::copy(place.path("i.plica"), folder.join("i.plica")).unwrap();
    fs::set_permissions(folder.join("i.plica"), fs::Permissions::from_mode(0o444)).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).unwrap();
    let before = fs::read(folder.join("i.plica")).unwrap();
    for arguments in [
        &["search", "read-only/i.plica", "bell"][..],
        &["stat", "read-only/i.plica"],
        &["check", "read-only/i.plica"],
        &["export", "read-only/i.plica"],
    ] {
        place.run(arguments).good();
    }
    let names: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(names, ["i.plica"]);
    assert_eq!(fs::read(folder.join("i.plica")).unwrap(), before);
}

#[test]
fn ask_builds_extends_and_rebuilds() {
    let place = Place::new();
    let commit = || place.json(&["stat", "h.txt.plica"])["sequence"].as_u64().unwrap();
    let of = || place.run(&["cat", "h.txt.plica", "h.txt"]).good();
    place.write("h.txt", harbour());
    let human = place.run(&["ask", "h.txt", "Who is Berta Holm?"]).good();
    assert!(human.contains("why: ") && human.contains("Berta Holm"), "{human}");
    let built = commit();
    let answer = place.json(&["ask", "h.txt", "church bell", "-k", "3"]);
    assert_eq!(keys(&answer), ["query", "doc", "stats", "hits"]);
    assert!(answer["hits"][0]["explain"].is_object());
    assert_eq!(commit(), built, "nothing changed, so nothing is written");

    let longer = format!("{}\nThen the bell was hung in the chapel of Vann.\n", harbour());
    place.write("h.txt", &longer);
    let answer = place.json(&["ask", "h.txt", "chapel"]);
    assert!(answer["hits"][0]["text"].as_str().unwrap().contains("chapel"));
    assert!(commit() > built, "a longer file extends the index");
    assert_eq!(of(), longer);

    place.write("h.txt", "A zebra came to Vann. ".repeat(3));
    place.write("h.txt.plica.new", fs::read(place.path("h.txt.plica")).unwrap());
    let answer = place.json(&["ask", "h.txt", "zebra"]);
    assert_eq!(answer["hits"].as_array().unwrap().len(), 1);
    assert_eq!(of(), "A zebra came to Vann. ".repeat(3));
    assert!(!place.path("h.txt.plica.new").exists());
    // Shorter than the index has it is changed, too.
    place.write("h.txt", "A zebra came to Vann. ");
    place.json(&["ask", "h.txt", "zebra"]);
    assert_eq!(of(), "A zebra came to Vann. ");
}

#[test]
fn ask_leaves_alone_what_is_not_its_own() {
    let place = Place::with_index();
    place.write("h.txt", harbour());
    place.write("h.txt.plica", "my own file");
    let error = place.run(&["ask", "h.txt", "bell"]).failed(1);
    assert!(error.contains("h.txt.plica is no index") && error.contains("plica build"), "{error}");
    assert_eq!(fs::read(place.path("h.txt.plica")).unwrap(), b"my own file");
    fs::copy(place.path("i.plica"), place.path("h.txt.plica")).unwrap();
    assert!(place.run(&["ask", "h.txt", "bell"]).failed(1).contains("2 documents"));
    assert!(place.run(&["ask", "i.plica", "bell"]).failed(1).contains("plica search"));
    assert!(place.run(&["ask", "none.txt", "bell"]).failed(1).contains("none.txt"));
    assert!(place.run(&["ask", ".", "bell"]).failed(1).contains("cannot read"));
}

#[cfg(target_os = "linux")]
#[test]
fn ask_says_what_to_do_where_it_cannot_write() {
    let place = Place::new();
    let error = place.run(&["ask", "/proc/version", "linux"]).failed(1);
    assert!(error.contains("plica build ELSEWHERE.plica /proc/version"), "{error}");
}

#[test]
fn an_export_is_imported_again() {
    let place = Place::with_index();
    let lines = place.run(&["export", "i.plica"]).good();
    let piped = place.run_with(&["import", "copy.plica", "-"], &lines).good();
    assert!(piped.contains("2 documents") && piped.starts_with("copy.plica: "), "{piped}");
    assert_eq!(place.run(&["export", "copy.plica"]).good(), lines);
    assert_eq!(place.json(&["stat", "copy.plica"])["fanout"], 2, "the first line says how to create the index");
    place.write("lines.jsonl", &lines);
    let arguments = ["import", "steps.plica", "lines.jsonl", "--commit-every", "2", "--json"];
    let steps = place.run(&arguments).good();
    assert!(steps.lines().count() > 2 && steps.starts_with("{\"commit\":2,\"chunks\":2}\n"), "{steps}");
    assert_eq!(place.run(&["export", "steps.plica"]).good(), lines);
    let wrong = place.run_with(&["import", "w.plica", "-"], "{\"type\":\"chunk\"}\n").failed(1);
    assert!(wrong.contains("line 1"), "{wrong}");
}

#[test]
fn a_beir_folder_is_imported_and_measured() {
    let place = Place::new();
    fs::create_dir_all(place.path("beir/qrels")).unwrap();
    let rows = ["The crane stands on the quay.", "Gulls rose from the roofs.", "The bell was cast inland."];
    let corpus: String = rows
        .iter()
        .enumerate()
        .map(|(at, text)| {
            format!("{{\"_id\":\"r{at}\",\"title\":\"\",\"text\":\"{text}\",\"metadata\":{{\"doc_id\":\"d\"}}}}\n")
        })
        .collect();
    place.write("beir/corpus.jsonl", corpus);
    place.write("beir/queries.jsonl", "{\"_id\":\"q\",\"text\":\"bell\",\"metadata\":{\"doc_id\":\"d\"}}\n");
    place.write("beir/qrels/test.tsv", "query-id\tcorpus-id\tscore\nq\tr2\t1\n");
    let imported = place.run(&["import", "b.plica", "--beir", "beir"]).good();
    assert!(imported.contains("1 document, 3 chunks"), "{imported}");
    assert_eq!(place.json(&["chunk", "b.plica", "r2"])["chunk"], "d#2");
    let measured = place.json(&["eval", "b.plica", "--beir", "beir", "-k", "1,2"]);
    assert_eq!(keys(&measured), ["queries", "text", "fused", "difference"]);
    assert_eq!(measured["queries"], 1);
    assert_eq!(measured["text"]["all@1"], 100.0);
    assert_eq!(keys(&measured["difference"]["all@1"]), ["mean", "low", "high"]);
    let human = place.run(&["eval", "b.plica", "--beir", "beir"]).good();
    assert!(human.contains("recall@20"), "{human}");
}

/// The README's first command: a passage that names nobody is found by who it tells of, and says so.
#[test]
fn the_story_answers_with_a_passage_that_names_nobody() {
    let place = Place::new();
    let story = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/story.txt");
    fs::copy(story, place.path("story.txt")).unwrap();
    for (question, name, described, names) in [
        ("Where did Ilse Maren hide the green book?", "Ilse Maren", "the lighthouse keeper", ["Ilse", "Maren"]),
        ("How did Jonas Pell get rid of the silver watch?", "Jonas Pell", "the ferry pilot", ["Jonas", "Pell"]),
        ("What became of Jonas Pell's silver watch?", "Jonas Pell", "the ferry pilot", ["Jonas", "Pell"]),
    ] {
        let answer = place.json(&["ask", "story.txt", question, "-k", "3"]);
        let hits = answer["hits"].as_array().unwrap();
        let hit = hits
            .iter()
            .find(|hit| {
                let text = hit["text"].as_str().unwrap();
                text.to_lowercase().contains(described) && !names.iter().any(|name| text.contains(name))
            })
            .unwrap_or_else(|| panic!("{question}: no such passage among the first three"));
        let records = hit["explain"]["records"].as_array().unwrap();
        assert!(records.iter().any(|record| record["name"] == name), "{question}");
        assert!(hit["explain"]["memory"]["z"].as_f64().unwrap() > 0.0, "{question}");
        let human = place.run(&["ask", "story.txt", question]).good();
        assert!(human.contains(&format!("tells of {name}, here called \"{described}\"")), "{human}");
    }
}
