//! Carrying out a plan beside its model.

use super::model::{Model, Modelled, text};
use super::{Choices, Content, Disk, Fault, Plan, Replay, Step};
use crate::index::Origin;
use crate::ingest::{EntityUpdate, RecordUpdate};
use crate::outline::Subject;
use crate::{Durability, Error, Index, Limits, MemoryScope, NewChunk, Options, Result, Snapshot, Writer};
use std::collections::BTreeSet;
use std::rc::Rc;

/// The name of the index.
pub(crate) const NAME: &str = "a.plica";

/// What may be found from an operation on.
#[derive(Debug, Clone)]
pub(super) struct Mark {
    pub(super) at: usize,
    pub(super) acknowledged: Rc<Model>,
    pub(super) doubt: Vec<Rc<Model>>,
}

/// What is wrong with a disk.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Trouble {
    /// The call after `after` more ones fails; with `stuck` all later ones, too.
    Call { after: usize, fault: Fault, stuck: bool },
    /// There is room for so many bytes in all.
    Full { bytes: u64 },
}

/// Shows what is done where a test fails; a fuzzer has the input.
fn tell(what: &str) {
    if cfg!(test) {
        println!("{what}");
    }
}

/// An index on a disk, its writer, and what must be in it.
#[derive(Debug)]
pub(crate) struct Run {
    pub(super) disk: Disk,
    options: Options,
    writer: Option<Writer>,
    /// With what was added since the last commit.
    working: Model,
    /// As of the writer's last commit, which may be deferred.
    committed: Rc<Model>,
    /// Documents whose id means their replacement to the writer.
    replacing: BTreeSet<String>,
    pub(super) marks: Vec<Mark>,
}

impl Run {
    /// An empty index for a plan.
    pub(crate) fn new(plan: &Plan) -> Self {
        let disk = Disk::default();
        let options = Options::new().fanout(plan.fanout).memory(plan.memory).timestamps(false).file_id([7; 16]);
        drop(Writer::create_simulated(&disk, NAME, &options).unwrap());
        Self::on(
            disk.now(),
            options,
            Mark { at: 0, acknowledged: Rc::new(Model { sequence: 1, ..Model::default() }), doubt: Vec::new() },
        )
    }

    /// A run that begins with what a disk holds.
    fn on(content: Content, options: Options, mark: Mark) -> Self {
        let (working, committed) = ((*mark.acknowledged).clone(), mark.acknowledged.clone());
        let (disk, replacing) = (Disk::with(content), BTreeSet::new());
        Self { disk, options, writer: None, working, committed, replacing, marks: vec![mark] }
    }

    /// The disk.
    pub(crate) fn disk(&self) -> &Disk {
        &self.disk
    }

    fn last(&self) -> &Mark {
        &self.marks[self.marks.len() - 1]
    }

    fn mark(&mut self, acknowledged: Rc<Model>, doubt: Vec<Rc<Model>>) {
        self.marks.push(Mark { at: self.disk.operations(), acknowledged, doubt });
    }

    /// The document of the model that additions go to.
    fn target(&mut self, id: &str) -> Option<&mut Modelled> {
        self.working.target(id, self.replacing.contains(id))
    }

    /// What the writer is left with that lost what was added since its last commit.
    fn forget(&mut self) {
        self.working = (*self.committed).clone();
        self.replacing.clear();
    }

    /// What a reader finds, which must be what was acknowledged or is in doubt.
    fn found(&self) -> Rc<Model> {
        let bytes = self.disk.bytes(NAME).unwrap_or_default();
        self.last().demand(bytes)
    }

    /// The writer; opens it where there is none.
    fn writer(&mut self) -> Result<&mut Writer> {
        if self.writer.is_none() {
            // While it is opened, what is in doubt is settled.
            let found = self.found();
            let writer = Writer::open_simulated(&self.disk, NAME, &self.options)?;
            self.mark(found.clone(), Vec::new());
            self.committed = found;
            self.forget();
            self.writer = Some(writer);
        }
        Ok(self.writer.as_mut().unwrap_or_else(|| unreachable!("it was just opened")))
    }

    /// Closes the writer; commits that are not durable go.
    fn close(&mut self) {
        self.writer = None;
    }

    /// Does a step. What cannot be done (a document to remove that is not there) is not.
    ///
    /// # Errors
    /// Those of the disk.
    pub(crate) fn step(&mut self, step: &Step) -> Result<()> {
        match self.try_step(step) {
            Err(Error::NotFound { .. } | Error::Invalid { .. }) => Ok(()),
            result => result,
        }
    }

