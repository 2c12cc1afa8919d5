//! Patterns over ids: `*` stands for any characters, `/` among them; everything else for itself.

/// Whether `pattern` has a wildcard.
#[must_use]
pub fn has_wildcard(pattern: &str) -> bool {
    pattern.contains('*')
}

/// Whether `id` matches `pattern` as a whole.
#[must_use]
pub fn matches(pattern: &str, id: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = id.strip_prefix(first) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    // Taking each middle part as early as it comes leaves the most for the others.
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_pattern_without_a_wildcard_matches_itself_alone() {
        assert!(matches("fencing/a", "fencing/a"));
        assert!(!matches("fencing/a", "fencing/ab"));
        assert!(!matches("fencing/ab", "fencing/a"));
    }

    #[test]
    fn a_wildcard_matches_any_characters_also_none() {
        assert!(matches("fencing/*", "fencing/a/b"));
        assert!(matches("*late*", "late"));
        assert!(matches("*late*refused", "fencing/late-commit-refused"));
        assert!(!matches("*late*refused", "fencing/late-commit"));
    }

    #[test]
    fn the_ends_of_a_pattern_do_not_overlap() {
        assert!(!matches("ab*ba", "aba"));
        assert!(matches("ab*ba", "abba"));
    }
}
