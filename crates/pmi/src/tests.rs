//! The client against a launcher of our own, over real sockets: what it asks, and what it makes of the answers.

use crate::text::{LENGTH_BYTES, Reply, message_length};
use crate::{Client, Facts, Limits, Way};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::IntoRawFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

/// Long beyond any wait here: only a hang reaches it.
const LIMITS: Limits = Limits { answer: Duration::from_secs(60), others: Duration::from_secs(60) };

/// A launcher of `size` ranks.
struct Launcher {
    size: usize,
    values: Mutex<HashMap<String, String>>,
    barrier: Barrier,
    /// What it was asked and has no answer for.
    noted: Mutex<Vec<String>>,
}

impl Launcher {
    fn new(size: usize) -> Arc<Self> {
        let (values, noted) = Default::default();
        let launcher = Self { size, values, barrier: Barrier::new(size), noted };
        launcher
            .values
            .lock()
            .unwrap()
            .insert("PMI_process_mapping".into(), format!("(vector,(0,1,{size}))"));
        Arc::new(launcher)
    }

    /// Answers a request of PMI-1; none if it has no answer.
    fn answer_line(&self, line: &str) -> Option<String> {
        let request = Reply::from_line(line.as_bytes()).unwrap();
        let get = |name| request.get(name).unwrap_or_default().to_owned();
        Some(match request.command() {
            "init" if get("pmi_version") == "1" => {
                "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1".into()
            }
            "init" => "cmd=response_to_init rc=-1 pmi_version=1 pmi_subversion=1".into(),
            "get_maxes" => "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024".into(),
            "get_my_kvsname" => "cmd=my_kvsname kvsname=space".into(),
            "get_appnum" => "cmd=appnum appnum=2".into(),
            "get_universe_size" => "cmd=universe_size size=-1".into(),
            "put" => {
                assert_eq!(get("kvsname"), "space");
                self.values.lock().unwrap().insert(get("key"), get("value"));
                "cmd=put_result rc=0 msg=success".into()
            }
            "get" => match self.values.lock().unwrap().get(&get("key")) {
                Some(value) => format!("cmd=get_result rc=0 msg=success value={value}"),
                None => "cmd=get_result rc=-1 msg=no such key value=unknown".into(),
            },
            "barrier_in" => {
                self.barrier.wait();
                "cmd=barrier_out".into()
            }
            "finalize" => "cmd=finalize_ack".into(),
            _ => {
                self.noted.lock().unwrap().push(line.to_owned());
                return None;
            }
        })
    }

    fn serve_lines(self: Arc<Self>, reader: impl Read, mut writer: impl Write) {
        for line in BufReader::new(reader).lines().map_while(Result::ok) {
            if let Some(answer) = self.answer_line(&line) {
                // In pieces, as sockets may deliver.
                let (one, other) = answer.split_at(answer.len() / 2);
                writer.write_all(one.as_bytes()).unwrap();
                writer.write_all(format!("{other}\n").as_bytes()).unwrap();
            }
        }
    }

    fn answer_message(&self, rank: usize, body: &[u8]) -> Option<String> {
        let request = Reply::from_message(body).unwrap();
        let get = |name| request.get(name).unwrap_or_default().to_owned();
        let of = |found: Option<&String>| match found {
            Some(value) => format!("rc=0;found=TRUE;value={value};"),
            None => "rc=0;found=FALSE;".into(),
        };
        let answer = match request.command() {
            "fullinit" => {
                format!("rc=0;pmi-version=2;pmi-subversion=0;rank={rank};size={};appnum=-1;", self.size)
            }
            "job-getid" => "rc=0;jobid=7.0;".into(),
            "info-getjobattr" if get("key") == "universeSize" => "rc=0;found=TRUE;value=16;".into(),
            "info-getjobattr" => of(self.values.lock().unwrap().get(&get("key"))),
            "kvs-put" => {
                self.values.lock().unwrap().insert(get("key"), get("value"));
                "rc=0;".into()
            }
            "kvs-get" => of(self.values.lock().unwrap().get(&get("key"))),
            "kvs-fence" => {
                self.barrier.wait();
                "rc=0;".into()
            }
            "finalize" => "rc=0;".into(),
            _ => {
                self.noted.lock().unwrap().push(String::from_utf8_lossy(body).into_owned());
                return None;
            }
        };
        Some(format!("cmd={}-response;{answer}", request.command()))
    }

