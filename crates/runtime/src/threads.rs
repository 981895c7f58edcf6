//! Ranks as threads of the scheduler.

use weft_base::job::Job;
use weft_sched::Thread;

/// Starts the scheduler.
pub fn start(_job: &Job) -> Result<(), String> {
    Ok(())
}

/// Lets a rank begin.
pub fn spawn(rank: u32, entry: Box<dyn FnOnce() + Send>) -> Result<(), String> {
    let begin = move || {
        weft_sched::current().set_process(rank, core::ptr::null_mut());
        let _ = weft_diagnose::install_alternate_stack();
        entry()
    };
    std::thread::Builder::new().stack_size(8 << 20).spawn(begin).map(drop).map_err(|error| error.to_string())
}

/// Makes the calling thread one of its creator's rank.
pub fn inherit(creator: &'static Thread) {
    weft_sched::current().set_process(creator.rank(), creator.process());
}

/// Ends the calling thread of a rank that has ended.
pub fn finish(_is_main: bool) -> ! {
    loop {
        std::thread::park();
    }
}

/// Returns the calling thread's rank; safe in a signal handler.
pub fn rank_in_handler() -> u32 {
    weft_sched::current().rank()
}

/// Tells whether the calling thread's stack overflowed.
pub fn overflowed(_address: usize, _stack_pointer: usize) -> Option<(usize, usize)> {
    None
}

/// Says what a thread is doing.
pub fn describe(_thread: &'static Thread) -> String {
    "is running".into()
}
