//! Readers beside a live writer, at every moment of a run.

use super::model::Model;
use super::run::{Mark, NAME, Run, demand_one};
use super::{Choices, Past};
use crate::{Index, Refreshed, Snapshot};
use std::collections::VecDeque;
use std::rc::Rc;

/// A reader that opened an index once and refreshes it.
struct Follower {
    past: Past,
    index: Index,
    /// What it found last.
    model: Rc<Model>,
}

/// A snapshot that was not read when it was opened.
struct Held {
    snapshot: Snapshot,
    model: Rc<Model>,
    /// It is read for the last time when so many operations were done.
    until: usize,
}

impl Run {
    /// Goes once more through all that was done to the disk. At every moment readers look: one that opens, between two
    /// operations and while time goes on (fewer than `pace` operations for each call of its own); two that opened at the
    /// start and refresh, in the same two ways; snapshots that were opened earlier and are first read now. Returns how
    /// many openings and refreshes there were.
    pub(crate) fn watch(&self, choices: &mut Choices, pace: usize) -> usize {
        let past = Past::of(&self.disk);
        let mut still = Follower::new(self, past.clone());
        let mut hasty = Follower::new(self, past.paced(choices.clone(), pace));
        let mut held = VecDeque::new();
        let mut count = 0;
        loop {
            let at = past.operations();
            let (snapshot, model) = self.open(&past);
            held.push_back(Held { snapshot, model, until: at + choices.below(60) });
            self.open(&past.paced(choices.clone(), pace));
            // Other choices for the next one.
            choices.below(2);
            still.follow(self);
            hasty.follow(self);
            count += 4;
            held.retain(|held: &Held| {
                let is_over = held.until <= at;
                if is_over {
                    demand_one([&held.model].into_iter(), &held.snapshot, Model::demand);
                }
                !is_over
            });
            if !past.advance() {
                break;
            }
        }
        while hasty.past.advance() {
            hasty.follow(self);
            count += 1;
        }
        for held in held {
            demand_one([&held.model].into_iter(), &held.snapshot, Model::demand);
        }
        for follower in [still, hasty] {
            assert_eq!(
                follower.model,
                self.marks[self.marks.len() - 1].acknowledged,
                "a follower sees the last commit"
            );
        }
        count
    }

    /// Opens the index and reads all of it, by another snapshot than the one that it gives.
    fn open(&self, past: &Past) -> (Snapshot, Rc<Model>) {
        let from = past.operations();
        let open = || Index::open_past(past, NAME).unwrap_or_else(|error| panic!("after {from} operations: {error}"));
        let (unread, read) = (open().snapshot(), open().snapshot());
        let until = past.operations();
        let model = demand_one(self.between(from, until), &read, Model::demand);
        let same = unread.sequence() == read.sequence();
        assert!(same || from < until, "nothing happened between two openings");
        let unread = if same { unread } else { read };
        (unread, model)
    }

    /// What may be found by a reader that looked while these operations were done.
    fn between(&self, from: usize, until: usize) -> impl Iterator<Item = &Rc<Model>> {
        let first = self.marks.iter().rposition(|mark| mark.at <= from).unwrap_or(0);
        self.marks[first..].iter().take_while(move |mark| mark.at <= until).flat_map(Mark::models)
    }
}

impl Follower {
    fn new(run: &Run, past: Past) -> Self {
        let index = Index::open_past(&past, NAME).unwrap();
        let model = demand_one(run.between(0, past.operations()), &index.snapshot(), Model::demand);
        Self { past, index, model }
    }

    /// Refreshes, and reads all.
    fn follow(&mut self, run: &Run) {
        let from = self.past.operations();
        let before = self.index.snapshot();
        let refreshed = self.index.refresh().unwrap_or_else(|error| panic!("after {from} operations: {error}"));
        match refreshed {
            Refreshed::Unchanged => assert_eq!(self.index.snapshot().sequence(), before.sequence()),
            Refreshed::Advanced(sequence) => assert!(sequence > before.sequence()),
            Refreshed::Replaced => self.index = Index::open_past(&self.past, NAME).unwrap(),
        }
        // What it had goes on being what it was.
        demand_one([&self.model].into_iter(), &before, Model::demand);
        let until = self.past.operations();
        self.model = demand_one(run.between(from, until), &self.index.snapshot(), Model::demand);
    }
}
