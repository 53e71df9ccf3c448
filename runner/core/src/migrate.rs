//! Which migrate links lead from the schema of a batch to the schema of its target.

use crate::id::SchemaId;
use std::collections::{BTreeMap, BTreeSet};

/// A pinned migration: it makes records of `to` out of records of `from`. There is at most one from each schema, so
/// `from` also names the pin.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Link {
    pub from: SchemaId,
    pub to: SchemaId,
}

/// Why records cannot be brought from one schema to another.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MissingLink {
    #[error(
        "no migration leads from schema `{from}` to `{to}`: add a migrate link from `{reached}` to {}",
        any_of(.to, .leading_there)
    )]
    Missing {
        from: SchemaId,
        to: SchemaId,
        /// As far as the links lead.
        reached: SchemaId,
        /// Other schemas from which links lead to `to`.
        leading_there: Vec<SchemaId>,
    },
    #[error("two migrate links lead on from schema `{from}`, to `{first}` and to `{second}`: keep one of them")]
    Fork { from: SchemaId, first: SchemaId, second: SchemaId },
    /// The schemas in their order; the last leads back to the first.
    #[error("migrate links lead in a circle, {}: remove one of them", circle(.0))]
    Circle(Vec<SchemaId>),
}

fn any_of(to: &SchemaId, others: &[SchemaId]) -> String {
    let others: String = others.iter().map(|schema| format!(" or `{schema}`")).collect();
    format!("`{to}`{others}")
}

fn circle(schemas: &[SchemaId]) -> String {
    schemas.iter().chain(schemas.first()).map(|schema| format!("`{schema}`")).collect::<Vec<_>>().join(" → ")
}

/// The links that lead from `from` to `to`, in the order in which they run; none if the two are the same. All links
/// are checked, also those that are not needed.
pub fn chain<'a>(links: &'a [Link], from: &SchemaId, to: &SchemaId) -> Result<Vec<&'a Link>, MissingLink> {
    let next = checked(links)?;
    follow(&next, from, to)
}

/// The chains from each of several schemas to `to`, by schema, or everything that is missing.
pub fn chains<'a, 's>(
    links: &'a [Link],
    from: impl IntoIterator<Item = &'s SchemaId>,
    to: &SchemaId,
) -> Result<BTreeMap<&'s SchemaId, Vec<&'a Link>>, Vec<MissingLink>> {
    let next = checked(links).map_err(|broken| vec![broken])?;
    let (mut found, mut missing) = (BTreeMap::new(), Vec::new());
    for from in from.into_iter().collect::<BTreeSet<_>>() {
        match follow(&next, from, to) {
            Ok(chain) => drop(found.insert(from, chain)),
            Err(broken) => missing.push(broken),
        }
    }
    if missing.is_empty() { Ok(found) } else { Err(missing) }
}

type Next<'a> = BTreeMap<&'a SchemaId, &'a Link>;

/// The link from each schema; there are no circles among them.
fn checked(links: &[Link]) -> Result<Next<'_>, MissingLink> {
    let mut next = Next::new();
    for link in links {
        if let Some(other) = next.insert(&link.from, link) {
            let (first, second) = (other.to.clone(), link.to.clone());
            return Err(MissingLink::Fork { from: link.from.clone(), first, second });
        }
    }
    let mut harmless = BTreeSet::new();
    for start in next.keys() {
        let mut walked: Vec<&SchemaId> = Vec::new();
        let mut at = Some(*start);
        while let Some(schema) = at.filter(|schema| !harmless.contains(schema)) {
            if let Some(first) = walked.iter().position(|before| *before == schema) {
                return Err(MissingLink::Circle(walked[first..].iter().copied().cloned().collect()));
            }
            walked.push(schema);
            at = next.get(schema).map(|link| &link.to);
        }
        harmless.extend(walked);
    }
    Ok(next)
}

fn follow<'a>(next: &Next<'a>, from: &SchemaId, to: &SchemaId) -> Result<Vec<&'a Link>, MissingLink> {
    let mut chain: Vec<&Link> = Vec::new();
    loop {
        let reached = chain.last().map_or(from, |link| &link.to);
        if reached == to {
            return Ok(chain);
        }
        let Some(link) = next.get(reached) else {
            let leads_there = |start: &&&SchemaId| follow_to(next, start, to);
            let leading_there = next.keys().filter(leads_there).map(|schema| (*schema).clone()).collect();
            return Err(MissingLink::Missing {
                from: from.clone(),
                to: to.clone(),
                reached: reached.clone(),
                leading_there,
            });
        };
        chain.push(link);
    }
}

