/** node test/contract/report.mjs [--open core]: how many requirements tests cite, per source and plugin; or those still open. */
import { SOURCES, standing, tally } from "./contract.mjs";

const list = standing();
const open = process.argv.indexOf("--open");

if (open > 0) printOpen(process.argv[open + 1]);
else {
  print(
    "source",
    tally(list, ({ id }) => [SOURCES[id[0]]]),
  );
  print(
    "plugin",
    tally(list, ({ plugins }) => plugins),
  );
  print(
    "",
    tally(list, () => ["all"]),
  );
}

function say(line) {
  say(`${line}\n`);
}

function printOpen(plugin) {
  const wanted = list.filter(
    ({ state, plugins }) => state === "open" && (!plugin || plugins.includes(plugin)),
  );
  for (const { id, text } of wanted) process.stdout.write(`${id} ${text}`);
}

function print(heading, rows) {
  console.log(
    `${heading.padEnd(20)} ${["cited", "deferred", "open"].map((name) => name.padStart(9)).join("")}`,
  );
  for (const { group, cited, deferred, open: left } of rows) {
    console.log(
      `${group.padEnd(20)} ${[cited, deferred, left].map((count) => String(count).padStart(9)).join("")}`,
    );
  }
  say("");
}
