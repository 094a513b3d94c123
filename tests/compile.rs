//! Compiling: only what is new is read, whatever stopped it; and questions find their way through what was compiled.

mod common;

use common::{Folder, assert_sound};
use plica::ingest::builtin::Builtin;
use plica::ingest::{
    Category, Compile, Compiler, DiscoverInput, EntityUpdate, ExtractInput, Extracted, Extractor, FieldUpdate,
    FoldInput, Model, Reader, RecordInput, RecordUpdate, Schema, Source, SubjectUpdate, UpdateInput,
};
use plica::interchange::{ImportOptions, export, import};
use plica::outline::{LEARNED, Navigate, learn};
use plica::{Error, Index, Limits, NewChunk, Options, Result, Snapshot, Writer};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const MANUAL: &str = include_str!("data/manual.md");

fn build(path: &Path, text: &str) -> Writer {
    let mut writer = Writer::create(path, &Options::new().chunk_words(120)).unwrap();
    Reader::new(Some(&Builtin)).build(&mut writer, Source { id: "manual", text, ..Source::default() }).unwrap();
    writer
}

fn compiled(path: &Path) -> Snapshot {
    let mut writer = build(path, MANUAL);
    Compile::new(Some(&Builtin), Some(&Builtin)).compile(&mut writer, "manual").unwrap();
    Index::open(path).unwrap().snapshot()
}

