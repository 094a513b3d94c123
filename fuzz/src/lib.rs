//! What the fuzz targets share.

#[path = "../../tests/common/forge.rs"]
pub mod forge;
pub mod edit;
pub mod walk;
