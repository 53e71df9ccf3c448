use super::*;
use crate::schema::LogicalType;
use crate::schema::reference::{page, table};
use crate::schema::rules::{Absent, DecimalScale, JsonNumbers, MissingValues, Zone};
use proptest::prelude::*;

fn schema(columns: &str) -> Schema {
    match format!("struct<{columns}>").parse().unwrap_or_else(|invalid| panic!("{columns}: {invalid}")) {
        LogicalType::Struct(fields) => Schema::new(fields).unwrap(),
        other => panic!("{other}"),
    }
}

fn names(list: &str) -> Vec<String> {
    list.split(", ").map(str::to_owned).collect()
}

/// Changes of the columns alone, in a schema that is named by `id`.
fn changes(old: &str, new: &str) -> Vec<Change> {
    let (old, new, rules, identity) = (schema(old), schema(new), Rules::default(), names("id"));
    let described = |schema| Described { schema, rules: &rules, identity: &identity };
    compare(described(&old), described(&new))
}

/// What a row of the reference says of changes: what changes, backward, forward, what to do.
fn said(changes: &[Change]) -> [String; 4] {
    let kinds: Vec<String> = changes.iter().map(|change| change.kind.to_string()).collect();
    let yes_no = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
    let keeps = |mode| judge(changes, mode) == Verdict::Compatible;
    [kinds.join(", "), yes_no(keeps(Mode::Backward)), yes_no(keeps(Mode::Forward)), remedy(changes).to_string()]
}

#[test]
fn types_are_judged_as_the_reference_says() {
    let rows = table("Types");
    for row in &rows {
        let column = |text: &str| format!("id: int64, v: {text}");
        assert_eq!(said(&changes(&column(&row[0]), &column(&row[1])))[..], row[2..], "{row:?}");
    }
    // Every kind of type has a row.
    for name in crate::schema::text::type_names() {
        let stem = name.trim_start_matches('u').trim_end_matches(|c: char| c.is_ascii_digit());
        assert!(rows.iter().any(|row| row[0].contains(stem) || row[1].contains(stem)), "no row about {name}");
    }
}

#[test]
fn columns_are_judged_as_the_reference_says() {
    for row in table("Columns") {
        let (old, new, rules, identity) = (schema(&row[0]), schema(&row[1]), Rules::default(), names("id"));
        let described = |schema| Described { schema, rules: &rules, identity: &identity };
        let renames = [Rename { from: "a", to: "z" }];
        assert_eq!(said(&compare_renamed(described(&old), described(&new), &renames))[..], row[2..], "{row:?}");
    }
}

#[test]
fn identities_are_judged_as_the_reference_says() {
    let (schema, rules) = (schema("id: int64, day: date32"), Rules::default());
    for row in table("Identity") {
        let (old, new) = (names(&row[0]), names(&row[1]));
        let described = |identity| Described { schema: &schema, rules: &rules, identity };
        assert_eq!(said(&compare(described(&old), described(&new)))[..], row[2..], "{row:?}");
    }
}

#[test]
fn rules_are_judged_as_the_reference_says() {
    for row in table("Rules") {
        let rules = |value: &str| -> Rules { serde_json::from_str(&format!("{{\"{}\": {value}}}", row[0])).unwrap() };
        let (schema, identity) = (schema(&format!("v: {}", row[3])), names("v"));
        let (old, new) = (rules(&row[1]), rules(&row[2]));
        let described = |rules| Described { schema: &schema, rules, identity: &identity };
        assert_eq!(said(&compare(described(&old), described(&new)))[..], row[4..], "{row:?}");
    }
}

#[test]
fn modes_demand_what_the_reference_says() {
    let rows = table("Modes");
    assert_eq!(rows.iter().map(|row| row[0].clone()).collect::<Vec<_>>(), Mode::ALL.map(|mode| mode.to_string()));
    let mut change = changes("id: int8", "id: int8, a: utf8").remove(0);
    for (row, mode) in rows.iter().zip(Mode::ALL) {
        for (backward, forward) in [(true, true), (true, false), (false, true), (false, false)] {
            (change.backward, change.forward) = (backward, forward);
            let allowed = (backward || row[1] == "no") && (forward || row[2] == "no");
            assert_eq!(mode.allows(&change), allowed, "{row:?}: {backward} {forward}");
            let expected = if allowed { Verdict::Compatible } else { Verdict::Breaking(vec![&change]) };
            assert_eq!(judge(std::slice::from_ref(&change), mode), expected);
        }
    }
}