    fn serve_messages(self: Arc<Self>, rank: usize, mut socket: UnixStream) {
        let mut line = Vec::new();
        while !line.ends_with(b"\n") {
            let mut byte = [0];
            socket.read_exact(&mut byte).unwrap();
            line.extend(byte);
        }
        assert_eq!(Reply::from_line(&line).unwrap().get("pmi_version"), Some("2"));
        socket.write_all(b"cmd=response_to_init rc=0 pmi_version=2 pmi_subversion=0\n").unwrap();
        let mut head = [0; LENGTH_BYTES];
        while socket.read_exact(&mut head).is_ok() {
            let mut body = vec![0; message_length(&head).unwrap()];
            socket.read_exact(&mut body).unwrap();
            if let Some(answer) = self.answer_message(rank, &body) {
                socket.write_all(format!("{:<6}{answer}", answer.len()).as_bytes()).unwrap();
            }
        }
    }
}

fn facts(socket: UnixStream, rank: u32, size: u32, job: Option<&str>) -> Facts {
    let way = Way::Descriptor(socket.into_raw_fd());
    Facts { way, rank: Some(rank), size: Some(size), is_spawned: false, job: job.map(str::to_owned) }
}

/// Connects a rank to a launcher that speaks PMI-1.
fn by_lines(launcher: &Arc<Launcher>, rank: u32) -> Client {
    let (near, far) = UnixStream::pair().unwrap();
    let serving = launcher.clone();
    std::thread::spawn(move || serving.serve_lines(far.try_clone().unwrap(), far));
    Client::connect(&facts(near, rank, launcher.size as u32, None), LIMITS).unwrap()
}

fn by_messages(launcher: &Arc<Launcher>, rank: u32) -> Client {
    let (near, far) = UnixStream::pair().unwrap();
    let serving = launcher.clone();
    std::thread::spawn(move || serving.serve_messages(rank as usize, far));
    Client::connect(&facts(near, rank, launcher.size as u32, Some("7.0")), LIMITS).unwrap()
}

/// Lets three ranks exchange what each has put.
fn exchange(connect: fn(&Arc<Launcher>, u32) -> Client) {
    let launcher = Launcher::new(3);
    let rank = |rank: u32| {
        let client = connect(&launcher, rank);
        assert_eq!((client.rank(), client.size(), client.is_spawned()), (rank, 3, false));
        client.put(&format!("key{rank}"), &format!("value{rank}")).unwrap();
        client.fence().unwrap();
        for other in 0..3 {
            assert_eq!(client.get(&format!("key{other}")), Ok(Some(format!("value{other}"))));
        }
        assert_eq!(client.get("absent"), Ok(None));
        assert_eq!(client.hosts(), Ok(Some(vec![0; 3])));
        assert!(client.put("long", &"x".repeat(5000)).unwrap_err().contains("5000 bytes"));
        client.finish().unwrap();
    };
    std::thread::scope(|scope| {
        let ranks: Vec<_> = (0..3).map(|number| scope.spawn(move || rank(number))).collect();
        ranks.into_iter().for_each(|rank| rank.join().unwrap());
    });
}

#[test]
fn ranks_exchange_values_in_pmi_1() {
    exchange(by_lines);
}

#[test]
fn ranks_exchange_values_in_pmi_2() {
    exchange(by_messages);
}

#[test]
fn facts_of_the_job_are_asked_for() {
    let one = by_lines(&Launcher::new(1), 0);
    assert_eq!((one.application_number(), one.universe_size(), one.protocol()), (Some(2), None, "PMI-1"));
    let two = by_messages(&Launcher::new(1), 0);
    assert_eq!((two.application_number(), two.universe_size(), two.protocol()), (None, Some(16), "PMI-2"));
}

