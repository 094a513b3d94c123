//! Discovery: the categories of a document.

use super::super::facts::known::{self, Known};
use super::super::facts::{labels, plain};
use super::chapters::PLACES;
use super::context::Context;
use super::entities::{floor_for, floor_text, is_subject};
use super::places::{Names, heading_name, limited, names_of};
use super::sections::{header_names, opening, prose, rows_are_subjects};
use super::{ALSO, CHAPTERS, FURTHER, KINDS, OTHER, PEOPLE, tell};
use crate::ingest::{Category, DiscoverInput, KnownEntity, Schema};
use crate::text::layout::{Division, Layout, Style};
use std::collections::{BTreeSet, HashMap};

/// Most categories; headings beyond are subjects.
const CATEGORIES: usize = 300;
/// Most field names of a category.
const FIELDS: usize = 12;
/// Names that a summary lists.
const LISTED: usize = 6;
/// Words of an overview that its opening sentence may take.
const OPENING_WORDS: usize = 40;

/// Names the categories of a document.
pub(super) fn discover(input: &DiscoverInput<'_>) -> Schema {
    let layout = Layout::new(input.text);
    let names = names_of(input.text, &layout, &Context::default());
    let words = input.text.split_whitespace().count();
    let style = if layout.headings.iter().all(|h| h.division.is_some()) { Style::Chapters } else { Style::Markdown };
    let topical = names.own.iter().filter(|name| !is_bare(name)).count();
    let sections = style == Style::Markdown && 2 * topical > names.own.len();
    let mut schema = Schema::default();
    let root = root(&layout).filter(|_| sections);
    if let Some(root) = root {
        schema.title = names.own[root].clone();
    }
    if sections {
        schema.categories = of_sections(input.text, &layout, &names, root);
    } else {
        let floor = floor_for(words);
        if !layout.headings.is_empty() {
            schema.categories.extend(of_chapters(&layout, &names));
        }
        schema.categories.extend(of_entities(input.entities, floor));
    }
    schema.categories.push(Category {
        path: vec![FURTHER.to_owned()],
        summary: "What stands under no other heading, and sections that were added later.".to_owned(),
        fields: Vec::new(),
    });
    schema.summary = overview(input, &schema, &layout, root, sections, words);
    schema
}

/// Whether a heading is a mere number ("Chapter 3", "IV").
fn is_bare(name: &str) -> bool {
    let layout = Layout::of_piece(&format!("{name}\n\ntext\n\n"), Style::Chapters, None);
    let chapter =
        layout.headings.first().is_some_and(|h| matches!(h.division, Some(Division::Numbered | Division::Bare)));
    let numeral = name.trim_end_matches('.');
    chapter || numeral.chars().all(|c| c.is_numeric()) || super::super::names::is_roman(numeral)
}

/// The heading that is the document's title: the first, where no other is as high.
fn root(layout: &Layout) -> Option<usize> {
    let first = layout.headings.first()?;
    let alone = layout.headings.iter().skip(1).all(|h| h.level > first.level);
    (alone && layout.headings.len() > 1).then_some(0)
}

