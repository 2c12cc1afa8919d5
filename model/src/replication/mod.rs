//! The protocol `replication`: a partition's log on several brokers, leader epochs, the high watermark and the ISR.

pub mod tla;
