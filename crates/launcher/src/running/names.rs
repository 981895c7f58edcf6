//! Published names of a job that has processes on other hosts: `mpirun` publishes them on its own, where other jobs of the user
//! and their `mpirun` find them, and looks up there what others have published.

use std::collections::HashMap;
use weft_base::job::{Name, Named};

/// The names that the job's node processes have published.
#[derive(Default)]
pub struct Names {
    /// By name: the node process.
    owners: HashMap<String, u32>,
}

impl Names {
    /// Does what a rank of a node process wants.
    pub fn see_to(&mut self, from: u32, name: &Name) -> Named {
        if let Name::Unpublish { service } = name
            && self.owners.get(service) != Some(&from)
        {
            return Named::Done(false);
        }
        let named = weft_door::see_to(name);
        match (name, &named) {
            (Name::Publish { service, .. }, Named::Done(true)) => {
                _ = self.owners.insert(service.clone(), from)
            }
            (Name::Unpublish { service }, _) => _ = self.owners.remove(service),
            _ => {}
        }
        named
    }

    /// Takes back the names of a node process that is gone.
    pub fn forget(&mut self, node: u32) {
        for (service, _) in self.owners.extract_if(|_, owner| *owner == node) {
            weft_door::see_to(&Name::Unpublish { service });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_its_publishers_and_goes_with_it() {
        let service = format!("weft test of names {}", std::process::id());
        let publish = Name::Publish { service: service.clone(), port: "there".into() };
        let (unpublish, look_up) =
            (Name::Unpublish { service: service.clone() }, Name::LookUp { service: service.clone() });
        let mut names = Names::default();
        assert_eq!(names.see_to(1, &look_up), Named::Found(None));
        assert_eq!(names.see_to(1, &publish), Named::Done(true));
        assert_eq!(names.see_to(2, &publish), Named::Done(false));
        assert_eq!(names.see_to(2, &look_up), Named::Found(Some("there".into())));
        assert_eq!(names.see_to(2, &unpublish), Named::Done(false));
        assert_eq!(names.see_to(1, &unpublish), Named::Done(true));
        assert_eq!(names.see_to(2, &publish), Named::Done(true));
        names.forget(2);
        assert_eq!(names.see_to(1, &look_up), Named::Found(None));
    }
}