fn follow_to(next: &Next<'_>, from: &SchemaId, to: &SchemaId) -> bool {
    let mut at = next.get(from);
    while let Some(link) = at {
        if link.to == *to {
            return true;
        }
        at = next.get(&link.to);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id(name: &str) -> SchemaId {
        SchemaId::new(name).unwrap()
    }

    fn links(pairs: &[(&str, &str)]) -> Vec<Link> {
        pairs.iter().map(|(from, to)| Link { from: id(from), to: id(to) }).collect()
    }

    fn refused(pairs: &[(&str, &str)], from: &str, to: &str) -> String {
        chain(&links(pairs), &id(from), &id(to)).unwrap_err().to_string()
    }

    #[test]
    fn chains_run_in_order_whatever_the_order_of_links() {
        let links = links(&[("v2", "v3"), ("side", "v2"), ("v1", "v2")]);
        assert_eq!(chain(&links, &id("v1"), &id("v3")), Ok(vec![&links[2], &links[0]]));
        assert_eq!(chain(&links, &id("v2"), &id("v2")), Ok(vec![]));
        assert_eq!(chain(&links, &id("unknown"), &id("unknown")), Ok(vec![]));
    }

    #[test]
    fn what_is_missing_is_named() {
        assert_eq!(
            refused(&[("v1", "v2"), ("v3", "v4"), ("v4", "v5")], "v1", "v5"),
            "no migration leads from schema `v1` to `v5`: add a migrate link from `v2` to `v5` or `v3` or `v4`"
        );
        assert_eq!(
            refused(&[], "v1", "v2"),
            "no migration leads from schema `v1` to `v2`: add a migrate link from `v1` to `v2`"
        );
        let backwards = refused(&[("v1", "v2")], "v2", "v1");
        assert!(backwards.contains("from `v2` to `v1`"), "links do not lead back: {backwards}");
    }

    #[test]
    fn each_missing_link_is_named() {
        let links = links(&[("v1", "v2"), ("v3", "v5")]);
        let (v1, v3, v4, v5) = (id("v1"), id("v3"), id("v4"), id("v5"));
        let missing = chains(&links, [&v4, &v1, &v3, &v5, &v1], &v5).unwrap_err();
        let reached: Vec<&str> = missing
            .iter()
            .map(|missing| match missing {
                MissingLink::Missing { reached, .. } => reached.as_str(),
                other => panic!("{other}"),
            })
            .collect();
        assert_eq!(reached, ["v2", "v4"]);
        let found = chains(&links, [&v3, &v5], &v5).unwrap();
        assert_eq!(found, BTreeMap::from([(&v3, vec![&links[1]]), (&v5, vec![])]));
    }

    #[test]
    fn forks_and_circles_are_refused_wherever_they_are() {
        assert_eq!(
            refused(&[("v1", "v2"), ("x", "y"), ("x", "z")], "v1", "v2"),
            "two migrate links lead on from schema `x`, to `y` and to `z`: keep one of them"
        );
        assert!(refused(&[("v1", "v2"), ("v1", "v2")], "v1", "v2").contains("two migrate links"));
        assert_eq!(
            refused(&[("v1", "v2"), ("a", "b"), ("b", "c"), ("c", "b")], "v1", "v2"),
            "migrate links lead in a circle, `b` → `c` → `b`: remove one of them"
        );
        assert!(refused(&[("v1", "v1")], "v1", "v2").contains("`v1` → `v1`"));
        assert!(chains(&links(&[("a", "a")]), [&id("v1")], &id("v1")).is_err());
    }

    proptest! {
        #[test]
        fn any_links_give_a_chain_that_holds_together_or_are_refused(
            pairs in proptest::collection::vec((0_u8..8, 0_u8..8), 0..8),
            from in 0_u8..8,
            to in 0_u8..8,
        ) {
            let schema = |number: u8| id(&format!("v{number}"));
            let links: Vec<Link> =
                pairs.iter().map(|(from, to)| Link { from: schema(*from), to: schema(*to) }).collect();
            let (from, to) = (schema(from), schema(to));
            match chain(&links, &from, &to) {
                Ok(chain) => {
                    let mut at = &from;
                    for link in &chain {
                        prop_assert_eq!(at, &link.from);
                        at = &link.to;
                    }
                    prop_assert_eq!(at, &to);
                    prop_assert!(chain.len() < 8, "no schema comes twice");
                }
                Err(MissingLink::Missing { reached, .. }) => {
                    prop_assert!(links.iter().all(|link| link.from != reached));
                    prop_assert!(reached != to);
                }
                Err(MissingLink::Fork { from, .. }) => {
                    prop_assert!(links.iter().filter(|link| link.from == from).count() > 1);
                }
                Err(MissingLink::Circle(schemas)) => {
                    for (place, schema) in schemas.iter().enumerate() {
                        let next = &schemas[(place + 1) % schemas.len()];
                        prop_assert!(links.iter().any(|link| link.from == *schema && link.to == *next));
                    }
                }
            }
        }

        #[test]
        fn a_line_of_links_gives_every_chain_forward_and_none_back(from in 0_usize..6, to in 0_usize..6) {
            let line: Vec<Link> = (0..6)
                .map(|n| Link { from: id(&format!("v{n}")), to: id(&format!("v{}", n + 1)) })
                .collect();
            let found = chain(&line, &id(&format!("v{from}")), &id(&format!("v{to}")));
            match from <= to {
                true => prop_assert_eq!(found.unwrap(), line[from..to].iter().collect::<Vec<_>>()),
                false => prop_assert!(found.is_err()),
            }
        }
    }
}
