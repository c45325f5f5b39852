use super::*;

const ME: i32 = 100;

fn process(pid: i32, parent: i32, group: i32) -> FamilyProcess {
    FamilyProcess { pid, parent, group, started: u64::from(pid.unsigned_abs()) * 10, dead: false }
}

fn pids(sorted: &BTreeMap<u64, Vec<FamilyProcess>>, job: u64) -> Vec<i32> {
    sorted.get(&job).map(|f| f.iter().map(|p| p.pid).collect()).unwrap_or_default()
}

fn no_marks(_: &[i32]) -> BTreeMap<i32, u64> {
    BTreeMap::new()
}

#[test]
fn a_lone_job_owns_whatever_is_below_the_supervisor() {
    let all =
        [process(200, ME, 200), process(201, 200, 1), process(300, ME, 300), process(9, 1, 9)];
    let sorted = sort(&all, ME, &JobRoots::from([(200, 1)]), &BTreeMap::new(), no_marks);
    assert_eq!(pids(&sorted, 1), [200, 201, 300]);
}

#[test]
fn orphans_of_two_jobs_are_told_apart_by_sight_group_and_mark() {
    let all = [
        process(200, ME, 200),
        process(300, ME, 300),
        process(301, 300, 301),
        process(400, ME, 200), // in the group of job 1
        process(401, ME, 401), // seen in job 2 before
        process(402, ME, 402), // carries the mark of job 2
        process(403, 402, 403),
        process(404, ME, 404), // has shed everything
    ];
    let roots = JobRoots::from([(200, 1), (300, 2)]);
    let seen = BTreeMap::from([((401, 4010), 2), ((404, 1), 1)]);
    let marks = |asked: &[i32]| {
        assert_eq!(asked, [402, 404], "only strangers are looked at more closely");
        BTreeMap::from([(402, 2)])
    };
    let sorted = sort(&all, ME, &roots, &seen, marks);
    assert_eq!(pids(&sorted, 1), [200, 400]);
    assert_eq!(pids(&sorted, 2), [300, 301, 401, 402, 403]);
}

#[test]
fn a_number_that_was_given_to_another_process_is_not_recognised() {
    let all = [process(401, ME, 401)];
    let seen = BTreeMap::from([((401, 1), 2)]);
    let sorted = sort(&all, ME, &JobRoots::from([(200, 1), (300, 2)]), &seen, no_marks);
    assert!(sorted.is_empty());
}

#[test]
fn a_circle_in_a_list_that_was_not_made_in_one_moment_ends() {
    let all = [process(200, 201, 1), process(201, 200, 1)];
    assert!(sort(&all, ME, &JobRoots::from([(200, 1)]), &BTreeMap::new(), no_marks).is_empty());
}
