// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What is inside of the passes and can be asked by itself: tables, options, and algorithms that know nothing of MLIR. Here and
//! not beside them, for a crate with tests of its own is compiled twice.

/// The library is not compiled for tests (Cargo.toml), and so nobody would run them.
#[test]
fn no_tests_are_inside_of_the_library() {
    let mut open = vec![std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src")];
    let mut seen = 0;
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                seen += 1;
                let text = std::fs::read_to_string(&path).unwrap();
                assert!(!text.contains("#[cfg(test)]"), "{} has tests", path.display());
            }
        }
    }
    assert!(seen > 100, "{seen} files");
}

mod class {
    use slimhlo_passes::ops::class::{CHLO, Class, STABLEHLO, STORED, is_costly, is_elementwise, is_fusible};

    #[test]
    fn tables_are_in_the_order_of_their_names() {
        for table in [STABLEHLO, CHLO] {
            assert!(table.is_sorted_by_key(|(name, _)| name));
        }
    }

    #[test]
    fn what_is_not_listed_is_stored() {
        for name in ["stablehlo.sort", "func.call", "chlo.top_k", "add", ""] {
            assert_eq!(Class::of(name), STORED, "{name}");
        }
        assert!(is_fusible("stablehlo.add") && !is_costly("stablehlo.add"));
        assert!(is_elementwise("chlo.erf") && is_costly("chlo.erf") && !is_costly("chlo.square"));
    }
}

mod target {
    use slimhlo_passes::framework::OptionValue;
    use slimhlo_passes::target::{CHIPS, TARGETS, Target};

    #[test]
    fn products_fall_into_parts_as_measured() {
        let rule = Target::default().storage().splits_products.expect("it splits products");
        // Products, results of each, what is contracted, and the parts that `test/oracle/products.py` prints.
        let measured = [
            (1, 64 * 64, 256, 8),
            (1, 64 * 64, 16_384, 64),
            (1, 256 * 256, 1024, 8),
            (1, 512 * 512, 256, 1),
            (1, 512 * 512, 512, 4),
            (1, 512 * 512, 65_536, 8),
            (1, 1024 * 1024, 1024, 1),
            (1, 1024 * 1024, 2048, 2),
            (1, 2048 * 1024, 16_384, 1),
            (1, 4096 * 64, 4096, 8),
            (8, 64 * 64, 4096, 16),
            (64, 64 * 64, 4096, 4),
            (256, 64 * 64, 4096, 1),
            (128, 16 * 16, 8192, 4),
            (64, 8 * 64, 65_536, 16),
            (16, 128 * 128, 8192, 8),
        ];
        for (batch, results, contracted, parts) in measured {
            let found = rule.parts(batch, batch * results, contracted);
            assert_eq!(found, parts, "{batch} times {results} of {contracted}");
        }
    }

    #[test]
    fn names_are_read_back() {
        for target in TARGETS.iter().chain(&CHIPS) {
            assert_eq!(Target::parse(target.name).map(|target| target.print()).as_deref(), Ok(target.name));
        }
        assert!(Target::xla_cpu().is_xla_cpu());
        assert!(!Target::default().is_xla_cpu());
    }

    #[test]
    fn kernels_are_for_the_chip_that_is_asked_for() {
        let name = |chip| Target::kernels_on(chip).map(Target::name);
        assert_eq!(name("sm_80"), Some("kernels-sm_80"));
        assert_eq!(name("sm_90a"), Some("kernels-sm_90"));
        assert_eq!(name("sm_42"), None);
        assert_eq!(Target::kernels().name(), "kernels");
        let cores = |target: Target| target.rates().map(|rates| rates.multiprocessors);
        assert_eq!(Target::kernels_on("sm_90").and_then(cores), cores(Target::kernels()));
        assert_ne!(Target::kernels_on("sm_80").and_then(cores), cores(Target::kernels()));
    }

    #[test]
    fn what_is_no_target_is_named_with_those_there_are() {
        let error = Target::parse("h200x").unwrap_err();
        assert!(error.contains("'h200x'") && error.contains("xla-gpu, h100"), "{error}");
    }
}

mod assignment {
    use slimhlo_passes::internals::{Assignment, Grid, written};

    /// What is written for an assignment that is read, on the first grid that it is made of.
    fn again(text: &str, devices: i64) -> Option<String> {
        let assignment = Assignment::parse(text, devices)??;
        let grid = Grid::of(std::slice::from_ref(&assignment), devices)?;
        Some(written(&grid.axes_of(&assignment)?, grid.sizes()))
    }