    fn try_step(&mut self, step: &Step) -> Result<()> {
        match *step {
            Step::Append { document, words, seed } => self.append(&id(document), &text(words, seed)),
            Step::Understand { document } => self.understand(&id(document)),
            Step::Record { document, seed } => {
                let (id, value) = (id(document), format!("value {}", seed % 8));
                let record = RecordUpdate {
                    entity: format!("Person {}", seed % 3),
                    label: "says".into(),
                    value: value.clone(),
                    ..RecordUpdate::default()
                };
                let is_new = self.writer()?.add_record(&id, &record, &[0])?;
                let Some(modelled) = self.target(&id) else { return Ok(()) };
                let had = modelled.records.iter().any(|kept| *kept == value);
                assert!(had || is_new, "a record that was not there is new");
                modelled.records.insert(value);
                Ok(())
            }
            Step::Subject { document, seed } => {
                let (id, name) = (id(document), format!("Subject {}", seed % 8));
                let subject = Subject { name: name.clone(), ..Subject::default() };
                self.writer()?.add_subject(&id, &["People".to_owned()], &subject)?;
                if let Some(modelled) = self.target(&id) {
                    modelled.subjects.insert(name);
                }
                Ok(())
            }
            Step::Publish { document } => {
                let id = id(document);
                self.writer()?.publish(&id)?;
                let is_replaced = self.replacing.remove(&id);
                let documents = if is_replaced { &mut self.working.replacements } else { &mut self.working.staged };
                if let Some(published) = documents.remove(&id) {
                    self.working.live.insert(id, published);
                }
                Ok(())
            }
            Step::Remove { document } => {
                let id = id(document);
                self.writer()?.remove_document(&id)?;
                self.working.remove(&id);
                self.replacing.remove(&id);
                Ok(())
            }
            Step::Replace { document } => {
                let id = id(document);
                self.writer()?.replace_document(&id, "Anew", "")?;
                if self.working.live.contains_key(&id) && self.options.memory == MemoryScope::Document {
                    self.working.replacements.entry(id.clone()).or_default();
                    self.replacing.insert(id);
                } else {
                    self.working.remove(&id);
                    self.working.staged.insert(id, Modelled::default());
                }
                Ok(())
            }
            Step::Commit => self.commit(),
            Step::Sync => {
                self.writer()?;
                let (acknowledged, committed) = (self.last().acknowledged.clone(), self.committed.clone());
                self.mark(acknowledged, vec![committed.clone()]);
                self.writer()?.sync()?;
                self.mark(committed, Vec::new());
                Ok(())
            }
            Step::Rollback => {
                self.writer()?.rollback()?;
                self.forget();
                Ok(())
            }
            Step::Reopen(durability) => {
                self.close();
                self.options = self.options.clone().durability(durability);
                self.writer().map(drop)
            }
            Step::Vacuum => self.vacuum(),
        }
    }

    fn append(&mut self, id: &str, text: &str) -> Result<()> {
        let writer = self.writer()?;
        if writer.is_published(id)?.is_none() {
            writer.add_document(id, "A title", "")?;
            self.working.staged.insert(id.to_owned(), Modelled::default());
        }
        let writer = self.writer()?;
        writer.append_chunk(id, &NewChunk::text(text))?;
        if let Some(modelled) = self.target(id) {
            modelled.chunks.push(text.to_owned());
        }
        Ok(())
    }

    fn understand(&mut self, id: &str) -> Result<()> {
        for (level, index) in self.writer()?.unfolded(id)? {
            let summary = format!("{} of level {level} at {index} of {id}", super::model::COMMON);
            self.writer()?.set_summary(id, level, index, &summary, Origin::Given)?;
            if let Some(modelled) = self.target(id) {
                modelled.summaries.insert((level, index), summary);
            }
        }
        let entity = EntityUpdate { name: format!("Keeper of {id}"), kind: "person".into(), ..EntityUpdate::default() };
        self.writer()?.add_entity(id, &entity, &[0])
    }

