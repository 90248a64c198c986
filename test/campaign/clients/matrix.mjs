/** Keeps what a campaign saw, and writes docs/reference/compatibility.md from it. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { CELLS, CLIENTS, clientRow, SERVED, serverRow, SERVERS } from "./catalogue.mjs";
import { cache } from "./install.mjs";

const page = fileURLToPath(new URL("../../../docs/reference/compatibility.md", import.meta.url));
/** Whose fault a `no` is, by row and cell; written by hand after reading the program's source. */
const faults = JSON.parse(readFileSync(new URL("faults.json", import.meta.url), "utf8"));
const kept = (table, row) =>
  join(cache, "results", `${table}-${row.replaceAll(/[^\w.]+/g, "-")}.json`);

/** Keeps what came of a row until it is tried again. */
export function keep(table, row, cells) {
  mkdirSync(join(cache, "results"), { recursive: true });
  const date = new Date().toISOString().slice(0, 10);
  writeFileSync(kept(table, row), JSON.stringify({ row, date, cells }));
}

function show(row, cell, told) {
  if (told === undefined) return "-";
  if (told.result !== "no") return told.result;
  const fault = faults[row]?.[cell];
  return fault === undefined ? "no (ours)" : `no (${fault})`;
}

function toTable(first, results) {
  return [
    `| ${[first, ...CELLS].join(" | ")} |`,
    `| ${["", ...CELLS].map(() => "---").join(" | ")} |`,
    ...results.map(
      ({ row, cells }) =>
        `| ${[row, ...CELLS.map((cell) => show(row, cell, cells[cell]))].join(" | ")} |`,
    ),
  ].join("\n");
}

/** Writes the page as soon as every row has a result. What is before the first table is written by hand. */
export function writeMatrix() {
  const served = SERVERS.flatMap((server) => SERVED.map((how) => serverRow(server, ...how)));
  const files = [
    ...CLIENTS.map((client) => kept("client", clientRow(client))),
    ...served.map((row) => kept("server", row)),
  ];
  const missing = files.filter((file) => !existsSync(file)).length;
  if (missing > 0) return console.log(`The page is not written: ${missing} rows have no result.`);
  const results = files.map((file) => JSON.parse(readFileSync(file, "utf8")));
  const oldest = results.reduce((first, { date }) => (date < first ? date : first), "9999");
  const [words] = readFileSync(page, "utf8").split("## Clients\n");
  writeFileSync(
    page,
    `${words}## Clients

Measured on ${oldest} by \`npm run campaign -- clients\`, Node ${process.versions.node}.

${toTable("client", results.slice(0, CLIENTS.length))}

## Servers

Behind the gateway, used by an official client of either era.

${toTable("server", results.slice(CLIENTS.length))}
`,
  );
}