    #[test]
    fn all_devices_that_count_up() {
        assert_eq!(again("{devices=[1,2,4]<=[8]}", 8).as_deref(), Some("{devices=[1,2,4]<=[8]}"));
        assert_eq!(again("{devices=[2,2]0,1,2,3}", 4).as_deref(), Some("{devices=[2,2]<=[4]}"));
    }

    #[test]
    fn devices_in_another_order() {
        let there = "{devices=[2,2]<=[2,2]T(1,0)}";
        assert_eq!(again(there, 4).as_deref(), Some(there));
        assert_eq!(again("{devices=[2,2]0,2,1,3}", 4).as_deref(), Some(there));
        // Nobody's coordinates.
        assert_eq!(again("{devices=[4]0,1,3,2}", 4), None);
    }

    #[test]
    fn devices_that_have_the_same() {
        let there = "{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}";
        assert_eq!(again(there, 4).as_deref(), Some(there));
        assert_eq!(Assignment::parse("{replicated}", 4), Some(None));
        assert_eq!(Assignment::parse("{devices=[2,2]<=[4] last_tile_dims={manual}}", 4), None);
        assert_eq!(Assignment::parse("{maximal device=0}", 4), None);
        assert_eq!(Assignment::parse("{devices=[2,2]<=[4]}", 8), None);
    }

    #[test]
    fn axes_of_sizes_that_are_not_prime() {
        // Three and then four: the grid is 3, 2, 2 and not 2, 2, 3.
        assert_eq!(again("{devices=[3,4]<=[12]}", 12).as_deref(), Some("{devices=[3,4]<=[12]}"));
        assert_eq!(
            again("{devices=[4,3]<=[3,4]T(1,0)}", 12).as_deref(),
            Some("{devices=[4,3]<=[3,2,2]T(1,2,0)}")
        );
    }
}

mod options {
    use slimhlo_passes::Bytes;
    use slimhlo_passes::framework::OptionValue;

    #[test]
    fn bytes_round_trip() {
        for (text, bytes, printed) in [
            ("0", 0, "0"),
            ("512", 512, "512"),
            ("512B", 512, "512"),
            ("64KiB", 65_536, "64KiB"),
            ("1.5GiB", 1_610_612_736, "1536MiB"),
            ("2GB", 2_000_000_000, "1953125KiB"),
            ("16 GiB", 17_179_869_184, "16GiB"),
            ("18446744073709551615", u64::MAX, "18446744073709551615"),
        ] {
            let parsed = Bytes::parse(text).unwrap();
            assert_eq!(parsed, Bytes(bytes), "{text}");
            assert_eq!(parsed.print(), printed);
            assert_eq!(Bytes::parse(printed).unwrap(), parsed);
        }
    }

