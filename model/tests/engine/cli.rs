//! The command line: what people read, and the exit codes.

use clap::{CommandFactory, Parser};
use fencepost_model::cli::{Cli, run};
use fencepost_model::registry::Registry;

use crate::toy::Toy;

fn registry() -> Registry {
    Registry::default().with::<Toy>()
}

/// The exit code of a command line, and the message where it is an error.
fn code(arguments: &[&str]) -> (u8, String) {
    let cli = match Cli::try_parse_from(std::iter::once("fencepost-model").chain(arguments.iter().copied())) {
        Ok(cli) => cli,
        Err(error) => return (u8::try_from(error.exit_code()).expect("small"), error.to_string()),
    };
    match run(&cli, &registry()) {
        Ok(code) => (code, String::new()),
        Err(error) => (error.exit_code(), error.to_string()),
    }
}

#[test]
fn the_help_texts_are_as_they_were_reviewed() {
    let mut command = Cli::command().term_width(100);
    insta::assert_snapshot!("help", command.render_long_help().to_string());
    for name in ["check", "explore", "show", "export", "simulate"] {
        let sub = command.find_subcommand_mut(name).expect("a command");
        let mut sub = std::mem::take(sub).term_width(100).bin_name(format!("fencepost-model {name}"));
        insta::assert_snapshot!(format!("help_{name}"), sub.render_long_help().to_string());
    }
}

#[test]
fn the_command_line_contradicts_itself_nowhere() {
    Cli::command().debug_assert();
}

#[test]
fn an_unknown_name_has_the_nearest_ones() {
    let (exit, message) = code(&["show", "toy/carless/one-ask", "--violates", "T1"]);
    assert_eq!(exit, 2);
    assert!(message.contains("did you mean toy/careless/one-ask"), "{message}");
    let (exit, message) = code(&["explore", "toy/careless/one-ask", "--violates", "t1"]);
    assert_eq!(exit, 2);
    assert!(message.contains("no property `t1`"), "{message}");
    let (exit, message) = code(&["simulate", "toy"]);
    assert_eq!(exit, 2);
    assert!(message.contains("did you mean toy/"), "{message}");
}

#[test]
fn what_can_not_be_shown_is_an_error() {
    let (exit, message) = code(&["show", "toy/polite/one-ask", "--violates", "T1"]);
    assert_eq!((exit, message.as_str()), (1, "T1 holds in toy/polite/one-ask: there is no counterexample"));
    let (exit, message) = code(&["show", "toy/polite/one-ask"]);
    assert_eq!(exit, 2);
    assert!(message.contains("--violates"), "{message}");
    let (exit, message) = code(&["show", "no/such/file.yaml"]);
    assert_eq!(exit, 2);
    assert!(message.starts_with("no/such/file.yaml: "), "{message}");
}

#[test]
fn a_trace_that_no_longer_fits_is_an_error() {
    let registry = registry();
    let subject = registry.find("toy/careless/one-ask").expect("a configuration");
    let path = "0/0/0/0/0/0/0".parse().expect("a path");
    let yaml = fencepost_model::show::yaml(subject.as_ref(), &path, "T1").expect("a trace");
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("trace.yaml");
    let name = file.to_str().expect("a name");
    let with = |from: &str, to: &str| {
        assert!(yaml.contains(from), "{yaml}");
        std::fs::write(&file, yaml.replace(from, to)).expect("written");
        code(&["show", name])
    };
    let (exit, message) = with("path: 0/0/0/0/0/0/0", "path: 0/0/0/0/5/0/0");
    assert_eq!(exit, 2);
    assert!(message.contains("no longer fits") && message.contains("step 4 takes action 5"), "{message}");
    let (exit, message) = with("path: 0/0/0/0/0/0/0", "path: 0/0");
    assert_eq!(exit, 2);
    assert!(message.contains("T1 holds at its end"), "{message}");
    let (exit, message) = with("configuration: toy/careless/one-ask", "configuration: toy/careless/gone");
    assert_eq!(exit, 2);
    assert!(message.contains("no configuration `toy/careless/gone`"), "{message}");
}

#[test]
fn usage_has_an_exit_code_of_its_own() {
    assert_eq!(code(&["check", "--threads", "0"]).0, 2);
    assert_eq!(code(&["explore"]).0, 2);
    assert_eq!(code(&["export", "--prove-all"]).0, 2);
    assert_eq!(code(&["frobnicate"]).0, 2);
    assert_eq!(code(&["simulate", "toy/polite/one-ask", "--count", "0"]).0, 0);
}
