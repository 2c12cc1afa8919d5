//! What a consumer loses, and reads twice, that does not know where the logs part and takes one of the four ways to go on
//! (`docs/consumers.md` 7): the most of each in the row `several-truncations`, with the path to it.
//!
//! ```console
//! $ cargo run --release -p fencepost-model --example one_pair
//! ```

use fencepost_model::consumer::Consumer;
use fencepost_model::limits::Limits;
use fencepost_model::protocol::Catalogue;
use fencepost_model::search::{Number, Visit, search};
use fencepost_model::world::{World, WorldState};

/// The most that was met, and where.
#[derive(Default)]
struct Most {
    twice: (u8, Option<Number>),
    missed: (u8, Option<Number>),
}

impl Visit<Consumer> for Most {
    fn state(&mut self, _: &World<Consumer>, state: &WorldState<Consumer>, number: Number) {
        let [twice, missed] = state.actors.client.counts;
        for (most, found) in [(&mut self.twice, twice), (&mut self.missed, missed)] {
            if found > most.0 {
                *most = (found, Some(number));
            }
        }
    }

    fn done(&self) -> bool {
        false
    }
}

fn main() {
    println!("| rules | records missed | path | records read twice | path |");
    println!("|---|---:|---|---:|---|");
    for configuration in Consumer::configurations() {
        if !configuration.name.ends_with("/several-truncations") {
            continue;
        }
        let mut most = Most::default();
        let world = World::new(configuration.protocol);
        let searched = search(&world, usize::MAX, &Limits::default(), &mut most);
        let path =
            |number: Option<Number>| number.map_or_else(String::new, |number| searched.tree.path(number).to_string());
        let Most { twice, missed } = most;
        println!("| {} | {} | {} | {} | {} |", configuration.name, missed.0, path(missed.1), twice.0, path(twice.1));
    }
}