/// Headings with others below them, level by level within the bound; and of the highest level those without, too.
fn of_sections(text: &str, layout: &Layout, names: &Names, root: Option<usize>) -> Vec<Category> {
    let parents = layout.parents();
    let mut depth = vec![0usize; layout.headings.len()];
    let mut has_children = vec![false; layout.headings.len()];
    for (i, parent) in parents.iter().enumerate() {
        let parent = parent.filter(|&p| Some(p) != root);
        depth[i] = parent.map_or(1, |p| depth[p] + 1);
        if let Some(parent) = parent {
            has_children[parent] = true;
        }
    }
    // A table with subjects for rows makes its section their category.
    let mut tabled: BTreeSet<usize> = BTreeSet::new();
    for table in layout.tables.iter().filter(|table| rows_are_subjects(text, table) && table.rows.len() > 1) {
        tabled.extend(layout.headings.partition_point(|h| h.start <= table.header.start).checked_sub(1));
    }
    let mut order: Vec<usize> = (0..layout.headings.len()).filter(|&i| Some(i) != root).collect();
    order.sort_by_key(|&i| (depth[i], i));
    let labelled = labels::labelled(text, layout);
    let mut taken: HashMap<Vec<String>, usize> = HashMap::new();
    let mut out: Vec<Category> = Vec::new();
    for i in order {
        if !(has_children[i] || depth[i] == 1 || tabled.contains(&i)) {
            continue;
        }
        let path = below(&names.paths[i], root.is_some());
        // A sub-category stands only within a category.
        let within = path.len() == 1 || taken.contains_key(&path[..path.len() - 1]);
        if out.len() >= CATEGORIES || !within || path.is_empty() {
            continue;
        }
        if taken.contains_key(&path) {
            continue;
        }
        let heading = &layout.headings[i];
        let end = layout.headings.get(i + 1).map_or(text.len(), |h| h.start);
        let last = layout.headings[i + 1..].iter().find(|h| h.level <= heading.level).map_or(text.len(), |h| h.start);
        let place = heading.end.min(end)..end;
        let mut summary = opening(text, &prose(text, layout, place.clone()), layout, place);
        if summary.is_empty() {
            let children: Vec<String> = (i + 1..names.own.len())
                .take_while(|&c| layout.headings[c].start < last)
                .filter(|&c| parents[c] == Some(i))
                .map(|c| names.own[c].clone())
                .collect();
            summary = tell::summary(&format!("On {}.", tell::list(&children, LISTED)));
        }
        let fields = fields(text, layout, &labelled, heading.end..last);
        taken.insert(path.clone(), out.len());
        out.push(Category { path, summary, fields });
    }
    out
}

/// A path without the document's title.
fn below(path: &[String], titled: bool) -> Vec<String> {
    path.get(usize::from(titled)..).unwrap_or_default().to_vec()
}

/// The names of the fields that a stretch has, the most frequent first.
fn fields(text: &str, layout: &Layout, labelled: &[labels::Labelled], place: std::ops::Range<usize>) -> Vec<String> {
    let mut counts: HashMap<String, (usize, usize)> = HashMap::new();
    let mut count = |name: String, at: usize| {
        if !name.is_empty() && name.len() <= 120 {
            counts.entry(name).or_insert((0, at)).0 += 1;
        }
    };
    let from = labelled.partition_point(|l| l.start < place.start);
    for found in labelled[from..].iter().take_while(|l| l.start < place.end) {
        count(plain(&found.label), found.start);
    }
    for table in layout.tables.iter().filter(|t| place.contains(&t.header.start)) {
        if rows_are_subjects(text, table) {
            for name in header_names(&text[table.header.clone()], table.delimiter).into_iter().skip(1) {
                count(name, table.header.start);
            }
        }
    }
    let mut fields: Vec<(String, (usize, usize))> = counts.into_iter().collect();
    fields.sort_by(|a, b| b.1.0.cmp(&a.1.0).then(a.1.1.cmp(&b.1.1)).then(a.0.cmp(&b.0)));
    let mut fields: Vec<String> = fields.into_iter().map(|(name, _)| name).take(FIELDS).collect();
    fields.push("definition".to_owned());
    fields
}

/// Parts with chapters below them, within one category of chapters.
fn of_chapters(layout: &Layout, names: &Names) -> Vec<Category> {
    let parents = layout.parents();
    let fields = vec![PEOPLE.to_owned(), PLACES.to_owned()];
    let mut children: Vec<Vec<String>> = vec![Vec::new(); layout.headings.len()];
    let mut top = Vec::new();
    for (i, parent) in parents.iter().enumerate() {
        match parent {
            Some(parent) => children[*parent].push(names.own[i].clone()),
            None => top.push(names.own[i].clone()),
        }
    }
    let chapters = children.iter().filter(|c| c.is_empty()).count();
    let all = Category {
        path: vec![CHAPTERS.to_owned()],
        summary: tell::summary(&format!(
            "The text in its order, {chapters} chapters: {}.",
            tell::list(&top, 2 * LISTED)
        )),
        fields: fields.clone(),
    };
    let mut out = vec![all];
    for (i, children) in children.iter().enumerate().filter(|(_, children)| !children.is_empty()) {
        let mut path = vec![CHAPTERS.to_owned()];
        path.extend(names.paths[i].iter().cloned());
        let known = |path: &[String]| out.iter().any(|c: &Category| c.path == path);
        if out.len() < CATEGORIES && !known(&path) && known(&path[..path.len() - 1]) {
            let summary = tell::summary(&format!("{}: {}.", names.own[i], tell::list(children, LISTED)));
            out.push(Category { path, summary, fields: fields.clone() });
        }
    }
    out
}

