//! The page of `unspin scale`: its numbers are those of the document, and it leads with no more than was measured.

use crate::cases::{all, lead, rows_of, scale, shown, table, text};
use serde_json::{Value, json};

/// Sets the error of the last check of each configuration.
fn with_errors(errors: [f64; 2]) -> Value {
    let mut document = scale();
    for (configuration, error) in document["configurations"].as_array_mut().unwrap().iter_mut().zip(errors) {
        let checks = configuration["fit"]["validations"].as_array_mut().unwrap();
        checks.last_mut().unwrap()["error"] = json!(error);
    }
    document
}

#[test]
fn throughputs_are_those_of_the_document() {
    let document = scale();
    let page = shown("scale", &document);
    let rows = rows_of(table(&page, "Throughput"));
    let configurations = document["configurations"].as_array().unwrap().iter();
    let expected = configurations.flat_map(|configuration| {
        let predictions = configuration["fit"]["predictions"].as_array().unwrap();
        let one = predictions[0]["throughput"].as_f64().unwrap();
        predictions.iter().map(move |p| {
            let throughput = p["throughput"].as_f64().filter(|_| p["source"] != "unborne");
            let [low, high] = [0, 1].map(|end| p["interval"][end].as_f64());
            let (of_one, law) =
                (throughput.map(|value| value / one), p["by_law"].as_f64().map(|law| law / one));
            let cells = vec![p["cpus"].as_f64(), throughput, low, high, of_one, law, None];
            (configuration["name"].as_str().unwrap().to_owned(), cells)
        })
    });
    assert_eq!(rows, expected.collect::<Vec<_>>());
}

#[test]
fn checks_are_those_of_the_document() {
    let document = scale();
    let page = shown("scale", &document);
    let rows = rows_of(all(&page, "#checks table")[0]);
    for (configuration, (head, cells)) in document["configurations"].as_array().unwrap().iter().zip(&rows) {
        let check = &configuration["fit"]["validations"][0];
        assert_eq!(head, configuration["name"].as_str().unwrap());
        let ends = [0, 1].map(|end| check["error_interval"][end].as_f64());
        let fields = ["from", "cpus", "predicted", "measured", "error"].map(|field| check[field].as_f64());
        assert_eq!(cells[..], [&fields[..], &ends[..]].concat());
    }
}

#[test]
fn model_that_misses_does_not_lead() {
    for (name, errors) in [("candidate", [0.01, 0.4]), ("control", [-0.4, 0.01])] {
        let lead = lead(&shown(&format!("scale-missed-{name}"), &with_errors(errors)));
        assert!(lead.starts_with("On 2 CPUs the program did 0.95 times"), "{lead}");
        assert!(lead.contains("The model misses what was measured by up to 40 %"), "{lead}");
        assert!(!lead.contains("is predicted to do"), "{lead}");
    }
}

#[test]
fn model_that_holds_predicts() {
    let lead = lead(&shown("scale-held", &with_errors([-0.15, 0.15])));
    assert!(lead.ends_with("On 4 CPUs it is predicted to do 1.5 times that work."), "{lead}");
}

#[test]
fn unchecked_model_and_wide_intervals_predict_nothing() {
    let mut unchecked = scale();
    for configuration in unchecked["configurations"].as_array_mut().unwrap() {
        configuration["fit"]["validations"] = json!([]);
    }
    let mut wide = with_errors([0.0, 0.0]);
    wide["configurations"][0]["fit"]["predictions"][2]["source"] = json!("unborne");
    for (name, document) in [("unchecked", unchecked), ("wide", wide)] {
        let lead = lead(&shown(&format!("scale-{name}"), &document));
        assert!(lead.ends_with("No larger number of CPUs is predicted."), "{name}: {lead}");
    }
}

