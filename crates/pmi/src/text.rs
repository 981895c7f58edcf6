//! What client and server say to each other: a command, and pairs of names and values.
//!
//! PMI-1 writes them as a line, `cmd=put kvsname=k key=a value=b`, and PMI-2 with a length before them,
//! `26    cmd=kvs-put;key=a;value=b;`, where a doubled semicolon stands for one in a value.

/// The longest line or message that is read or written, in bytes.
pub const LONGEST: usize = 1 << 16;
/// How many bytes before a PMI-2 message say how long it is.
pub const LENGTH_BYTES: usize = 6;

/// What a client asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pairs: Vec<(String, String)>,
}

impl Request {
    /// Begins the request of a command.
    pub fn new(command: &str) -> Self {
        Self { pairs: vec![("cmd".into(), command.into())] }
    }

    /// Adds a pair.
    pub fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.pairs.push((name.into(), value.to_string()));
        self
    }

    /// Returns the command.
    pub fn command(&self) -> &str {
        &self.pairs[0].1
    }

    /// Writes a line of PMI-1.
    ///
    /// # Errors
    /// Says which pair a line cannot hold: blanks divide pairs.
    pub fn line(&self) -> Result<Vec<u8>, String> {
        let words: Vec<String> = self.pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let is_wrong = |word: &&String| !word.bytes().all(|byte| byte.is_ascii_graphic());
        if let Some(word) = words.iter().find(is_wrong) {
            return Err(format!(
                "{word:?} cannot be said in PMI-1: blanks, and what is not ASCII, have no place there"
            ));
        }
        checked(format!("{}\n", words.join(" ")).into_bytes())
    }

    /// Writes a message of PMI-2, with its length.
    ///
    /// # Errors
    /// Says which pair a message cannot hold.
    pub fn message(&self) -> Result<Vec<u8>, String> {
        let mut body = String::new();
        for (name, value) in &self.pairs {
            // Slurm does not read the doubled semicolon that the specification has for one.
            if value.bytes().any(|byte| byte == b';' || !(b' '..=b'~').contains(&byte)) {
                return Err(format!(
                    "{name}={value:?} cannot be said in PMI-2: semicolons, and what is not ASCII, have no place there"
                ));
            }
            body += &format!("{name}={value};");
        }
        checked(format!("{:<LENGTH_BYTES$}{body}", body.len()).into_bytes())
    }
}

fn checked(bytes: Vec<u8>) -> Result<Vec<u8>, String> {
    if bytes.len() > LONGEST {
        return Err(format!("a request of {} bytes is longer than {LONGEST}", bytes.len()));
    }
    Ok(bytes)
}

/// What the server says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    pairs: Vec<(String, String)>,
}

impl Reply {
    /// Reads a line of PMI-1, with or without its end.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn from_line(line: &[u8]) -> Result<Self, String> {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let text = ascii(line)?;
        let mut pairs: Vec<(String, String)> = Vec::new();
        for word in text.split(' ').filter(|word| !word.is_empty()) {
            match (word.split_once('='), pairs.last_mut()) {
                (Some((name, value)), _) if !name.is_empty() => pairs.push((name.into(), value.into())),
                // Some servers explain errors in words.
                (_, Some((_, value))) => {
                    value.push(' ');
                    value.push_str(word);
                }
                _ => return Err(strange(line)),
            }
        }
        Self::of(pairs).ok_or_else(|| strange(line))
    }

    /// Reads the body of a PMI-2 message.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn from_message(body: &[u8]) -> Result<Self, String> {
        let text = ascii(body)?;
        let mut pairs = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (name, after) = rest.split_once('=').ok_or_else(|| strange(body))?;
            if name.is_empty() || name.contains(';') {
                return Err(strange(body));
            }
            let mut value = String::new();
            let mut characters = after.char_indices().peekable();
            let end = loop {
                match characters.next() {
                    Some((at, ';')) if characters.peek().is_none_or(|(_, next)| *next != ';') => {
                        break at + 1;
                    }
                    Some((_, character)) => {
                        if character == ';' {
                            characters.next();
                        }
                        value.push(character);
                    }
                    None => return Err(strange(body)),
                }
            };
            pairs.push((name.to_owned(), value));
            rest = &after[end..];
        }
        Self::of(pairs).ok_or_else(|| strange(body))
    }

    fn of(pairs: Vec<(String, String)>) -> Option<Self> {
        let is_command = pairs.first().is_some_and(|(name, _)| name == "cmd");
        is_command.then_some(Self { pairs })
    }

    /// Returns the command.
    pub fn command(&self) -> &str {
        &self.pairs[0].1
    }

    /// Returns the value of a name, if it is there.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// Returns the value of a name that must be there.
    ///
    /// # Errors
    /// Says that it is not.
    pub fn need(&self, name: &str) -> Result<&str, String> {
        self.get(name).ok_or_else(|| format!("the launcher's {} says no {name}", self.command()))
    }

    /// Returns the value of a name, which must be a number.
    ///
    /// # Errors
    /// Says that it is none.
    pub fn number(&self, name: &str) -> Result<i64, String> {
        let value = self.need(name)?;
        value.parse().map_err(|_| {
            format!("the launcher's {} says {name}={value:?}, which is no number", self.command())
        })
    }

    /// Tells whether the server did what it was asked. A server that says nothing about it did.
    pub fn is_success(&self) -> bool {
        self.get("rc").is_none_or(|code| code == "0") && self.get("info").is_none_or(|info| info == "ok")
    }

    /// Fails if the server refused.
    ///
    /// # Errors
    /// Says what it gave as its reason.
    pub fn succeed(self) -> Result<Self, String> {
        if self.is_success() {
            return Ok(self);
        }
        let reason = ["msg", "errmsg", "error_msg"]
            .into_iter()
            .find_map(|name| self.get(name))
            .unwrap_or("no reason given");
        Err(format!(
            "the launcher's {} says: {reason} (rc={})",
            self.command(),
            self.get("rc").unwrap_or("-")
        ))
    }
}

