//! First look.

use crate::lab::*;

#[test]
fn look() {
    let lab = lab();
    let run = lab.construct([]);
    println!("{}\n---\n{}\n{}\n{:?}\n{:?}", run.stdout, run.stderr, lab.plan(), lab.runs(), lab.stages());
    for record in lab.journal() { println!("{record}"); }
    panic!();
}