#[test]
fn the_reference_speaks_of_every_kind() {
    // There is only one collation: no row can show a change of it.
    for kind in Kind::ALL.into_iter().filter(|kind| *kind != Kind::Collation) {
        let kind = kind.to_string();
        let is_cell = |line: &str| line.split(" | ").any(|cell| cell.split(", ").any(|word| word == kind));
        assert!(page().lines().any(is_cell), "no row shows `{kind}`");
    }
    assert!(page().contains("`collation`"));
}

#[test]
fn breaking_changes_are_those_at_fault() {
    let changes = changes("id: int64, a: int32, b: utf8 not null", "id: int64, a: int64, b: utf8, c: date32");
    let at_fault = |mode| match judge(&changes, mode) {
        Verdict::Compatible => vec![],
        Verdict::Breaking(at_fault) => at_fault.iter().map(|c| c.column.as_ref().unwrap().to_string()).collect(),
    };
    assert_eq!(at_fault(Mode::Backward), Vec::<String>::new());
    assert_eq!(at_fault(Mode::Forward), ["a", "b"]);
    assert_eq!(at_fault(Mode::Full), ["a", "b"]);
    assert_eq!(at_fault(Mode::None), Vec::<String>::new());
}

#[test]
fn changes_name_their_place_and_say_why() {
    let old = "id: int64, legs: list<struct<fare: decimal128(10, 2), at: timestamp(s)>>, \"a b\": map<utf8, int8>";
    let new = "id: int64, legs: list<struct<fare: decimal128(12, 4) not null, at: timestamp(ms, UTC)>>, \"a b\": map<utf8, int16>";
    let lines: Vec<String> = changes(old, new).iter().map(Change::to_string).collect();
    assert_eq!(
        lines,
        [
            "column legs[].fare: decimal scale: 4 digits after the point hold 2 exactly, but not the other way round",
            "column legs[].fare: nullability: it is never null now: old data may hold nulls",
            "column legs[].at: time unit: a time in s is exact in ms, but not the other way round",
            "column legs[].at: time zone: old data holds local times of no known zone, new data instants, shown in UTC",
            "column \"a b\"{value}: type widened: every int8 is exactly one int16, but not the other way round",
        ]
    );
}

#[test]
fn json_of_changes_is_for_scripts() {
    let json = serde_json::to_value(changes("id: int64, a: int32", "id: int64, a: int64")).unwrap();
    let expected = serde_json::json!([{
        "column": "a", "kind": "typeWidened", "backward": true, "forward": false, "inIdentity": false,
        "reason": "every int32 is exactly one int64, but not the other way round",
    }]);
    assert_eq!(json, expected);
}

#[test]
fn changes_of_identity_columns_are_marked() {
    let marked = |changes: &[Change]| changes.iter().map(|change| change.in_identity).collect::<Vec<_>>();
    assert_eq!(marked(&changes("id: int64, a: int32", "id: int32, a: int64")), [true, false]);
    let (old, new, rules) = (schema("id: int64"), schema("number: int32"), Rules::default());
    let (before, after) = (names("id"), names("number"));
    let old = Described { schema: &old, rules: &rules, identity: &before };
    let new = Described { schema: &new, rules: &rules, identity: &after };
    let renamed = compare_renamed(old, new, &[Rename { from: "id", to: "number" }]);
    assert_eq!(renamed.iter().map(|change| change.kind).collect::<Vec<_>>(), [Kind::Renamed, Kind::TypeNarrowed]);
    assert_eq!(marked(&renamed), [true, true]);
    let unknown = compare(old, new);
    assert!(unknown.iter().any(|change| change.kind == Kind::Identity), "without a link, it is another identity");
}

