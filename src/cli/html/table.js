/* table.js - tables that sort by their headings, and the same rows as a CSV file.
 *
 * A table is { name, columns, rows }: a column has a title, the value of a row, how it is written
 * (nothing: as it is) and `text` where it is aligned left. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter(child => child != null && child !== false));
  return element;
}

const ROWS_SHOWN = 500;

function fillRows(body, table, rows) {
  body.replaceChildren(...rows.slice(0, ROWS_SHOWN).map(row => make("tr", { class: table.flag?.(row) ? "flag" : null },
    table.columns.map(column => {
      const value = column.value(row);
      const kind = [column.text ? "text" : "", column.long ? "long" : ""].join(" ").trim();
      return make("td", { class: kind || null }, value == null ? "\u2013" : String(column.write ? column.write(value) : value));
    }))));
}

function sortRows(rows, column, isDown) {
  const order = isDown ? -1 : 1;
  return [...rows].sort((a, b) => {
    const x = column.value(a), y = column.value(b);
    if (x == null || y == null) return (x == null) - (y == null);
    return (x < y ? -1 : x > y ? 1 : 0) * order;
  });
}

function makeTable(table) {
  const body = make("tbody");
  const heads = table.columns.map(column => {
    const head = make("th", { scope: "col", class: column.text ? "text" : null, "aria-sort": "none" });
    head.append(make("button", { type: "button", title: column.help ?? null, onclick() {
      const isDown = head.getAttribute("aria-sort") !== "descending";
      heads.forEach(other => other.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", isDown ? "descending" : "ascending");
      fillRows(body, table, sortRows(table.rows, column, isDown));
    } }, column.title));
    return head;
  });
  fillRows(body, table, table.rows);
  const more = table.rows.length - ROWS_SHOWN;
  return [
    make("div", { class: "wrap", tabindex: "0", role: "region", "aria-label": `${table.name}, table` },
      make("table", {}, make("thead", {}, make("tr", {}, heads)), body)),
    more > 0 && make("p", { class: "hint" }, `${words.count(more)} more rows are in the CSV file; sorting is over all of them.`),
  ].filter(Boolean);
}

/* A cell that a spreadsheet would take for a formula is kept from it. */
function csvCell(value) {
  if (value == null) return "";
  let text = String(value);
  if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
  return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

function csvOf(table) {
  const lines = [table.columns.map(column => csvCell(column.key ?? column.title))];
  for (const row of table.rows) lines.push(table.columns.map(column => csvCell(column.value(row))));
  return `${lines.map(line => line.join(",")).join("\r\n")}\r\n`;
}

function csvButton(name, tableOf) {
  return make("button", { type: "button", class: "button", "data-csv": name, onclick() {
    const url = URL.createObjectURL(new Blob([csvOf(tableOf())], { type: "text/csv" }));
    const link = make("a", { href: url, download: `shapecache-${name}.csv` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  } }, "CSV");
}

/* The table is made when it is looked at, and again for another lane. */
function dataUnder(name, tableOf, summary = "Data as a table") {
  const details = make("details", {}, make("summary", {}, summary));
  const fill = () => {
    while (details.children.length > 1) details.lastChild.remove();
    if (details.open) details.append(...makeTable(tableOf()));
  };
  details.addEventListener("toggle", fill);
  view.listeners.push(fill);
  return make("div", { class: "under" }, details, csvButton(name, tableOf));
}