    fn commit(&mut self) -> Result<()> {
        let is_durable = self.options.durability == Durability::Immediate;
        let sequence = self.writer()?.sequence() + 1;
        let (acknowledged, next) = (self.last().acknowledged.clone(), Model { sequence, ..self.working.clone() });
        let next = Rc::new(next);
        self.mark(acknowledged.clone(), if is_durable { vec![next.clone()] } else { Vec::new() });
        match self.writer()?.commit() {
            Ok(made) if made < sequence => {
                // There was nothing to commit.
                assert_eq!(Model { sequence: made, ..self.working.clone() }, *self.committed);
                self.marks.pop();
                Ok(())
            }
            Ok(_) => {
                self.committed = next.clone();
                if is_durable {
                    self.mark(next, Vec::new());
                }
                Ok(())
            }
            Err(error @ Error::InDoubt { .. }) => {
                assert!(is_durable, "a deferred commit is never in doubt");
                Err(error)
            }
            Err(error @ Error::Unusable { .. }) => {
                // A failure before this has put something in doubt, and that stays.
                self.marks.pop();
                Err(error)
            }
            Err(error) => {
                self.mark(acknowledged, Vec::new());
                if matches!(error, Error::NotCommitted { .. }) {
                    self.forget();
                }
                Err(error)
            }
        }
    }

    fn vacuum(&mut self) -> Result<()> {
        self.writer()?;
        let (acknowledged, committed) = (self.last().acknowledged.clone(), self.committed.clone());
        let vacuumed = Rc::new(Model { sequence: 1, ..(*committed).clone() });
        self.mark(acknowledged, vec![committed, vacuumed.clone()]);
        let Some(writer) = self.writer.take() else { return Ok(()) };
        writer.vacuum(&Limits::default())?;
        self.mark(vacuumed, Vec::new());
        Ok(())
    }

    /// Commits what can be committed, and demands that a reader finds it.
    pub(crate) fn finish(&mut self) {
        self.step(&Step::Reopen(Durability::Immediate)).unwrap();
        self.step(&Step::Commit).unwrap();
        self.close();
        let bytes = self.disk.bytes(NAME).unwrap();
        let found = self.last().demand_sound(bytes);
        assert_eq!(found, self.last().acknowledged);
    }

    /// Carries out `steps` on a disk in trouble until they fail, then heals it and goes on. What a reader finds must be
    /// right at every moment, and at the end all must work again.
    pub(crate) fn fail(mut self, steps: &[Step], trouble: Trouble) -> Self {
        tell(&format!("{trouble:?}"));
        match trouble {
            Trouble::Call { after, fault, stuck } => self.disk.fail(after, fault, stuck),
            Trouble::Full { bytes } => self.disk.set_capacity(Some(bytes)),
        }
        let mut steps = steps.iter();
        for step in steps.by_ref() {
            let result = self.step(step);
            if let Err(error) = &result {
                tell(&format!("{step:?}: {error}"));
            }
            self.found();
            let Err(error) = result else { continue };
            let is_expected = match &error {
                Error::Io { .. } | Error::NotCommitted { .. } | Error::InDoubt { .. } | Error::Unusable { .. } => true,
                // Where pages were lost and are seen as they were before, what the writer has just written is not there.
                error => error.is_damage() && matches!(trouble, Trouble::Call { fault: Fault::LostPages { .. }, .. }),
            };
            assert!(is_expected, "{step:?}, {trouble:?}: {error}");
            if matches!(trouble, Trouble::Call { stuck: false, .. }) {
                break;
            }
            if matches!(step, Step::Remove { .. } | Step::Replace { .. } | Step::Publish { .. }) {
                // What cannot be left half done takes all since the last commit with it.
                self.forget();
            }
            // All goes on failing, and nothing may be made worse by trying.
            if matches!(step, Step::Commit) {
                break;
            }
        }
        self.disk.heal();
        self.disk.set_capacity(None);
        self.recover();
        for step in steps {
            self.step(step).unwrap_or_else(|error| panic!("{step:?} after {trouble:?}: {error}"));
        }
        self.finish();
        self
    }

    /// After a failure: back to the last commit where the writer can, else a new writer.
    fn recover(&mut self) {
        let usable = match &mut self.writer {
            Some(writer) => writer.rollback().is_ok(),
            None => false,
        };
        if usable {
            self.forget();
        } else {
            self.close();
        }
    }

