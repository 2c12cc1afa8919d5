//! Scratch: runs configurations while the model is developed (not kept).
use fencepost_model::fencing::Fencing;
use fencepost_model::protocol::{Catalogue, Protocol};
use fencepost_model::world::World;
use stateright::{Checker, Expectation, Model, Property};
use std::time::Instant;

fn claim(i: usize) -> Property<World<Fencing>> {
    // Property conditions are fn pointers; make one per index through a table.
    macro_rules! table { ($($n:literal),*) => { [$(|w: &World<Fencing>, s: &<World<Fencing> as Model>::State| (w.protocol.properties()[$n].holds)(w, s)),*] } }
    let t: [fn(&World<Fencing>, &<World<Fencing> as Model>::State) -> bool; 21] =
        table!(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20);
    Property { expectation: Expectation::Always, name: Box::leak(i.to_string().into_boxed_str()), condition: t[i] }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let filter = args.first().cloned().unwrap_or_default();
    let mode = args.get(1).cloned().unwrap_or("all".into());
    for c in Fencing::configurations() {
        if !c.name.contains(&filter) {
            continue;
        }
        let limit = args.get(2).and_then(|s| s.parse().ok()).unwrap_or(3_000_000usize);
        // count run, all properties evaluated, never ending early
        let mut world = World::new(c.protocol.clone());
        let n = world.protocol.properties().len();
        let all: Vec<_> = (0..n).map(claim).collect();
        world.properties = if mode == "speed" { vec![] } else { all.clone() };
        world.properties.push(Property { expectation: Expectation::Sometimes, name: "never", condition: |_, _| false });
        let t = Instant::now();
        let ch = world.clone().checker().target_state_count(limit);
        let ch: Box<dyn Fn() -> (usize, usize, usize, Vec<&'static str>)> = if mode == "dfs" {
            let r = ch.spawn_dfs().join();
            Box::new(move || {
                (r.unique_state_count(), r.state_count(), r.max_depth(), r.discoveries().keys().copied().collect())
            })
        } else {
            let r = ch.spawn_bfs().join();
            Box::new(move || {
                (r.unique_state_count(), r.state_count(), r.max_depth(), r.discoveries().keys().copied().collect())
            })
        };
        let (u, g, d, disc) = ch();
        let secs = t.elapsed().as_secs_f64();
        let rss = std::fs::read_to_string("/proc/self/status")
            .unwrap()
            .lines()
            .find(|l| l.starts_with("VmHWM"))
            .unwrap()
            .to_string();
        println!(
            "{:60} {u:>9} unique {g:>10} gen depth {d:>3} {secs:6.2}s {:>7.0}/s {}{}",
            c.name,
            u as f64 / secs,
            rss.split_whitespace().nth(1).unwrap(),
            if g > limit { " CUT" } else { "" }
        );
        if mode == "speed" || mode == "dfs" {
            continue;
        }
        let mut failing: Vec<usize> = disc.iter().filter_map(|s| s.parse().ok()).collect();
        failing.sort();
        for i in failing {
            let mut w = World::new(c.protocol.clone());
            w.properties = vec![claim(i)];
            let r = w.clone().checker().target_state_count(limit).spawn_bfs().join();
            if let Some((_, p)) = r.discoveries().into_iter().next() {
                let len = p.clone().into_actions().len();
                println!("      {} fails in {len}", w.protocol.properties()[i].id);
                if mode == "show" || mode == w.protocol.properties()[i].id {
                    let v = p.into_vec();
                    for k in 0..v.len() - 1 {
                        let a = v[k].1.unwrap();
                        println!("        {:2} {}", k + 1, w.protocol.describe_step(&v[k].0, &a, &v[k + 1].0));
                    }
                    println!("{:?}", v[v.len() - 1].0);
                }
            }
        }
    }
}
