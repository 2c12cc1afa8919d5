//! The schema of the driver protocol is the one that is committed. `FENCEPOST_BLESS=1` writes it anew.

use std::path::Path;

#[test]
fn the_schema_of_the_driver_protocol_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema/driver.json");
    let schema = format!("{:#}\n", fencepost_conformance::driver_schema::schema());
    if std::env::var_os("FENCEPOST_BLESS").is_some() {
        std::fs::write(&path, &schema).expect("the directory is there");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == schema,
        "schema/driver.json is not current; run FENCEPOST_BLESS=1 cargo test -p fencepost-conformance --test schema"
    );
}