/// The kinds of the entity memory, as far as there is a subject of each; and one for names of no known kind.
fn of_entities(entities: &[KnownEntity], floor: usize) -> Vec<Category> {
    let found = subjects(entities, floor);
    let told = floor_text(floor);
    KINDS
        .iter()
        .filter_map(|(kind, name)| {
            let names: Vec<String> =
                found.iter().filter(|(_, k, _)| k == kind).map(|(name, _, _)| name.clone()).collect();
            let keep = !names.is_empty() || *name == OTHER;
            let listed = if names.is_empty() { String::new() } else { format!(": {}", tell::list(&names, LISTED)) };
            keep.then(|| Category {
                path: vec![(*name).to_owned()],
                summary: tell::summary(&format!("{name}{told}{listed}.")),
                fields: vec![ALSO.to_owned(), "is".to_owned()],
            })
        })
        .collect()
}

/// Names, kinds and chunk counts of those that will be subjects, the most frequent first.
fn subjects(entities: &[KnownEntity], floor: usize) -> Vec<(String, &'static str, u32)> {
    let known = Known::new(entities);
    let mut found: Vec<(String, &'static str, u32)> = Vec::new();
    for (i, entity) in entities.iter().enumerate() {
        if is_subject(entity, u32::try_from(floor).unwrap_or(u32::MAX)) && !known.is_other_name(i) {
            found.push((limited(known.subject(i)), known::kind(entity), entity.chunks));
        }
    }
    found.sort_by(|a, b| b.2.cmp(&a.2).then(a.0.cmp(&b.0)));
    found
}

/// Title, what it is, size, and what it is most particularly about.
fn overview(
    input: &DiscoverInput<'_>,
    schema: &Schema,
    layout: &Layout,
    root: Option<usize>,
    sections: bool,
    words: usize,
) -> String {
    let title = [schema.title.as_str(), input.document_title, &first_line(input.text), input.document]
        .into_iter()
        .find(|title| !title.is_empty())
        .map_or(String::new(), limited);
    let size = format!("{words} words");
    if sections {
        let top: Vec<String> = schema
            .categories
            .iter()
            .filter(|c| c.path.len() == 1 && c.path[0] != FURTHER)
            .map(|c| c.path[0].clone())
            .collect();
        let from = root.map_or(0, |r| layout.headings[r].end);
        let to = layout.headings.iter().map(|h| h.start).find(|&start| start >= from).unwrap_or(input.text.len());
        let said = opening(input.text, &prose(input.text, layout, from..to), layout, from..to);
        let said: Vec<&str> = said.split_whitespace().take(OPENING_WORDS).collect();
        let said = if said.is_empty() { String::new() } else { format!(" {}", said.join(" ")) };
        return format!(
            "{title}: {size} in {} sections.{said} On {}.",
            layout.headings.len(),
            tell::list(&top, 2 * LISTED)
        );
    }
    let found = subjects(input.entities, floor_for(words));
    let of = |kind: &str, most: usize| -> Vec<String> {
        found.iter().filter(|(_, k, _)| *k == kind).take(most).map(|(name, _, _)| name.clone()).collect()
    };
    let parents = layout.parents();
    let parts: Vec<String> = (0..parents.len())
        .filter(|&i| parents[i].is_none())
        .map(|i| heading_name(input.text, &layout.headings[i]))
        .collect();
    let (people, places) = (of("person", 8), of("place", 4));
    let mut out = format!("{title}: {size}");
    if !parts.is_empty() {
        out.push_str(&format!(
            " in {} chapters ({})",
            parents.len() - parents.iter().flatten().collect::<BTreeSet<_>>().len(),
            tell::list(&parts, 3)
        ));
    }
    out.push('.');
    if !people.is_empty() {
        out.push_str(&format!(" Named most: {}.", tell::list(&people, 8)));
    }
    if !places.is_empty() {
        out.push_str(&format!(" Places: {}.", tell::list(&places, 4)));
    }
    out
}

/// The first line with words, where it is short enough for a title.
fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| line.chars().any(char::is_alphabetic)).unwrap_or_default();
    if line.len() <= 80 { plain(line.trim_start_matches(['#', '\u{feff}'])) } else { String::new() }
}