    /// Opens states that a crash after any operation could leave: at each point up to `most`, of all parts of up to
    /// `bits` unsynced writes. Returns how many.
    pub(crate) fn crash_some(&self, choices: &mut Choices, bits: usize, most: usize) -> usize {
        let mut replay = Replay::of(&self.disk);
        let (mut count, mut tried) = (0, BTreeSet::new());
        loop {
            let mark = self.marks.iter().rfind(|mark| mark.at <= replay.at()).unwrap_or(&self.marks[0]);
            let subsets = replay.subsets(bits);
            tried.clear();
            for number in 0..subsets.min(most) {
                let number = if subsets <= most { number } else { choices.below(subsets) };
                if tried.insert(number) {
                    let content = replay.crash(number, bits, choices);
                    count += 1 + self.check(content, mark, choices);
                }
            }
            if !replay.advance(choices) {
                return count;
            }
        }
    }

    /// Opens what a crash has left, for reading and for writing; sometimes goes on from there, with crashes of that.
    fn check(&self, content: Content, mark: &Mark, choices: &mut Choices) -> usize {
        let bytes = content.named(NAME).unwrap_or_default().to_vec();
        let found = mark.demand(bytes);
        let mark = Mark { at: 0, acknowledged: mark.acknowledged.clone(), doubt: mark.doubt.clone() };
        let mut run = Self::on(content, self.options.clone(), mark);
        run.writer().unwrap();
        assert_eq!(*run.committed, *found, "reader and writer agree");
        run.demand_written();
        if !choices.one_in(8) {
            return 0;
        }
        run.step(&Step::Append { document: 0, words: 9, seed: 201 }).unwrap();
        if self.options.memory == MemoryScope::Index {
            run.step(&Step::Publish { document: 0 }).unwrap();
        }
        run.step(&Step::Commit).unwrap();
        if choices.one_in(4) { run.crash_every(choices) } else { 0 }
    }

    /// Demands that the writer, just opened, is at the commit that a reader finds.
    fn demand_written(&mut self) {
        let sequence = self.committed.sequence;
        assert_eq!(self.writer().map(|writer| writer.sequence()).unwrap(), sequence);
        self.found();
    }

    /// States after a crash of a recovery.
    fn crash_every(&self, choices: &mut Choices) -> usize {
        let mut replay = Replay::of(&self.disk);
        let mut count = 0;
        loop {
            let mark = self.marks.iter().rfind(|mark| mark.at <= replay.at()).unwrap_or(&self.marks[0]);
            let number = choices.below(replay.subsets(4));
            let content = replay.crash(number, 4, choices);
            let found = mark.demand(content.named(NAME).unwrap_or_default().to_vec());
            let mark = Mark { at: 0, acknowledged: mark.acknowledged.clone(), doubt: mark.doubt.clone() };
            let mut run = Self::on(content, self.options.clone(), mark);
            run.writer().unwrap();
            assert_eq!(*run.committed, *found, "reader and writer agree");
            run.demand_written();
            count += 1;
            if !replay.advance(choices) {
                return count;
            }
        }
    }
}

impl Mark {
    /// Opens an index and demands that it holds what was acknowledged or is in doubt; gives which.
    fn demand(&self, bytes: Vec<u8>) -> Rc<Model> {
        self.demand_with(bytes, Model::demand)
    }

    fn demand_sound(&self, bytes: Vec<u8>) -> Rc<Model> {
        self.demand_with(bytes, Model::demand_sound)
    }

    fn demand_with(&self, bytes: Vec<u8>, demand: fn(&Model, &Snapshot) -> Result<(), String>) -> Rc<Model> {
        let snapshot = Index::from_bytes(bytes).unwrap_or_else(|error| panic!("cannot be opened: {error}")).snapshot();
        demand_one(self.models(), &snapshot, demand)
    }

    /// What was acknowledged and what is in doubt.
    pub(super) fn models(&self) -> impl Iterator<Item = &Rc<Model>> {
        std::iter::once(&self.acknowledged).chain(&self.doubt)
    }
}

/// Demands that a snapshot holds one of these; gives which.
pub(super) fn demand_one<'a>(
    models: impl Iterator<Item = &'a Rc<Model>>,
    snapshot: &Snapshot,
    demand: fn(&Model, &Snapshot) -> Result<(), String>,
) -> Rc<Model> {
    let mut told = Vec::new();
    for model in models {
        match demand(model, snapshot) {
            Ok(()) => return model.clone(),
            Err(difference) => told.push(difference),
        }
    }
    panic!("neither what was acknowledged nor what is in doubt: {told:#?}")
}

/// The id of a document.
fn id(document: u8) -> String {
    format!("doc-{document}")
}
