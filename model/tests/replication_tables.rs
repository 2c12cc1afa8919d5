//! The decision tables of replication against the vectors of `LeaderEpochFileCacheTest`, as `docs/replication.md` 1.3 has
//! them.

use fencepost_model::replication::epochs::{EpochEnd, Epochs};
use fencepost_model::replication::labels::Trail;

type Entry = (i8, i8);
type Entries = &'static [Entry];

fn cache(entries: &[(i8, i8)]) -> Epochs {
    let mut epochs = Epochs::default();
    for (epoch, start) in entries {
        epochs.assign(*epoch, *start, &mut Trail::default());
    }
    assert!(epochs.iter().eq(entries.iter().copied()));
    epochs
}

#[test]
fn assigning_an_epoch_drops_what_contradicts_it() {
    let rows: &[(Entries, Entry, Entries)] = &[
        (&[], (0, 0), &[(0, 0)]),
        (&[(2, 6)], (2, 7), &[(2, 6)]),
        (&[(2, 6)], (2, 5), &[(2, 5)]),
        (&[(2, 6)], (3, 5), &[(3, 5)]),
        (&[(2, 9)], (3, 9), &[(3, 9)]),
        (&[(1, 5), (2, 6)], (1, 7), &[(1, 7)]),
        (&[(1, 5), (2, 6)], (1, 6), &[(1, 6)]),
    ];
    for (before, (epoch, start), after) in rows {
        let mut epochs = cache(before);
        epochs.assign(*epoch, *start, &mut Trail::default());
        assert!(epochs.iter().eq(after.iter().copied()), "{before:?} assign {epoch} {start}: {epochs:?}");
    }
}

#[test]
fn truncating_from_the_end_drops_what_starts_there_or_later() {
    let before = [(2, 6), (3, 8), (4, 11)];
    let rows: &[(i8, Entries)] = &[(8, &[(2, 6)]), (9, &[(2, 6), (3, 8)]), (12, &[(2, 6), (3, 8), (4, 11)]), (0, &[])];
    for (end, after) in rows {
        let mut epochs = cache(&before);
        epochs.truncate_from_end(*end);
        assert!(epochs.iter().eq(after.iter().copied()), "{end}: {epochs:?}");
    }
}

#[test]
fn an_epoch_ends_where_the_next_known_one_starts() {
    let rows: &[(Entries, i8, i8, Entry)] = &[
        (&[(0, 10), (2, 13), (4, 17)], 20, 0, (0, 13)),
        (&[(0, 10), (2, 13), (4, 17)], 20, 1, (0, 13)),
        (&[(0, 10), (2, 13), (4, 17)], 20, 2, (2, 17)),
        (&[(0, 10), (2, 13), (4, 17)], 20, 3, (2, 17)),
        (&[(0, 10), (2, 13), (4, 17)], 20, 4, (4, 20)),
        (&[(0, 10), (2, 13), (4, 17)], 20, 5, (-1, -1)),
        (&[(0, 10), (2, 13), (4, 17)], 20, -1, (-1, -1)),
        (&[(4, 11), (5, 12), (6, 13)], 14, 3, (3, 11)),
        (&[(2, 100)], 101, 3, (-1, -1)),
        (&[(2, 100)], 101, 1, (1, 100)),
        (&[], 0, 2, (-1, -1)),
    ];
    for (entries, log_end, asked, (epoch, end)) in rows {
        let found = cache(entries).end_of(*asked, *log_end, &mut Trail::default());
        assert_eq!(found, EpochEnd { epoch: *epoch, end: *end }, "{entries:?} asked {asked}");
    }
}
