//! storage

pub mod checkpoint;
pub mod fs;
pub mod leader_epoch_checkpoint;
pub mod log_error;
pub mod memory_fs;
pub mod names;
pub mod offset_index;
pub mod segment_files;
pub mod time_index;
pub mod transaction_index;
