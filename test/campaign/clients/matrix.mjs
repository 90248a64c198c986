/** Writes docs/reference/compatibility.md from what a campaign saw. */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { CELLS } from "./catalogue.mjs";

const page = fileURLToPath(new URL("../../../docs/reference/compatibility.md", import.meta.url));
/** Whose fault a `no` is, by row and cell; written by hand after reading the program's source. */
const faults = JSON.parse(readFileSync(new URL("faults.json", import.meta.url), "utf8"));

function show(label, cell, told) {
  if (told === undefined) return "-";
  if (told.result !== "no") return told.result;
  const fault = faults[label]?.[cell] ?? faults["*"]?.[cell];
  return fault === undefined ? "no (ours)" : `no (${fault})`;
}

function table(first, rows) {
  return [
    `| ${[first, ...CELLS].join(" | ")} |`,
    `| ${["", ...CELLS].map(() => "---").join(" | ")} |`,
    ...rows.map(
      ({ label, cells }) =>
        `| ${[label, ...CELLS.map((cell) => show(label, cell, cells[cell]))].join(" | ")} |`,
    ),
  ].join("\n");
}

/** Everything behind the marks is replaced; what is before them is written by hand. */
export function writeMatrix(clients, servers) {
  const [words] = readFileSync(page, "utf8").split("## Clients\n");
  const today = new Date().toISOString().slice(0, 10);
  writeFileSync(
    page,
    `${words}## Clients

Measured on ${today} by \`npm run campaign -- clients\`, Node ${process.versions.node}.

${table("client", clients)}

## Servers

Behind the gateway, used by an official client of either era.

${table("server", servers)}
`,
  );
}
