//! State as JSON lines, and the BEIR layout: how other programs hand over what they understood, and take it back.
//!
//! One JSON object a line, told apart by `"type"`:
//!
//! ```text
//! {"type":"document","doc":"pride","title":"…","metadata":{…},"fanout":5,"chunk_words":500,"memory":"document"}
//! {"type":"chunk","doc":"pride","id":"pride:0","title":"…","text":"…","start":0,"end":812}
//! {"type":"entity","doc":"pride","name":"Elizabeth Bennet","kind":"person","aliases":["Lizzy"],"descriptions":["…"],"chunks":["pride:0"]}
//! {"type":"summary","doc":"pride","level":1,"index":0,"text":"…"}
//! {"type":"outline","doc":"pride","path":["characters","Elizabeth Bennet"],"summary":"…","fields":[{"name":"role","value":"…","start":120,"end":180}],"links":[["events","The ball"]]}
//! {"type":"page_summary","doc":"pride","hash":"…","summary":"…"}
//! {"type":"record","doc":"pride","entity":"Jane Bennet","entity_type":"person","kind":"relation","label":"sister_of","value":"Elizabeth Bennet","chunks":["pride:0"]}
//! ```
//!
//! [`import`] takes such lines, [`export`] writes them; importing an export gives the same export. Neither calls a
//! model. [`import_beir`] reads the rows of a BEIR corpus as chunks, with a model, as a build does.

mod ahead;
mod beir;
mod export;
mod held;
mod import;
mod line;
mod outline;
mod records;

pub use beir::{BeirImported, import_beir};
pub(crate) use beir::{queries, relevant};
pub use export::export;
pub use import::{ImportOptions, Imported, import};
pub use line::{Again, LINE_BYTES, Stated, record, stated};
pub use outline::subject;
