//! The explorer in a real browser: chromium, without a window. Where there is none, the test says so and passes.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use fencepost_model::explore::{free_address, page};
use fencepost_model::limits::{Limits, Silent};
use fencepost_model::registry::Registry;

use crate::toy::Toy;

const CHROMIUM: &str = "/usr/bin/chromium";

/// The page as the browser has it when it has settled.
fn opened(url: &str) -> String {
    let profile = tempfile::tempdir().expect("a directory");
    let output = Command::new(CHROMIUM)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        // The browser's own clock runs ahead while it waits for nothing, so this takes no time.
        .args(["--virtual-time-budget=12000", "--dump-dom", url])
        .output()
        .expect("chromium runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn the_page_opens_at_the_last_state_with_the_violated_property_and_the_diagram() {
    if !Path::new(CHROMIUM).exists() {
        eprintln!("{CHROMIUM} is not there: the explorer is not tested in a browser");
        return;
    }
    let registry = Registry::default().with::<Toy>();
    let subject = Arc::clone(registry.find("toy/careless/one-ask").expect("a configuration"));
    let path = subject.shortest(0, &Limits::default(), &Silent).path.expect("two holders");
    let address = free_address("127.0.0.1:0").expect("a free port");
    std::thread::spawn(move || subject.serve(address));
    let dom = opened(&page(address, &path));
    // The last state, as it is described; the steps; the diagram; the properties.
    assert!(dom.contains("VIOLATES T1 \"one client at most holds the ticket\""), "{dom}");
    assert!(dom.contains("client 2: Holding"), "{dom}");
    assert!(dom.contains("Granted of desk arrives"), "{dom}");
    assert!(dom.contains("class=\"message\""), "{dom}");
    assert!(dom.contains("href=\"#/steps/0/"), "{dom}");
    assert!(dom.contains("Always T1<"), "{dom}");
}
