//! What tests share: temporary projects and a way to run the real binary in them.