#[test]
fn what_limits_the_figures_is_said() {
    let mut document = scale();
    let page = shown("scale", &document);
    let header = text(all(&page, "header")[0]);
    // 1.3 s of 2.03 s.
    assert!(
        header.contains("Other programs took 64 % of the CPUs during the runs: all figures contain that."),
        "{header}"
    );
    assert!(header.contains("Repeat on a quiet machine before you rely on them."), "{header}");
    assert!(header.contains("The program itself is not changed."), "{header}");
    let model = text(all(&page, "#model")[0]);
    assert!(model.contains("On one CPU the program used 76 % of it."), "{model}");
    assert!(
        model.contains(
            "a cache line takes 161 ns, a sleep with its wake-up 5.1 µs of CPU time (3.1 µs within one CPU"
        ),
        "{model}"
    );
    assert!(
        model.contains("14640 acquisitions a unit; waiters sleep, and running threads may overtake them"),
        "{model}"
    );
    document["disturbance"]["others_s"] = json!(0.05);
    assert!(!text(all(&shown("scale-quiet", &document), "header")[0]).contains("Repeat on a quiet machine"));
}

#[test]
fn description_of_the_picture_has_one_cpu_in_the_singular() {
    let page = shown("scale", &scale());
    let described = text(all(&page, "#throughput-picture desc")[0]);
    assert!(
        described
            .starts_with("system: 17.05 on one CPU, 0.95 times that on 2 CPUs, 1.5 times that on 4 CPUs. "),
        "{described}"
    );
}

#[test]
fn no_mark_hides_another() {
    let page = shown("scale", &scale());
    let marks = all(&page, "#throughput-picture circle.mark, #throughput-picture polygon.mark");
    let place = |mark: &scraper::ElementRef<'_>| match mark.attr("cx") {
        Some(x) => (x.to_owned(), mark.attr("cy").unwrap().to_owned()),
        None => (mark.attr("points").unwrap().to_owned(), String::new()),
    };
    let places: std::collections::HashSet<_> = marks.iter().map(place).collect();
    assert_eq!(places.len(), marks.len());
    let centre = |mark: &scraper::ElementRef<'_>| {
        let xs: Vec<f64> = mark
            .attr("points")?
            .split(' ')
            .map(|point| point.split(',').next().unwrap().parse().unwrap())
            .collect();
        Some(xs.iter().sum::<f64>() / xs.len() as f64)
    };
    for square in marks.iter().filter_map(centre) {
        let control = marks.iter().filter(|mark| mark.attr("r") == Some("5"));
        let nearest = control.map(|mark| (mark.attr("cx").unwrap().parse::<f64>().unwrap() - square).abs());
        assert!(nearest.fold(f64::MAX, f64::min) >= 10.0);
    }
}

#[test]
fn too_few_rounds_show_the_runs() {
    let mut document = scale();
    document["configurations"] = json!([]);
    document["rounds"] = json!(1);
    let page = shown("scale-few", &document);
    assert!(lead(&page).starts_with("Nothing is predicted: 1 complete round"), "{}", lead(&page));
    let rows = rows_of(table(&page, "Throughput"));
    let runs = document["runs"].as_array().unwrap();
    let expected = runs.iter().map(|run| (run["cpus"].as_f64(), run["throughput"].as_f64()));
    assert!(rows.iter().map(|(_, cells)| (cells[0], cells[1])).eq(expected));
}

#[test]
fn failures_are_listed_where_no_run_was_successful() {
    let mut document = scale();
    document["configurations"] = json!([]);
    document["runs"] = json!([]);
    document["rounds"] = json!(0);
    document["interrupted"] = json!(true);
    document["failures"] = json!(["adaptive on 2 CPUs: it ended with exit code 1"]);
    let page = shown("scale-failed", &document);
    assert!(text(all(&page, "#throughput")[0]).contains("No run was successful."));
    assert!(text(all(&page, "#failures")[0]).contains("it ended with exit code 1"));
    assert!(text(all(&page, "header")[0]).contains("Interrupted"));
}

#[test]
fn long_names_are_whole_in_tables_and_short_in_pictures() {
    let mut document = scale();
    let long = "very_long_name_".repeat(14);
    crate::cases::rename(&mut document, "adaptive", &long);
    let page = shown("long-scale", &document);
    assert!(rows_of(table(&page, "Throughput")).iter().any(|(head, _)| *head == long));
    assert!(
        all(&page, "#throughput-picture svg > text")
            .into_iter()
            .all(|label| text(label).chars().count() <= 40)
    );
}
