//! The check on several workers and several processes: equal to the local one, and ended as a whole by any fault.

mod children;
mod equal;
mod faults;
mod meeting;
mod protocols;
mod puzzle;
