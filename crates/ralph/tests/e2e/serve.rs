//! `ralph serve` as a command; what it answers is proven in ralph-web.

use ralph_testkit::project;

#[test]
fn an_address_that_others_can_reach_is_refused_with_what_it_would_mean() {
    let p = project!().git_init();
    p.run(["serve", "--bind", "0.0.0.0", "--port", "0"])
        .fails(1)
        .stderr_has("other machines")
        .stderr_has("--allow-remote")
        .stderr_has("not encrypted");
    assert!(
        !p.exists(".git/ralph/serve-token"),
        "nothing was made for a server that did not start"
    );
}

#[test]
fn a_port_that_is_taken_is_an_error_with_a_way_out() {
    let taken = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let p = project!().git_init();
    p.run(["serve", "--port", &port]).fails(1).stderr_has("cannot listen").stderr_has("--port 0");
}
