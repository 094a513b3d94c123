//! The built-in model.
