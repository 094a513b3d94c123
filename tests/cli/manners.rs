//! How the command behaves: errors, help, closed pipes, a second writer.

use crate::place::Place;
use std::process::Stdio;

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
