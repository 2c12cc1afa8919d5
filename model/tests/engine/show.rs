//! `show`, `simulate`, `explore` and the diagrams, on the toy protocol.

use std::net::TcpListener;

use fencepost_model::explore::{ServeError, free_address, page};
use fencepost_model::limits::{Limits, Silent};
use fencepost_model::path::Indices;
use fencepost_model::registry::{Registry, Subject};
use fencepost_model::show;

use crate::toy::Toy;

fn registry() -> Registry {
    Registry::default().with::<Toy>()
}

fn counterexample(subject: &dyn Subject) -> Indices {
    subject.shortest(0, &Limits::default(), &Silent).path.expect("two holders")
}

#[test]
fn a_counterexample_is_shown_in_three_formats() {
    let registry = registry();
    let subject = registry.find("toy/careless/one-ask").expect("a configuration");
    let path = counterexample(subject.as_ref());
    insta::assert_snapshot!("text", show::text(subject.as_ref(), &path, Some("T1")).expect("text"));
    insta::assert_snapshot!("mermaid", subject.mermaid(&path).expect("a diagram"));
    insta::assert_snapshot!("yaml", show::yaml(subject.as_ref(), &path, "T1").expect("a trace"));
}

#[test]
fn a_diagram_has_an_arrow_for_each_message_and_says_what_is_violated() {
    let registry = registry();
    let subject = registry.find("toy/careless/one-ask").expect("a configuration");
    let svg = subject.svg(&counterexample(subject.as_ref())).expect("a path").expect("a diagram");
    assert_eq!(svg.matches("class=\"message\"").count(), 4, "two requests and two answers");
    assert_eq!(svg.matches("class=\"event\"").count(), 2, "each client asks once");
    assert!(svg.contains("violates T1: one client at most holds the ticket"));
    assert_eq!(subject.svg(&Indices(vec![0])).expect("a path"), None, "a path without a step has none");
}

#[test]
fn a_lost_message_and_one_under_way_do_not_arrive_in_a_diagram() {
    let registry = registry();
    let subject = registry.find("toy/polite/lossy").expect("a configuration");
    // Client 1 asks, and client 2; the request of client 1 is lost, that of client 2 is under way.
    let path = "0/0/2/0".parse().expect("a path");
    let svg = subject.svg(&path).expect("a path").expect("a diagram");
    let count = |class: &str| svg.matches(&format!("class=\"{class}\"")).count();
    assert_eq!((count("message"), count("lost"), count("flying")), (0, 1, 1));
    insta::assert_snapshot!("mermaid_lost", subject.mermaid(&path).expect("a diagram"));
}

#[test]
fn a_seed_names_its_behaviours() {
    let registry = registry();
    let subject = registry.find("toy/polite/three-asks").expect("a configuration");
    let behaviour = |seed, number| subject.simulated(seed, number, 12).expect("a trace");
    assert_eq!(behaviour(7, 3), behaviour(7, 3));
    assert_ne!(behaviour(7, 3), behaviour(7, 4));
    assert_ne!(behaviour(7, 3), behaviour(8, 3));
    let ids: Vec<_> = (0..3).map(|number| behaviour(7, number).header().id.to_string()).collect();
    assert_eq!(ids[2], "fencing/toy/polite/three-asks/seed-7/behaviour-2");
}

#[test]
fn an_address_in_use_is_an_error_and_port_zero_is_none() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address");
    assert!(matches!(free_address(&address.to_string()), Err(ServeError::InUse(at)) if at == address));
    assert!(matches!(free_address("nowhere"), Err(ServeError::Address { .. })));
    let free = free_address("127.0.0.1:0").expect("a free port");
    assert_ne!(free.port(), 0);
    assert_eq!(page(free, &Indices(vec![0, 2, 1])), format!("http://{free}/#/steps/0/2/1"));
}