/// Reads how long the message is that follows.
///
/// # Errors
/// Says that these bytes are no length, or one that is too long.
pub fn message_length(head: &[u8; LENGTH_BYTES]) -> Result<usize, String> {
    let length = core::str::from_utf8(head)
        .ok()
        .map(str::trim)
        .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    let length: Option<usize> = length.and_then(|text| text.parse().ok());
    length.filter(|length| *length <= LONGEST).ok_or_else(|| {
        format!("the launcher's message begins with {:?}, which is no length", String::from_utf8_lossy(head))
    })
}

fn ascii(bytes: &[u8]) -> Result<&str, String> {
    let is_text = bytes.len() <= LONGEST && bytes.iter().all(|byte| (b' '..=b'~').contains(byte));
    core::str::from_utf8(bytes).ok().filter(|_| is_text).ok_or_else(|| strange(bytes))
}

fn strange(bytes: &[u8]) -> String {
    let shown = &bytes[..bytes.len().min(80)];
    format!("the launcher says what is no PMI: \"{}\"", shown.escape_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn replies_of_known_servers_are_read() {
        let reply =
            Reply::from_line(b"cmd=get_result rc=-1 msg=key_missing_not_found value=unknown\n").unwrap();
        assert_eq!((reply.command(), reply.number("rc"), reply.is_success()), ("get_result", Ok(-1), false));
        assert!(reply.clone().succeed().unwrap_err().contains("key_missing_not_found"));
        let reply = Reply::from_line(b"cmd=barrier_out tag=0\n").unwrap();
        assert!(reply.is_success() && reply.need("value").unwrap_err().contains("barrier_out"));
        let reply = Reply::from_line(b"cmd=get_result rc=0 value=(vector,(0,1,2)) msg=all is well").unwrap();
        assert_eq!((reply.get("value"), reply.get("msg")), (Some("(vector,(0,1,2))"), Some("all is well")));
        assert!(!Reply::from_line(b"cmd=lookup_result info=fail").unwrap().is_success());
        let reply = Reply::from_message(b"cmd=kvs-get-response;rc=0;found=TRUE;value=a;;b=c;").unwrap();
        assert_eq!((reply.get("found"), reply.get("value")), (Some("TRUE"), Some("a;b=c")));
    }

    #[test]
    fn what_is_no_reply_is_refused() {
        for line in ["", "\n", "cmd", "rc=0", "=x", "cmd=a\u{e4}", "cmd=a\tb=c", "x cmd=a", "cmd=a\nb=c\n"] {
            assert!(Reply::from_line(line.as_bytes()).is_err(), "{line:?}");
        }
        for body in ["", ";", "cmd=a", "cmd=a;b", "cmd=a;b;", "cmd=a;=;", "rc=0;", "cmd=a;;", "cmd=a\n;"] {
            assert!(Reply::from_message(body.as_bytes()).is_err(), "{body:?}");
        }
        assert!(Reply::from_line(&vec![b'a'; LONGEST + 1]).is_err());
        for head in [b"      ", b"12a   ", b"-1    ", b"999999", b"1 2   "] {
            assert!(message_length(head).is_err(), "{head:?}");
        }
        assert_eq!((message_length(b"114   "), message_length(b"   114")), (Ok(114), Ok(114)));
    }

    #[test]
    fn what_cannot_be_said_is_refused() {
        let request = |value: &str| Request::new("put").with("value", value);
        assert!(request("a b").line().is_err() && request("a b").message().is_ok());
        assert!(request("a;b").message().is_err() && request("a;b").line().is_ok());
        assert!(request("ä").line().is_err() && request("a\nb").message().is_err());
        assert!(request(&"x".repeat(LONGEST)).line().is_err());
    }

    proptest! {
        #[test]
        fn what_a_client_says_is_read_as_it_was_meant(
            pairs in proptest::collection::vec(("[a-z_-]{1,9}", "[!-:<-~]{0,30}"), 0..6)
        ) {
            let request = pairs.iter().fold(Request::new("x"), |request, (name, value)| request.with(name, value));
            let reply = Reply::from_line(&request.line().unwrap()).unwrap();
            prop_assert_eq!(&reply.pairs, &request.pairs);
            let message = request.message().unwrap();
            let (head, body) = message.split_first_chunk().unwrap();
            prop_assert_eq!(message_length(head), Ok(body.len()));
            prop_assert_eq!(&Reply::from_message(body).unwrap().pairs, &request.pairs);
        }

        #[test]
        fn any_bytes_are_a_reply_or_refused(bytes: Vec<u8>, text in "cmd=[ -~]{0,60}") {
            for bytes in [&bytes[..], text.as_bytes()] {
                for reply in [Reply::from_line(bytes), Reply::from_message(bytes)].into_iter().flatten() {
                    let _ = (reply.number("rc"), reply.get("cmd").map(str::len));
                    let _ = reply.succeed();
                }
            }
        }
    }
}
