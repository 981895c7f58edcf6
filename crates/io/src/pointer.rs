//! Shared file pointers: a word in the process of the first of a file's ranks, which ranks elsewhere ask by active messages.
//!
//! A question is named by a number of its own, under which the answer comes. Where a process is lost, its answers come as losses.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use weft_am::{Active, Arrival, Message, Nonsense, Service, When};
use weft_base::Error;
use weft_base::Result as Outcome;
use weft_base::constants::MPI_ERR_OTHER;
use weft_sched::Thread;
use weft_sync::Lock;
use weft_transport::Node;

/// The number of shared file pointers among the services.
const NUMBER: usize = 2;

/// What a message is: a question with the file's number, what is done, by how much, and the question's name; or the answer with
/// the name and the former value.
const ASK: u32 = 1;
const ANSWER: u32 = 2;

const ADD: u64 = 0;
const SET: u64 = 1;

static ACTIVE: OnceLock<&'static Active> = OnceLock::new();
static WORDS: Lock<Option<HashMap<u32, Weak<AtomicU64>>>> = Lock::new(None);
static QUESTIONS: Lock<Option<HashMap<u64, Question>>> = Lock::new(None);

/// A question that was not answered, or not heard, yet.
struct Question {
    node: Node,
    thread: &'static Thread,
    answer: Option<Result<u64, String>>,
}

/// Says by which active messages other processes are reached, before a file has ranks there.
pub fn use_active(active: &'static Active) {
    let _ = ACTIVE.set(active);
}

fn active() -> &'static Active {
    ACTIVE.get().expect("a file with ranks of other processes has active messages")
}

/// A file's shared pointer.
pub enum Pointer {
    /// The word is in this process.
    Here(Arc<AtomicU64>),
    /// It is in another, under a number.
    There(Node, u32),
}

impl Pointer {
    /// Finds the pointer of the file with a number, or makes it: in this process, or in that of the node.
    pub fn join(number: u32, elsewhere: Option<Node>) -> Self {
        if let Some(node) = elsewhere {
            return Self::There(node, number);
        }
        let mut words = WORDS.lock();
        let words = words.get_or_insert_default();
        if let Some(word) = words.get(&number).and_then(Weak::upgrade) {
            return Self::Here(word);
        }
        words.retain(|_, word| word.strong_count() > 0);
        let word = Arc::new(AtomicU64::new(0));
        words.insert(number, Arc::downgrade(&word));
        Self::Here(word)
    }

    /// Moves it on, and returns where it was.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER` when the process that has it is lost.
    pub fn add(&self, etypes: u64) -> Outcome<u64> {
        match self {
            Self::Here(word) => Ok(word.fetch_add(etypes, Ordering::AcqRel)),
            Self::There(node, number) => ask(*node, *number, ADD, etypes),
        }
    }

    /// Sets it.
    ///
    /// # Errors
    /// As [`Pointer::add`].
    pub fn set(&self, etypes: u64) -> Outcome {
        match self {
            Self::Here(word) => word.store(etypes, Ordering::Release),
            Self::There(node, number) => drop(ask(*node, *number, SET, etypes)?),
        }
        Ok(())
    }

    /// Returns where it is.
    ///
    /// # Errors
    /// As [`Pointer::add`].
    pub fn get(&self) -> Outcome<u64> {
        self.add(0)
    }
}

fn ask(node: Node, number: u32, operation: u64, value: u64) -> Outcome<u64> {
    static NAMES: AtomicU64 = AtomicU64::new(1);
    let name = NAMES.fetch_add(1, Ordering::Relaxed);
    let question = Question { node, thread: weft_sched::current(), answer: None };
    QUESTIONS.lock().get_or_insert_default().insert(name, question);
    // Whoever notes a loss looks through the questions afterwards.
    if let Some(reason) = active().loss(node) {
        lose(node, &reason);
    }
    let words = [u64::from(number), operation, value, name];
    active().tell(node, NUMBER, ASK, Message { words: &words, data: &[] }, When::Now);
    let mut answer = None;
    weft_sched::wait_until(|| {
        if let Some(questions) = &mut *QUESTIONS.lock()
            && let Some(question) = questions.get_mut(&name)
        {
            answer = question.answer.take();
            if answer.is_some() {
                questions.remove(&name);
            }
        }
        answer.is_some()
    });
    answer.expect("waited for").map_err(|reason| {
        let text = format!("the shared file pointer is lost with the process that has it: {reason}");
        Error::new(MPI_ERR_OTHER, text)
    })
}

/// Gives an answer to whoever waits for it.
fn answer(name: u64, with: Result<u64, String>) {
    let thread = {
        let mut questions = QUESTIONS.lock();
        let question = questions.as_mut().and_then(|questions| questions.get_mut(&name));
        question.map(|question| {
            question.answer = Some(with);
            question.thread
        })
    };
    thread.into_iter().for_each(Thread::unpark);
}

fn lose(node: Node, reason: &str) {
    let names: Vec<u64> = {
        let questions = QUESTIONS.lock();
        let all = questions.iter().flatten().filter(|(_, question)| question.node == node);
        all.filter(|(_, question)| question.answer.is_none()).map(|(name, _)| *name).collect()
    };
    names.into_iter().for_each(|name| answer(name, Err(reason.to_owned())));
}

/// The service.
pub struct SharedPointers;

impl SharedPointers {
    fn asked(from: Node, words: &[u64]) -> Option<()> {
        let &[number, operation, value, name] = words else { return None };
        let number = u32::try_from(number).ok()?;
        let word = WORDS.lock().as_ref().and_then(|words| words.get(&number)).and_then(Weak::upgrade)?;
        let former = match operation {
            ADD => word.fetch_add(value, Ordering::AcqRel),
            SET => word.swap(value, Ordering::AcqRel),
            _ => return None,
        };
        active().tell(from, NUMBER, ANSWER, Message { words: &[name, former], data: &[] }, When::Now);
        Some(())
    }
}

impl Service for SharedPointers {
    fn told(&self, _: &Active, from: Node, kind: u32, message: Message<'_>) -> Result<(), Nonsense> {
        let done = match (kind, message.words) {
            (ASK, words) => Self::asked(from, words),
            (ANSWER, &[name, former]) => {
                answer(name, Ok(former));
                Some(())
            }
            _ => None,
        };
        done.ok_or(Nonsense("what no shared file pointer is asked"))
    }

    fn arrived(&self, _: &Active, _: u32, _: Arrival) -> Result<(), Nonsense> {
        Err(Nonsense("a question for a shared file pointer that is kept"))
    }

    fn lost(&self, _: &Active, peer: Node, reason: &str) {
        lose(peer, reason);
    }
}