fn lines(snapshot: &Snapshot) -> String {
    let mut out = Vec::new();
    export(snapshot, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn names(path: &[&str]) -> Vec<String> {
    path.iter().map(|&name| name.to_owned()).collect()
}

#[test]
fn five_questions_lead_to_their_pages_and_a_sixth_to_the_source() {
    let folder = Folder::new();
    let snapshot = compiled(&folder.path("m.plica"));
    assert_sound(&snapshot);
    for (question, page, value) in [
        ("What is the part number of the contactor?", "Contactor", "TK-310"),
        ("How many cycles does the contactor last?", "Contactor", "100,000 cycles"),
        ("What is the largest current?", "Electrical hazard", "48 A"),
        ("Which torque at the supply terminals?", "Wiring", "2.5 Nm"),
        ("Of what material is a heating element?", "Heating Element", "chromium"),
    ] {
        let found = snapshot.navigate(&Navigate::new("manual", question)).unwrap();
        assert!(!found.fallback, "{question}: {:?}", found.path);
        assert_eq!(found.pages[0].title, page, "{question}: {:?}", found.path);
        assert!(found.pages[0].text().contains(value), "{question}");
        assert_eq!(found.path[0].page, Vec::<String>::new());
        // The passages are those that the values name.
        assert!(found.passages.iter().any(|passage| passage.text.contains(value)), "{question}");
    }
    let question = "Which makers colour the green wire yellow?";
    let found = snapshot.navigate(&Navigate::new("manual", question).budget(1)).unwrap();
    assert!(found.fallback && found.level_ups <= 1);
    assert!(found.passages[0].text.contains("some makers colour it yellow"), "{:?}", found.passages[0]);
}

#[test]
fn every_value_stands_where_it_says() {
    let folder = Folder::new();
    let snapshot = compiled(&folder.path("m.plica"));
    let squeeze = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (mut waiting, mut values) = (vec![Vec::new()], 0);
    while let Some(path) = waiting.pop() {
        let page = snapshot.outline("manual", &path).unwrap();
        for field in &page.fields {
            for value in &field.values {
                let (start, end) = value.span.unwrap();
                let place = squeeze(&MANUAL[start as usize..end as usize]);
                assert!(place.contains(&squeeze(&value.text)), "{}: {:?} in {place:?}", page.title, value.text);
                values += 1;
            }
        }
        waiting.extend(page.entries.into_iter().map(|entry| entry.path));
    }
    assert!(values > 60, "{values}");
}

#[test]
fn what_is_learned_is_found_the_next_time_and_stays_bounded() {
    let folder = Folder::new();
    let path = folder.path("m.plica");
    let snapshot = compiled(&path);
    let question = "Which makers colour the green wire yellow?";
    let found = snapshot.navigate(&Navigate::new("manual", question)).unwrap();
    assert!(found.fallback);
    let mut writer = Writer::open(&path).unwrap();
    let learned = learn(&mut writer, &snapshot, "manual", &found).unwrap();
    assert!(learned.is_new && learned.path[0] == LEARNED);
    let commit = writer.commit().unwrap();
    let snapshot = Index::open(&path).unwrap().snapshot();
    assert_eq!(snapshot.sequence(), commit);
    assert_sound(&snapshot);
    let again = snapshot.navigate(&Navigate::new("manual", question)).unwrap();
    assert!(!again.fallback, "{:?}", again.path);
    assert_eq!(again.pages[0].path, learned.path);
    let says = &again.pages[0].fields[0].values[0];
    let (start, end) = says.span.unwrap();
    assert!(MANUAL[start as usize..end as usize].contains("some makers colour it yellow"));
    assert!(!learn(&mut writer, &snapshot, "manual", &found).unwrap().is_new);
    assert!(matches!(learn(&mut writer, &snapshot, "manual", &again), Err(Error::Invalid { .. })));
    let mut refused = None;
    for at in 0..100 {
        let mut other = found.clone();
        other.question = format!("{question} {at}");
        if let Err(error) = learn(&mut writer, &snapshot, "manual", &other) {
            refused = Some((at, error));
            break;
        }
    }
    match refused {
        Some((at, Error::Limit { limit, .. })) => assert_eq!(at + 1, limit),
        other => panic!("{other:?}"),
    }
}

/// A compiler that counts its calls and notes which bytes it saw for the first time.
#[derive(Default)]
struct Counting {
    discovered: AtomicUsize,
    fresh: Mutex<String>,
    contexts: Mutex<Vec<String>>,
    stop_after: Option<usize>,
    stop: AtomicBool,
}

impl Compiler for Counting {
    fn discover(&self, input: &DiscoverInput<'_>) -> Result<Schema> {
        self.discovered.fetch_add(1, Ordering::Relaxed);
        assert!(input.text.starts_with("Day 0 "));
        Ok(Schema {
            title: "Days".into(),
            summary: "A diary.".into(),
            categories: vec![Category { path: names(&["Days"]), ..Category::default() }],
        })
    }

    fn extract(&self, input: &ExtractInput<'_>) -> Result<Extracted> {
        let mut fresh = self.fresh.lock().unwrap();
        fresh.push_str(&input.text[input.overlap..]);
        self.contexts.lock().unwrap().push(input.context.to_owned());
        if self.stop_after.is_some_and(|bytes| fresh.len() > bytes) {
            self.stop.store(true, Ordering::Relaxed);
        }
        let mut subjects = Vec::new();
        for (at, _) in input.text.match_indices("Day ") {
            let Some(line) = input.text[at..].find('.').map(|end| &input.text[at..at + end]) else { continue };
            let number = line.split(' ').nth(1).unwrap().to_owned();
            subjects.push(SubjectUpdate {
                category: names(&["days"]),
                name: format!("Day {number}"),
                fields: vec![FieldUpdate {
                    name: "says".into(),
                    value: line.into(),
                    span: Some((at, at + line.len())),
                }],
                ..SubjectUpdate::default()
            });
        }
        Ok(Extracted { subjects, context: format!("to {}", fresh.len()) })
    }
}

impl Extractor for Counting {
    fn records(&self, input: &RecordInput<'_>) -> Result<Vec<RecordUpdate>> {
        self.contexts.lock().unwrap().push(format!("chunk {}", input.ordinal));
        Ok(vec![RecordUpdate {
            entity: format!("chunk {}", input.ordinal % 3),
            label: "has".into(),
            ..RecordUpdate::default()
        }])
    }
}

fn diary(days: std::ops::Range<u32>) -> String {
    days.map(|day| format!("Day {day} went by in Ōsaka with {} boats. ", day * 7 % 13)).collect()
}

fn plain(path: &Path, text: &str) -> Writer {
    let mut writer = Writer::create(path, &Options::new().chunk_words(40)).unwrap();
    Reader::new(None).build(&mut writer, Source { id: "d", text, ..Source::default() }).unwrap();
    writer
}

#[test]
fn only_what_is_new_is_compiled_and_seams_lose_nothing() {
    let folder = Folder::new();
    let path = folder.path("d.plica");
    let text = diary(0..200);
    let mut writer = plain(&path, &text);
    let counting = Counting::default();
    let compile = |writer: &mut Writer, counting: &Counting| {
        Compile::new(Some(counting), Some(counting)).pieces(600, 100).unwrap().compile(writer, "d").unwrap()
    };
    let done = compile(&mut writer, &counting);
    assert_eq!((done.categories, done.chunks), (1, writer.chunks() as u32));
    assert_eq!(*counting.fresh.lock().unwrap(), text, "pieces are the text, each byte new once");
    let stat = |path: &Path| Index::open(path).unwrap().snapshot().stat().unwrap();
    assert_eq!((stat(&path).subjects, stat(&path).values), (200, 200));
    // Nothing new, nothing done.
    let commit = writer.sequence();
    let again = compile(&mut writer, &counting);
    assert_eq!((again.pieces, again.chunks, writer.sequence()), (0, 0, commit));
    // More text: the first new piece begins with the overlap alone.
    let more = diary(200..230);
    Reader::new(None).append(&mut writer, "d", &more).unwrap();
    let counting = Counting::default();
    compile(&mut writer, &counting);
    assert_eq!(counting.discovered.load(Ordering::Relaxed), 0);
    assert_eq!(*counting.fresh.lock().unwrap(), more);
    assert!(counting.contexts.lock().unwrap()[0].starts_with("to "), "the context is handed on");
    assert_eq!(stat(&path).subjects, 230);
    let snapshot = Index::open(&path).unwrap().snapshot();
    assert_sound(&snapshot);
    let page = snapshot.outline("d", &names(&["Days", "Day 217"])).unwrap();
    let (start, end) = page.fields[0].values[0].span.unwrap();
    assert_eq!(format!("{text}{more}")[start as usize..end as usize], page.fields[0].values[0].text);
    // An import of the export is compiled as far.
    let copy = folder.path("copy.plica");
    let mut other = Writer::create(&copy, &Options::new().chunk_words(40)).unwrap();
    let exported = lines(&snapshot);
    import(&mut other, exported.as_bytes(), ImportOptions::new()).unwrap();
    let counting = Counting::default();
    assert_eq!(compile(&mut other, &counting).pieces, 0);
    assert_eq!(lines(&Index::open(&copy).unwrap().snapshot()), exported);
}

#[test]
fn a_compile_that_was_stopped_goes_on_where_it_was() {
    let folder = Folder::new();
    let text = diary(0..300);
    let whole = {
        let path = folder.path("whole.plica");
        let mut writer = plain(&path, &text);
        let counting = Counting::default();
        Compile::new(Some(&counting), Some(&counting)).pieces(900, 80).unwrap().compile(&mut writer, "d").unwrap();
        lines(&Index::open(&path).unwrap().snapshot())
    };
    let path = folder.path("stopped.plica");
    let mut writer = plain(&path, &text);
    let stopping = Counting { stop_after: Some(text.len() / 2), ..Counting::default() };
    let stopped = Compile::new(Some(&stopping), Some(&stopping))
        .pieces(900, 80)
        .unwrap()
        .cancel(&stopping.stop)
        .compile(&mut writer, "d");
    assert!(matches!(stopped, Err(Error::Cancelled)));
    drop(writer);
    let mut writer = Writer::open(&path).unwrap();
    let rest = Counting::default();
    Compile::new(Some(&rest), Some(&rest)).pieces(900, 80).unwrap().compile(&mut writer, "d").unwrap();
    let (first, second) = (stopping.fresh.lock().unwrap().clone(), rest.fresh.lock().unwrap().clone());
    assert_eq!(format!("{first}{second}"), text, "no piece was read twice");
    // What compilers hand on differs by what each has counted, so the contexts are left out.
    let strip = |lines: &str| lines.lines().filter(|line| !line.contains("\"path\":[]")).collect::<Vec<_>>().join("\n");
    assert_eq!(strip(&lines(&Index::open(&path).unwrap().snapshot())), strip(&whole));
}

/// A compiler that answers what it is made with.
struct Fixed(Extracted);

impl Compiler for Fixed {
    fn discover(&self, _: &DiscoverInput<'_>) -> Result<Schema> {
        let categories = vec![Category { path: names(&["People"]), ..Category::default() }];
        Ok(Schema { categories, ..Schema::default() })
    }

    fn extract(&self, _: &ExtractInput<'_>) -> Result<Extracted> {
        Ok(self.0.clone())
    }
}

/// A model that knows one person by two names.
struct TwoNames;

impl Model for TwoNames {
    fn update(&self, _: &UpdateInput<'_>) -> Result<Vec<EntityUpdate>> {
        let aliases = vec!["Lizzy".into(), "Miss Eliza".into()];
        Ok(vec![EntityUpdate { name: "Elizabeth Bennet".into(), aliases, ..EntityUpdate::default() }])
    }

    fn fold(&self, _: &FoldInput<'_>) -> Result<String> {
        Ok(String::new())
    }
}

fn update(name: &str, category: &str, span: Option<(usize, usize)>) -> SubjectUpdate {
    SubjectUpdate {
        category: names(&[category]),
        name: name.into(),
        fields: vec![FieldUpdate { name: "says".into(), value: format!("{name} speaks"), span }],
        ..SubjectUpdate::default()
    }
}

#[test]
fn names_that_the_memory_knows_are_one_subject() {
    let folder = Folder::new();
    let path = folder.path("p.plica");
    let mut writer = Writer::create(&path, &Options::new()).unwrap();
    let source = Source { id: "d", text: "Lizzy walked.", ..Source::default() };
    Reader::new(Some(&TwoNames)).build(&mut writer, source).unwrap();
    let subjects = ["Lizzy", "LIZZY", "Miss Eliza", "Elizabeth  bennet", "Jane"];
    let subjects = subjects.iter().map(|name| update(name, "people", Some((0, 5)))).collect();
    let fixed = Fixed(Extracted { subjects, context: String::new() });
    Compile::new(Some(&fixed), None).compile(&mut writer, "d").unwrap();
    let snapshot = Index::open(&path).unwrap().snapshot();
    let page = snapshot.outline("d", &names(&["People"])).unwrap();
    let titles: Vec<&str> = page.entries.iter().map(|entry| entry.title.as_str()).collect();
    assert_eq!(titles, ["Elizabeth Bennet", "Jane"]);
    let one = snapshot.outline("d", &names(&["people", "elizabeth bennet"])).unwrap();
    assert_eq!(one.fields[0].values.len(), 3);
}

#[test]
fn a_compiler_that_answers_nonsense_is_an_error_and_leaves_the_index_as_it_was() {
    let folder = Folder::new();
    let path = folder.path("p.plica");
    let mut writer = Writer::create(&path, &Options::new()).unwrap();
    Reader::new(None).build(&mut writer, Source { id: "d", text: "Ōsaka.", ..Source::default() }).unwrap();
    let before = lines(&Index::open(&path).unwrap().snapshot());
    for bad in [
        update("Anna", "Places", None),
        update("Anna", "People", Some((0, 1))),
        update("Anna", "People", Some((3, 90))),
        update("Anna", "People", Some((3, 2))),
        update(" ", "People", None),
    ] {
        let fixed = Fixed(Extracted { subjects: vec![bad.clone()], context: String::new() });
        let result = Compile::new(Some(&fixed), None).compile(&mut writer, "d");
        assert!(matches!(result, Err(Error::Model { .. } | Error::Invalid { .. })), "{bad:?}: {result:?}");
        assert!(!writer.has_changes());
    }
    assert_eq!(lines(&Index::open(&path).unwrap().snapshot()), before);
    assert!(Compile::new(None, None).pieces(10, 6).is_err());
    writer.add_document("staged", "", "").unwrap();
    writer.append_chunk("staged", &NewChunk::text("x")).unwrap();
    let staged = Compile::new(Some(&Builtin), None).compile(&mut writer, "staged");
    assert!(matches!(staged, Err(Error::Invalid { .. })), "{staged:?}");
}

#[test]
fn a_navigation_can_be_stopped() {
    let folder = Folder::new();
    let snapshot = compiled(&folder.path("m.plica"));
    let stop = std::sync::Arc::new(AtomicBool::new(true));
    let limits = Limits { cancel: Some(stop), ..Limits::default() };
    let asked = Navigate::new("manual", "What is the largest current?").limits(limits);
    assert!(matches!(snapshot.navigate(&asked), Err(Error::Cancelled)));
    assert!(matches!(snapshot.navigate(&Navigate::new("other", "x")), Err(Error::NotFound { .. })));
}
