//! What the fuzz targets share.

pub mod edit;
#[path = "../../tests/common/forge.rs"]
pub mod forge;
pub mod harvest;
pub mod rules;
pub mod walk;
