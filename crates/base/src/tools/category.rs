//! The subjects that settings, counters and events are about.

macro_rules! categories {
    ($($name:ident $text:literal, $help:literal;)*) => {
        /// A subject of settings, counters and events.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Category {
            $(#[doc = $help] $name,)*
        }

        impl Category {
            /// All of them, in the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Returns its name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// Says what is in it, in a line.
            pub const fn help(self) -> &'static str {
                match self { $(Self::$name => $help,)* }
            }
        }
    };
}

categories! {
    Ranks "ranks", "Where ranks run, and who switches between them";
    Jobs "jobs", "How jobs begin, end and find each other";
    Checking "checking", "What is looked for in checking mode";
    Messages "messages", "Messages between ranks";
    Collectives "collectives", "Collective operations";
    OneSided "one-sided", "One-sided operations";
    Network "network", "Messages between hosts";
    Files "files", "Files";
    Compilers "compilers", "What the compiler wrappers call";
}