    #[test]
    fn bytes_reject_what_is_not_an_amount() {
        for text in
            ["", "GiB", "-1", "+1", "1.", ".5GiB", "0.3", "1e9", "18446744073709551616", "16777216TiB"]
        {
            assert!(Bytes::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn lists_split_outside_of_brackets_and_quotes() {
        let parsed = Vec::<String>::parse("a, b{c,d},'e,f',[g,(h,i)]").unwrap();
        assert_eq!(parsed, ["a", "b{c,d}", "'e,f'", "[g,(h,i)]"]);
        assert_eq!(Vec::<i64>::parse("").unwrap(), Vec::<i64>::new());
        assert_eq!(Vec::<i64>::parse("3,-1").unwrap().print(), "3,-1");
        assert!(Vec::<i64>::parse("3,").is_err());
    }

    #[test]
    fn optional_values_have_a_word_for_nothing() {
        assert_eq!(Option::<Bytes>::parse("none").unwrap(), None);
        assert_eq!(Some(Bytes(1 << 30)).print(), "1GiB");
        assert_eq!(None::<i64>.print(), "none");
    }
}

mod cost {
    use slimhlo_passes::cost::Room;
    use slimhlo_passes::target::Target;

    #[test]
    fn room_is_bytes_or_a_share() {
        assert_eq!(Room::parse("16GiB"), Ok(Room::Bytes(16 << 30)));
        assert_eq!(Room::parse("1"), Ok(Room::Bytes(1)));
        assert_eq!(Room::parse("0.9"), Ok(Room::Share(0.9)));
        assert!(Room::parse("1.5").unwrap_err().contains("nor a share"));
        assert!(Room::parse("much").unwrap_err().contains("'much'"));
        assert_eq!(Room::Share(0.5).bytes(Target::default()), Ok(40 << 30));
        assert!(Room::Share(0.5).bytes(Target::xla_cpu()).unwrap_err().contains("xla-cpu"));
    }
}

mod special {
    use slimhlo_passes::internals::{bernoulli, riemann_zeta_minus_one};
    use std::f64::consts::PI;

    #[test]
    fn zeta_of_even_numbers() {
        assert!((riemann_zeta_minus_one(2) - (PI * PI / 6.0 - 1.0)).abs() < 1e-15);
        assert!((riemann_zeta_minus_one(4) - 0.082_323_233_711_138_19).abs() < 1e-16);
        assert!((riemann_zeta_minus_one(40) / 2f64.powi(-40) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn bernoulli_numbers() {
        let exact = [1.0 / 6.0, -1.0 / 30.0, 1.0 / 42.0, -1.0 / 30.0, 5.0 / 66.0, -691.0 / 2730.0, 7.0 / 6.0];
        for (have, want) in bernoulli(exact.len()).iter().zip(exact) {
            assert!((have / want - 1.0).abs() < 1e-14, "{have} {want}");
        }
    }
}

mod min_cut {
    use slimhlo_passes::internals::{ENDLESS, Flow, SINK, SOURCE};

    #[test]
    fn the_cut_next_to_the_sink_is_taken() {
        // Two ways, one of which is as narrow at its beginning as at its end.
        let pipes = [(SOURCE, 2, 3), (2, 3, 9), (3, SINK, 3), (SOURCE, 4, 5), (4, 5, 2), (5, SINK, ENDLESS)];
        let mut flow = Flow::new(6, &pipes);
        assert!(flow.is_filled());
        let before = flow.before(SINK);
        assert_eq!(before, [false, true, false, false, false, true]);
    }

    #[test]
    fn what_cannot_be_paid_is_no_flow() {
        let pipes = [(SOURCE, 2, ENDLESS), (2, 3, ENDLESS), (3, SINK, ENDLESS)];
        assert!(!Flow::new(4, &pipes).is_filled());
    }
}

mod rounds {
    use slimhlo_passes::internals::{Exchange, Wanted, scheduled};

    fn wanted(to: usize, from: usize, low: i64, high: i64) -> Wanted {
        Wanted { key: (0, None), to, from, part: vec![(low, high)] }
    }

    fn sizes(wanted: &[Wanted], tile: i64) -> Vec<i64> {
        let mut sizes: Vec<i64> = scheduled(wanted, tile).iter().map(Exchange::elements).collect();
        sizes.sort_unstable();
        sizes
    }

    #[test]
    fn strips_of_both_sides_go_together_where_that_is_less() {
        let right = [wanted(0, 1, 0, 3), wanted(1, 2, 0, 2), wanted(2, 3, 0, 1)];
        let left = [wanted(1, 0, 74, 75), wanted(2, 1, 73, 75), wanted(3, 2, 72, 75)];
        assert_eq!(sizes(&right, 8), [3]);
        let both = [right.as_slice(), &left].concat();
        assert_eq!(sizes(&both, 8), [2, 3]);
        assert_eq!(sizes(&both, 75), [3, 3]);
    }

    #[test]
    fn halos_of_one_width_go_by_side() {
        let all = [wanted(0, 1, 0, 2), wanted(1, 2, 0, 2), wanted(1, 0, 8, 10), wanted(2, 1, 8, 10)];
        let exchanges = scheduled(&all, 10);
        assert_eq!(exchanges.len(), 2);
        for exchange in &exchanges {
            let distances = exchange.parts.iter().map(|(to, (from, _))| *from as i64 - *to as i64);
            assert!(distances.collect::<Vec<_>>().windows(2).all(|pair| pair[0] == pair[1]));
        }
    }

    #[test]
    fn what_several_read_of_a_neighbour_comes_once() {
        assert_eq!(sizes(&[wanted(0, 1, 0, 3), wanted(0, 1, 1, 4), wanted(2, 1, 9, 10)], 10), [1, 4]);
        assert_eq!(sizes(&[wanted(0, 1, 0, 2), wanted(0, 1, 7, 9)], 10), [2, 2]);
    }
}

mod search {
    use slimhlo_passes::internals::{Outcome, Search};

    /// The chunks that are tried, in MiB, where those below a size take too long, and those out of a range change nothing.
    fn tried(too_dear_below: u64, changes: std::ops::RangeInclusive<u64>) -> Vec<u64> {
        let mut search = Search::chunks(1 << 30);
        let mut last = None;
        let mut tried = Vec::new();
        while let Some(form) = search.next(last) {
            let size = form.chunk.0 >> 20;
            last = Some(match () {
                () if !changes.contains(&size) => Outcome::Unchanged,
                () if size < too_dear_below => Outcome::TooDear,
                () => Outcome::Allowed,
            });
            tried.push(size);
        }
        tried
    }

    #[test]
    fn the_smallest_allowed_chunk_is_found_by_halves() {
        assert_eq!(tried(0, 0..=512), [64, 16]);
        assert_eq!(tried(32, 0..=512), [64, 16, 32]);
        assert_eq!(tried(128, 0..=512), [64, 256, 128]);
        assert_eq!(tried(1024, 0..=512), [64, 256, 512]);
    }

    #[test]
    fn smaller_shares_are_tried_as_long_as_they_take_too_long() {
        let tried = |allowed: u64| {
            let mut search = Search::shares();
            let mut last = None;
            let mut tried = Vec::new();
            while let Some(form) = search.next(last) {
                last = Some(if form.share > allowed { Outcome::TooDear } else { Outcome::Allowed });
                tried.push(form.share);
            }
            tried
        };
        assert_eq!(tried(100), [100]);
        assert_eq!(tried(85), [100, 90, 80]);
        assert_eq!(tried(0), [100, 90, 80, 70, 60, 50, 40, 30, 20, 10]);
    }

    /// The rungs that are tried, as moves, windows, moves near the peak and for how many in a hundred windows, where those
    /// from a number of moves on take too long for more than a share of the windows.
    fn rungs(too_dear_from: u64, far: u64, through: Outcome) -> Vec<(u64, u64, (u64, u64), bool)> {
        let mut search = Search::ladder();
        let mut last = None;
        let mut tried = Vec::new();
        while let Some(form) = search.next(last) {
            last = Some(match () {
                () if form.moves >= too_dear_from && 100 - form.near > far => Outcome::TooDear,
                () if form.through => through,
                () => Outcome::Allowed,
            });
            let near = if form.near > 0 { (form.near_moves, form.near) } else { (0, 0) };
            tried.push((form.moves, form.windows, near, form.through));
        }
        tried
    }

    #[test]
    fn what_is_behind_other_values_has_a_ladder_of_its_own() {
        let all = (0, 0);
        let forms = |through| {
            let parts = [(12, 16, (8, 50), through), (12, 16, (8, 75), through)];
            let first = [(12, 16, all, through), (6, 16, all, through), (8, 16, all, through)];
            [&first[..], &parts, &[(8, 8, all, through)]].concat()
        };
        assert_eq!(rungs(12, 0, Outcome::Allowed), [forms(false), forms(true)].concat());
        let parts = [(96, 16, (32, 50), false), (96, 16, (32, 75), false)];
        let dear =
            [&[(96, 16, all, false)], &parts[..], &[(32, 8, all, false), (12, 16, all, true)]].concat();
        assert_eq!(rungs(96, 0, Outcome::Unchanged)[2..], dear);
        let nothing = rungs(128, 0, Outcome::Unchanged);
        assert_eq!(nothing[2..], [(96, 16, all, false), (96, 8, all, false), (12, 16, all, true)]);
    }

    #[test]
    fn what_is_too_dear_is_done_again_in_some_windows() {
        let near = |far| {
            let tried = rungs(12, far, Outcome::Unchanged).into_iter().filter(|form| form.2.1 > 0);
            tried.map(|(.., near, _)| near.1).collect::<Vec<_>>()
        };
        assert_eq!(near(0), [50, 75]);
        assert_eq!(near(50), [50, 25]);
        assert_eq!(near(75), [50, 25]);
        // The first rung has none below it: next to nothing is done again near the peak.
        let first = rungs(2, 0, Outcome::Unchanged).into_iter().find(|form| form.2.1 > 0);
        assert_eq!(first, Some((2, 16, (1, 50), false)));
    }

    #[test]
    fn less_is_computed_again_where_more_is_not_worth_its_time() {
        let mut ladder = Search::ladder();
        let mut last = None;
        let mut tried = Vec::new();
        while let Some(form) = ladder.next(last).filter(|form| !form.through) {
            last = Some(match form.moves {
                32.. => Outcome::TooDear,
                4.. => Outcome::Slow,
                _ => Outcome::Allowed,
            });
            tried.push((form.moves, form.windows));
        }
        // For half, then a quarter of the windows, too, what takes too long.
        let dear = [(12, 16), (32, 16), (16, 16), (32, 16), (32, 16), (16, 8)];
        assert_eq!(tried, [&dear[..], &[(6, 16), (4, 16), (2, 16), (2, 8)]].concat());
    }

    #[test]
    fn larger_chunks_are_tried_where_smaller_ones_do_nothing() {
        assert_eq!(tried(0, 128..=512), [64, 16, 128]);
        assert_eq!(tried(0, 512..=512), [64, 16, 128, 256, 512]);
        assert_eq!(tried(0, 16..=32), [64, 16]);
        assert_eq!(tried(0, 0..=0), [64, 16, 128, 256, 512]);
    }
}

mod levers {
    use slimhlo_passes::framework::OptionValue;
    use slimhlo_passes::optimize::{STAGES, Without};

    #[test]
    fn a_lever_is_a_pass_and_all_stages_that_run_it() {
        let without = Without::parse("stream, rematerialize, batch-slices").expect("all are passes");
        assert_eq!(without.print(), "batch-slices,rematerialize,stream");
        let left_out = STAGES.iter().enumerate().filter(|(number, _)| without.has(*number));
        let names: Vec<_> = left_out.map(|(_, stage)| stage.name).collect();
        assert_eq!(names, ["slices of parts", "chunks", "slices after sums", "values again"]);
        // Both stages that order updates, with steps and without.
        let without = Without::parse("inplace-updates").expect("it is a pass");
        assert_eq!((0..STAGES.len()).filter(|number| without.has(*number)).count(), 2);
    }

    #[test]
    fn one_of_two_forms_is_left_out() {
        let chunks = STAGES.iter().position(|stage| stage.name == "chunks").expect("there is one");
        let without = Without::parse("batch-slices").expect("it is a pass");
        let left_out = |pipeline| without.has_form(chunks, pipeline);
        assert!(!left_out(0) && left_out(1) && left_out(2) && !without.has(chunks));
    }

    #[test]
    fn what_else_is_left_out_is_a_form_or_a_stage() {
        let none = Without::default();
        assert_eq!(none.and_host().print(), "offload");
        assert_eq!(none.and_chunks(), Without::parse("stream,batch-slices").expect("they are passes"));
    }

    #[test]
    fn nothing_is_left_out_unless_it_is_named() {
        for text in ["", "none"] {
            assert_eq!(Without::parse(text), Ok(Without::default()));
        }
        assert_eq!(Without::default().print(), "none");
        let error = Without::parse("dus-to-pad,slab").unwrap_err();
        assert!(error.starts_with("'slab' is none of ") && error.contains("slabs"), "{error}");
    }
}

mod near {
    use slimhlo_passes::internals::Near;

    #[test]
    fn what_was_used_last_is_found_again() {
        let mut near = Near::of(100);
        assert!(!near.uses(1, 30));
        assert!(!near.uses(2, 30));
        assert!(near.uses(1, 30));
        // Of 70 bytes the first two leave 10: what was used before the other goes.
        assert!(!near.uses(3, 40));
        assert!(near.uses(1, 30));
        assert!(!near.uses(2, 30));
    }

    #[test]
    fn what_does_not_fit_pushes_out_all() {
        let mut near = Near::of(100);
        assert!(!near.uses(1, 30));
        assert!(!near.uses(2, 80));
        assert!(!near.uses(1, 30));
        assert!(!Near::of(0).uses(1, 8));
    }
}

mod segments {
    use slimhlo_passes::internals::{Plan, Sizes};

    const STATES: Sizes = Sizes { turns: 100, slot: 16, state: 16, starts_free: true };

    #[test]
    fn about_two_square_roots_of_the_turns_are_stored() {
        let plan = Plan::of(STATES, 100).unwrap();
        assert_eq!((plan.segments * plan.length + plan.rest, plan.bytes), (100, 19 * 16));
        let plan = Plan::of(Sizes { turns: 8, ..STATES }, 100).unwrap();
        assert_eq!((plan.segments, plan.length, plan.rest, plan.bytes), (1, 4, 4, 4 * 16));
    }

    #[test]
    fn a_share_bounds_what_is_done_again() {
        let plan = Plan::of(STATES, 50).unwrap();
        assert!(plan.segments * plan.length <= 50 && plan.rest >= 50);
        assert_eq!(Plan::of(STATES, 1), None);
        assert_eq!(Plan::of(Sizes { turns: 2, ..STATES }, 100), None);
    }

    #[test]
    fn large_states_are_stored_seldom() {
        let plan = Plan::of(Sizes { state: 1600, ..STATES }, 100).unwrap();
        assert_eq!((plan.segments, plan.length, plan.rest), (1, 50, 50));
    }

    #[test]
    fn no_number_of_turns_is_too_large() {
        assert!(Plan::of(Sizes { turns: 1_000_003, ..STATES }, 100).unwrap().bytes < 2_001 * 16);
        assert!(Plan::of(Sizes { turns: i64::MAX, ..STATES }, 100).is_none());
    }
}
