//! The rows of the tables (clause 4.7.1). Where the clause needs TPC's own program for texts (names of authors, titles of
//! books), the text is random and contains the syllables by which interactions search.

use super::countries::COUNTRIES;
use super::{CARDS, DAY, MOMENT, SHIPPING, SUBJECTS, Scale, stream};
use crate::money;
use crate::random::{Random, syllables};
use crate::schema::Table;
use crate::value::Value;
use crate::values;

const BACKINGS: [&str; 5] = ["HARDBACK", "PAPERBACK", "USED", "AUDIO", "LIMITED-EDITION"];
const STATUSES: [&str; 4] = ["PROCESSING", "SHIPPED", "PENDING", "DENIED"];
/// Seconds of a day.
const SECONDS: i64 = 86_400;
/// Days from 1970 back to the first of January of these years.
const YEAR_1800: i64 = -62_091;
const YEAR_1880: i64 = -32_872;
const YEAR_1930: i64 = -14_610;

/// The rows of a table that belong to a number: one, or all lines of an order.
pub fn rows_of(scale: &Scale, table: &Table, number: i64) -> Vec<Vec<Value>> {
    let random = |table| Random::new(scale.seed, stream(table, number));
    let row = match table.name {
        "country" => country(number),
        "author" => author(scale, number, random(1)),
        "item" => item(scale, number, random(2)),
        "address" => address(number, random(3)),
        "customer" => customer(scale, number, random(4)),
        "orders" => order(scale, number, random(5)),
        "cc_xacts" => payment(scale, number, random(6)),
        _ => return (1..=scale.lines_of(number)).map(|line| order_line(scale, number, line)).collect(),
    };
    vec![row]
}

fn country(number: i64) -> Vec<Value> {
    let (name, exchange, currency) = COUNTRIES[number as usize - 1];
    values![number, name, exchange, currency].into()
}

fn author(scale: &Scale, number: i64, mut random: Random) -> Vec<Value> {
    // Searched for by the syllables of 1 to items / 10: each of these begins the name of at least one author.
    let names = scale.items / 10;
    let name = if number <= names { number } else { random.between(1, names) };
    // 14 letters, and in a quarter of the names up to 6 more.
    let mut last_name = syllables(name, 7);
    if random.happens(25) {
        last_name += &random.text(1, 6);
    }
    let born = random.between(YEAR_1800, DAY);
    values![number, random.text(3, 20), last_name, random.text(1, 20), born, random.text(125, 500)].into()
}

fn item(scale: &Scale, number: i64, mut random: Random) -> Vec<Value> {
    let author = if number <= scale.authors() { number } else { random.between(1, scale.authors()) };
    let published = random.between(YEAR_1930, DAY);
    let related = choose_related(scale, number, &mut random);
    let price = random.between(100, 999_999);
    let cost = price * (100 - random.between(0, 50)) / 100;
    let mut length = || random.between(1, 9999);
    let sides = [length(), length(), length()].map(|side| format!("{}.{:02}", side / 100, side % 100));
    values![
        number,
        title(scale, number, &mut random),
        author,
        published,
        random.text(14, 60),
        random.one_of(&SUBJECTS),
        random.text(100, 500),
        related[0],
        related[1],
        related[2],
        related[3],
        related[4],
        number,
        number,
        price,
        cost,
        published + random.between(1, 30),
        stock(scale, number),
        random.text(13, 13),
        random.between(20, 9999),
        random.one_of(&BACKINGS),
        sides.join("x"),
    ]
    .into()
}

/// The stock of a book at first.
fn stock(scale: &Scale, number: i64) -> i64 {
    Random::new(scale.seed, stream(8, number)).between(10, 30)
}

/// A title of 14 to 60 characters. The syllables of 1 to items / 5 stand somewhere in it, between words.
fn title(scale: &Scale, number: i64, random: &mut Random) -> String {
    let names = scale.items / 5;
    let name = syllables(if number <= names { number } else { random.between(1, names) }, 7);
    let words = random.text(0, 44);
    let at = random.index(words.len() + 1);
    let (before, after) = words.split_at(at);
    [before, &name, after].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Five different books.
fn choose_related(scale: &Scale, number: i64, random: &mut Random) -> [i64; 5] {
    let mut books = [0; 5];
    for index in 0..books.len() {
        books[index] = loop {
            let book = random.between(1, scale.items);
            if book != number && !books.contains(&book) {
                break book;
            }
        };
    }
    books
}

/// The columns of an address but its number.
pub fn address_columns(random: &mut Random) -> [Value; 6] {
    values![
        random.text(15, 40),
        random.text(15, 40),
        random.text(4, 30),
        random.text(2, 20),
        random.text(5, 10),
        random.between(1, COUNTRIES.len() as i64),
    ]
}

fn address(number: i64, mut random: Random) -> Vec<Value> {
    [Value::Int(number)].into_iter().chain(address_columns(&mut random)).collect()
}

fn customer(scale: &Scale, number: i64, mut random: Random) -> Vec<Value> {
    let address = random.between(1, scale.addresses());
    let since = DAY - random.between(1, 730);
    let last_login = DAY.min(since + random.between(0, 60));
    new_customer(number, address, [since, last_login], MOMENT, &mut random)
}

/// A row of `customer`. `days` are the days of the registration and of the last login, `now` is the moment of the login.
pub fn new_customer(number: i64, address: i64, days: [i64; 2], now: i64, random: &mut Random) -> Vec<Value> {
    let name = syllables(number, 0);
    let (first_name, last_name) = (random.text(8, 15), random.text(8, 15));
    let email = format!("{name}@{}.com", random.text(2, 9));
    values![
        number,
        name.as_str(),
        name.to_lowercase(),
        first_name,
        last_name,
        address,
        random.digits(9, 16),
        email,
        days[0],
        days[1],
        now,
        now + 2 * 3600,
        random.between(0, 50),
        0,
        random.between(0, 99_999),
        random.between(YEAR_1880, DAY),
        random.text(100, 500),
    ]
    .into()
}

/// The amounts of an order, which its payment repeats.
fn amounts(scale: &Scale, number: i64) -> money::Amounts {
    let sub_total = Random::new(scale.seed, stream(7, number)).between(1000, 999_999);
    money::Amounts::new(sub_total, scale.lines_of(number))
}

fn order(scale: &Scale, number: i64, mut random: Random) -> Vec<Value> {
    let amounts = amounts(scale, number);
    let date = MOMENT - random.between(1, 60) * SECONDS;
    values![
        number,
        random.between(1, scale.customers()),
        date,
        amounts.sub_total,
        amounts.tax,
        amounts.total,
        random.one_of(&SHIPPING),
        date + random.between(0, 7) * SECONDS,
        random.between(1, scale.addresses()),
        random.between(1, scale.addresses()),
        random.one_of(&STATUSES),
    ]
    .into()
}

fn order_line(scale: &Scale, order: i64, line: i64) -> Vec<Value> {
    let mut random = Random::new(scale.seed, stream(10 + line as u64, order));
    values![
        order,
        line,
        random.between(1, scale.items),
        random.between(1, 300),
        random.between(0, 3),
        random.text(20, 100),
    ]
    .into()
}

fn payment(scale: &Scale, order: i64, mut random: Random) -> Vec<Value> {
    values![
        order,
        random.one_of(&CARDS),
        random.digits(16, 16),
        random.text(14, 30),
        DAY + random.between(10, 730),
        random.text(15, 15),
        amounts(scale, order).total,
        MOMENT - random.between(1, 60) * SECONDS,
        random.between(1, COUNTRIES.len() as i64),
    ]
    .into()
}
