//! Promises.