#[test]
fn only_renames_that_can_be_count() {
    let kinds = |old: &str, new: &str, hints: &[(&str, &str)]| {
        let (old, new, rules, identity) = (schema(old), schema(new), Rules::default(), names("id"));
        let described = |schema| Described { schema, rules: &rules, identity: &identity };
        let renames: Vec<Rename<'_>> = hints.iter().map(|(from, to)| Rename { from, to }).collect();
        let changes = compare_renamed(described(&old), described(&new), &renames);
        changes.iter().map(|c| format!("{} {}", c.column.as_ref().unwrap(), c.kind)).collect::<Vec<_>>().join(", ")
    };
    let (a, b) = ("id: int8, a: utf8", "id: int8, b: utf8");
    assert_eq!(kinds(a, b, &[("a", "b")]), "a renamed");
    for hint in [("a", "x"), ("x", "b"), ("a", "a"), ("b", "a")] {
        assert_eq!(kinds(a, b, &[hint]), "a dropped, b added", "{hint:?}");
    }
    let both = "id: int8, a: utf8, b: int8";
    assert_eq!(kinds(both, "id: int8, b: utf8, a: int8", &[("a", "b"), ("b", "a")]), "a renamed, b renamed");
    assert_eq!(kinds(both, b, &[("a", "b")]), "a renamed, b dropped");
    assert_eq!(kinds(a, "id: int8, a: int8, b: utf8", &[("a", "b")]), "a renamed, a added");
    assert_eq!(kinds(both, "id: int8, c: utf8", &[("a", "c"), ("b", "c")]), "a renamed, b dropped");
}

#[test]
fn rules_name_the_columns_that_they_decide() {
    let (schema, identity) = (schema("id: int64, a: decimal128(5, 2), b: list<decimal128(5, 2)>"), names("id"));
    let (old, new) = (Rules::default(), Rules { decimal_scale: DecimalScale::HalfEven, ..Rules::default() });
    let described = |rules| Described { schema: &schema, rules, identity: &identity };
    let changes = compare(described(&old), described(&new));
    assert_eq!(changes.len(), 1);
    assert_eq!(
        changes[0].to_string(),
        "decimal rule: decimals with too many digits are rounded half even, they were refused; it decides `a` and `b`"
    );
}

#[test]
fn many_columns_are_compared_fast_enough() {
    let columns = |kind: &str| (0..10_000).map(|n| format!("c{n}: {kind}")).collect::<Vec<_>>().join(", ");
    assert_eq!(changes(&columns("int32"), &columns("int64")).len(), 10_000);
}

/// Types close enough to one another that random pairs are related now and then.
fn logical_type() -> impl Strategy<Value = LogicalType> {
    const UNITS: &[&str] = &["s", "ms", "us", "ns"];
    let zone = prop_oneof![Just(""), Just(", UTC"), Just(", Europe/Berlin")];
    let text = prop_oneof![
        4 => proptest::sample::select(crate::schema::text::type_names().filter(|name| {
            name.parse::<LogicalType>().is_ok()
        }).collect::<Vec<_>>()).prop_map(str::to_owned),
        2 => (1..=38_i8, -3..=6_i8).prop_map(|(precision, scale)| {
            format!("decimal128({precision}, {})", scale.min(precision).max(-precision))
        }),
        1 => (36..=42_i8, -3..=6_i8).prop_map(|(precision, scale)| format!("decimal256({precision}, {scale})")),
        2 => (proptest::sample::select(UNITS), zone).prop_map(|(unit, zone)| format!("timestamp({unit}{zone})")),
        1 => proptest::sample::select(UNITS).prop_map(|unit| format!("duration({unit})")),
        1 => proptest::sample::select(&["time32(s)", "time32(ms)", "time64(us)", "time64(ns)"][..])
            .prop_map(str::to_owned),
        1 => (1..=3_u8).prop_map(|width| format!("fixed_size_binary({width})")),
    ];
    text.prop_map(|text| text.parse().unwrap())
}

/// The same with lists and maps of them. No structs: their members may be dropped and come back as something else, so
/// that what holds for two steps need not hold for both together.
fn layered_type() -> impl Strategy<Value = LogicalType> {
    logical_type().prop_recursive(2, 4, 2, |inner| {
        (inner, 0..4_u8, any::<bool>()).prop_map(|(inner, form, nullable)| {
            let item = format!("{inner}{}", if nullable { "" } else { " not null" });
            let text = match form {
                0 => format!("list<{item}>"),
                1 => format!("large_list<{item}>"),
                2 => format!("fixed_size_list<{item}, 2>"),
                _ => format!("map<{inner}, {item}>"),
            };
            text.parse().unwrap()
        })
    })
}

fn fields(types: impl Strategy<Value = LogicalType>) -> impl Strategy<Value = Vec<Field>> {
    let names = proptest::sample::subsequence(vec!["a", "b", "c", "d"], 1..=4).prop_shuffle();
    (names, proptest::collection::vec((types, any::<bool>()), 4)).prop_map(|(names, types)| {
        let field = |(name, (logical_type, nullable))| Field::new(name, logical_type, nullable);
        names.into_iter().zip(types).map(field).collect()
    })
}

