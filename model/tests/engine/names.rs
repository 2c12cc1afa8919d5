//! Globs and the nearest names.

use fencepost_model::registry::{UnknownName, matches};

#[test]
fn a_glob_matches_whole_names_and_beginnings_up_to_a_slash() {
    let name = "fencing/kafka-4.3+late-marker/two-members";
    for glob in
        ["fencing", "fencing/", "fencing/kafka-4.3+late-marker", name, "*", "*two*", "fencing/*/two-member?", "**s"]
    {
        assert!(matches(glob, name), "{glob}");
    }
    for glob in ["", "fenc", "fencing/kafka-4.3", "?", "two-members", "fencing/*/three*", "*two", "fencing/two-members"]
    {
        assert!(!matches(glob, name), "{glob}");
    }
    // A glob that backtracks a lot ends all the same.
    assert!(!matches(&"*a".repeat(200), &"a".repeat(150)));
}

#[test]
fn the_nearest_names_come_in_the_order_of_their_likeness() {
    let known = ["fencing/kafka-4.3/two", "fencing/kafka-4.4/two", "compaction/kafka-4.4/one", "zzz"];
    let nearest =
        |name: &str| UnknownName::new("configuration", name, known.iter().map(|name| (*name).to_owned())).nearest;
    assert_eq!(nearest("fencing/kafka-4.4/tow")[0], "fencing/kafka-4.4/two");
    assert_eq!(nearest("compaction"), ["compaction/kafka-4.4/one"]);
    assert_eq!(nearest("quite something else"), Vec::<String>::new());
    assert_eq!(nearest(""), Vec::<String>::new());
}
