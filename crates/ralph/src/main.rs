//! ralph: drives coding agents through specs until the work is proven done.

fn main() {}