fn any_type() -> impl Strategy<Value = LogicalType> {
    prop_oneof![3 => layered_type(), 1 => fields(layered_type()).prop_map(LogicalType::Struct)]
}

fn rules() -> impl Strategy<Value = Rules> {
    let zone = proptest::option::of(proptest::sample::select(vec!["UTC", "Europe/Berlin"]));
    let texts = proptest::sample::subsequence(vec!["", "NA"], 0..=2);
    (any::<[bool; 3]>(), zone, texts).prop_map(|([rounded, float, refused], zone, texts)| Rules {
        decimal_scale: if rounded { DecimalScale::HalfEven } else { DecimalScale::Refused },
        time_zone: zone.map(|zone| Zone::new(zone).unwrap()),
        json_numbers: if float { JsonNumbers::Float64 } else { JsonNumbers::Exact },
        missing_values: MissingValues {
            texts: texts.into_iter().map(str::to_owned).collect(),
            absent: if refused { Absent::Refused } else { Absent::Null },
        },
        ..Rules::default()
    })
}

/// A schema, its rules, and its identity.
fn any_described() -> impl Strategy<Value = (Schema, Rules, Vec<String>)> {
    let schema = fields(any_type()).prop_map(|fields| Schema::new(fields).unwrap());
    let rules = prop_oneof![Just(Rules::default()), rules()];
    (schema, rules, proptest::sample::subsequence(names("a, b, c"), 0..=2))
}

const fn described((schema, rules, identity): &(Schema, Rules, Vec<String>)) -> Described<'_> {
    Described { schema, rules, identity: identity.as_slice() }
}

fn is_backward(old: &LogicalType, new: &LogicalType) -> bool {
    let one = |logical_type: &LogicalType| Schema::new(vec![Field::new("a", logical_type.clone(), true)]).unwrap();
    let (old, new, rules) = (one(old), one(new), Rules::default());
    let described = |schema| Described { schema, rules: &rules, identity: &[] };
    judge(&compare(described(&old), described(&new)), Mode::Backward) == Verdict::Compatible
}

proptest! {
    #[test]
    fn nothing_changes_between_a_schema_and_itself(a in any_described()) {
        prop_assert_eq!(compare(described(&a), described(&a)), vec![]);
    }

    #[test]
    fn backward_is_forward_the_other_way_round(a in any_described(), b in any_described()) {
        let there = compare(described(&a), described(&b));
        let back = compare(described(&b), described(&a));
        let verdicts = |changes: &[Change], swapped: bool| {
            let mut verdicts: Vec<_> = changes
                .iter()
                .map(|c| (c.column.clone(), if swapped { (c.forward, c.backward) } else { (c.backward, c.forward) }))
                .collect();
            verdicts.sort();
            verdicts
        };
        prop_assert_eq!(verdicts(&there, false), verdicts(&back, true));
        let keeps = |changes: &[Change], mode| judge(changes, mode) == Verdict::Compatible;
        prop_assert_eq!(keeps(&there, Mode::Backward), keeps(&back, Mode::Forward));
        prop_assert_eq!(keeps(&there, Mode::Full), keeps(&back, Mode::Full));
        prop_assert_eq!(there.is_empty(), back.is_empty());
    }

    #[test]
    fn full_is_backward_and_forward_and_none_is_always_kept(a in any_described(), b in any_described()) {
        let changes = compare(described(&a), described(&b));
        let keeps = |mode| judge(&changes, mode) == Verdict::Compatible;
        prop_assert!(keeps(Mode::None));
        prop_assert_eq!(keeps(Mode::Full), keeps(Mode::Backward) && keeps(Mode::Forward));
    }

    #[test]
    fn what_can_be_read_over_a_step_between_can_be_read(
        a in layered_type(),
        b in layered_type(),
        c in layered_type(),
    ) {
        if is_backward(&a, &b) && is_backward(&b, &c) {
            prop_assert!(is_backward(&a, &c), "{} → {} → {}", a, b, c);
        }
    }

    #[test]
    fn equal_schemas_and_no_others_have_no_changes(a in any_described(), b in any_described()) {
        let same = a.0 == b.0 && a.1 == b.1 && a.2.iter().collect::<BTreeSet<_>>() == b.2.iter().collect();
        prop_assert_eq!(compare(described(&a), described(&b)).is_empty(), same);
    }

    #[test]
    fn adopted_changes_are_compatible_under_every_mode(a in any_described(), b in any_described()) {
        let changes = compare(described(&a), described(&b));
        if remedy(&changes) <= Remedy::Adopt {
            prop_assert_eq!(judge(&changes, Mode::Full), Verdict::Compatible);
        }
    }
}