#[test]
fn an_old_launcher_is_spoken_to_in_pmi_1_although_the_job_has_a_name() {
    let (near, far) = UnixStream::pair().unwrap();
    let launcher = Launcher::new(1);
    std::thread::spawn(move || launcher.serve_lines(far.try_clone().unwrap(), far));
    let client = Client::connect(&facts(near, 0, 1, Some("job")), LIMITS).unwrap();
    assert_eq!(client.protocol(), "PMI-1");
}

#[test]
fn a_rank_that_connects_to_a_port_is_told_who_it_is() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = listener.local_addr().unwrap().to_string();
    let serve = move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut line = Vec::new();
        while !line.ends_with(b"\n") {
            let mut byte = [0];
            socket.read_exact(&mut byte).unwrap();
            line.extend(byte);
        }
        assert_eq!(line, b"cmd=initack pmiid=5\n");
        socket.write_all(b"cmd=initack rc=0\ncmd=set size=3\ncmd=set rank=1\ncmd=set debug=0\n").unwrap();
        let reader: TcpStream = socket.try_clone().unwrap();
        Launcher::new(3).serve_lines(reader, socket);
    };
    std::thread::spawn(serve);
    let facts = Facts { way: Way::Port(place, 5), rank: None, size: None, is_spawned: true, job: None };
    let client = Client::connect(&facts, LIMITS).unwrap();
    assert_eq!((client.rank(), client.size(), client.is_spawned()), (1, 3, true));
}

#[test]
fn an_abort_says_its_code_and_waits_for_nothing() {
    let launcher = Launcher::new(1);
    let client = by_lines(&launcher, 0);
    client.abort(9, "because; of this");
    client.finish().unwrap();
    assert_eq!(*launcher.noted.lock().unwrap(), ["cmd=abort exitcode=9"]);
    let launcher = Launcher::new(1);
    let client = by_messages(&launcher, 0);
    client.abort(9, "because; of this");
    client.finish().unwrap();
    assert_eq!(*launcher.noted.lock().unwrap(), ["cmd=abort;isworld=TRUE;msg=because__of_this;"]);
}

/// Connects to a launcher that says `answers`, whatever it is asked, and then closes or stays silent.
fn against(answers: &'static [u8], closes: bool, limits: Limits) -> String {
    let (near, mut far) = UnixStream::pair().unwrap();
    far.write_all(answers).unwrap();
    if closes {
        far.shutdown(std::net::Shutdown::Write).unwrap();
    }
    Client::connect(&facts(near, 0, 1, None), limits).err().unwrap()
}

#[test]
fn a_launcher_that_says_nonsense_is_named_not_believed() {
    assert!(against(b"", true, LIMITS).contains("closed the connection instead of answering init"));
    assert!(against(b"\xff\xfe\n", true, LIMITS).contains("no PMI"));
    assert!(against(b"cmd=response_to_init pmi_version=9\n", true, LIMITS).contains("neither"));
    let begin = b"cmd=response_to_init rc=0 pmi_version=1\ncmd=maxes vallen_max=many\n";
    assert!(against(begin, true, LIMITS).contains("no number"));
    static LONG: [u8; 100_000] = [b'a'; 100_000];
    assert!(against(&LONG, false, LIMITS).contains("longer than"));
}

#[test]
fn a_launcher_that_does_not_answer_is_not_waited_for_for_ever() {
    let limits = Limits { answer: Duration::from_millis(20), others: Duration::from_millis(20) };
    let refused = against(b"cmd=response_to_init rc=0 pmi_version=1\n", false, limits);
    assert!(refused.contains("has not answered get_maxes within 0.02 s"), "{refused}");
}

#[test]
fn a_descriptor_that_is_no_socket_is_refused() {
    let file = std::fs::File::open("/dev/null").unwrap();
    let facts = Facts {
        way: Way::Descriptor(file.into_raw_fd()),
        rank: Some(0),
        size: Some(1),
        is_spawned: false,
        job: None,
    };
    assert!(Client::connect(&facts, LIMITS).err().unwrap().contains("is no open socket"));
}
