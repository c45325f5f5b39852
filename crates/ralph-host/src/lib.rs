//! The thin shell around the core: the only code that touches the world.

pub mod config_load;