/// Values of number types, as an unscaled number and a count of digits after the point: the largest, the smallest and the
/// finest.
fn extremes(logical_type: &LogicalType) -> Option<Vec<(i128, i32)>> {
    use LogicalType as T;
    let signed = |max: i128| vec![(max, 0), (-max - 1, 0), (1, 0), (max - 1, 0)];
    let unsigned = |max: i128| vec![(max, 0), (0, 0), (1, 0), (max - 1, 0)];
    Some(match logical_type {
        T::Int8 => signed(i8::MAX.into()),
        T::Int16 => signed(i16::MAX.into()),
        T::Int32 => signed(i32::MAX.into()),
        T::Int64 => signed(i64::MAX.into()),
        T::Uint8 => unsigned(u8::MAX.into()),
        T::Uint16 => unsigned(u16::MAX.into()),
        T::Uint32 => unsigned(u32::MAX.into()),
        T::Uint64 => unsigned(u64::MAX.into()),
        T::Decimal128 { precision, scale } if *precision <= 30 => {
            let most = 10_i128.pow((*precision).into()) - 1;
            vec![(most, (*scale).into()), (-most, (*scale).into()), (1, (*scale).into())]
        }
        _ => return None,
    })
}

/// Whether a type has a value, by its definition.
fn has_value(logical_type: &LogicalType, (mut unscaled, mut scale): (i128, i32)) -> bool {
    use LogicalType as T;
    while unscaled != 0 && unscaled % 10 == 0 {
        (unscaled, scale) = (unscaled / 10, scale - 1);
    }
    let at = |scale_wanted: i32| -> Option<i128> {
        unscaled.checked_mul(10_i128.checked_pow(u32::try_from(scale_wanted - scale).ok()?)?)
    };
    let float = |bits: u32| {
        at(0).is_some_and(|whole| whole == 0 || whole.unsigned_abs() >> whole.trailing_zeros() >> bits == 0)
    };
    match logical_type {
        T::Int8 => at(0).is_some_and(|whole| i8::try_from(whole).is_ok()),
        T::Int16 => at(0).is_some_and(|whole| i16::try_from(whole).is_ok()),
        T::Int32 => at(0).is_some_and(|whole| i32::try_from(whole).is_ok()),
        T::Int64 => at(0).is_some_and(|whole| i64::try_from(whole).is_ok()),
        T::Uint8 => at(0).is_some_and(|whole| u8::try_from(whole).is_ok()),
        T::Uint16 => at(0).is_some_and(|whole| u16::try_from(whole).is_ok()),
        T::Uint32 => at(0).is_some_and(|whole| u32::try_from(whole).is_ok()),
        T::Uint64 => at(0).is_some_and(|whole| u64::try_from(whole).is_ok()),
        T::Float32 => float(24),
        T::Float64 => float(53),
        T::Decimal128 { precision, scale } => {
            at((*scale).into()).is_some_and(|unscaled| unscaled.unsigned_abs() < 10_u128.pow((*precision).into()))
        }
        other => panic!("{other}"),
    }
}

#[test]
fn number_types_hold_one_another_if_they_hold_the_extremes() {
    let whole = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"];
    let decimals = (1..=22).flat_map(|precision: i8| {
        [-2, 0, 1, 3]
            .into_iter()
            .filter(move |scale: &i8| scale.abs() <= precision)
            .map(move |scale| format!("decimal128({precision}, {scale})"))
    });
    let types: Vec<LogicalType> =
        whole.into_iter().map(str::to_owned).chain(decimals).map(|text| text.parse().unwrap()).collect();
    let floats = [LogicalType::Float32, LogicalType::Float64];
    for inner in &types {
        // Multiples of 100 reach further in a float than the whole numbers do that the code goes by.
        let zeros = matches!(inner, LogicalType::Decimal128 { scale: ..0, .. });
        for outer in types.iter().chain(floats.iter().filter(|_| !zeros)) {
            let expected = extremes(inner).unwrap().into_iter().all(|value| has_value(outer, value));
            assert_eq!(is_backward(inner, outer), expected, "{inner} as {outer}");
        }
        for float in &floats {
            assert!(!is_backward(float, inner), "{float} as {inner}");
        }
    }
}
