/** node test/contract/report.mjs [--open core]: how many requirements tests cite, per source and plugin; or those still open. */
import { SOURCES, standing, tally } from "./contract.mjs";

const STATES = ["cited", "deferred", "open"];
const list = standing();
const flag = process.argv.indexOf("--open");

if (flag > 0) printOpen(process.argv[flag + 1]);
else {
  const bySource = tally(list, ({ id }) => [SOURCES[id[0]]]);
  const byPlugin = tally(list, ({ plugins }) => plugins);
  const total = tally(list, () => ["all"]);
  for (const [heading, rows] of Object.entries({ source: bySource, plugin: byPlugin, "": total }))
    print(heading, rows);
}

function printOpen(plugin) {
  const wanted = list.filter(
    ({ state, plugins }) => state === "open" && (!plugin || plugins.includes(plugin)),
  );
  for (const { id, text } of wanted) say(`${id} ${text}`);
}

function print(heading, rows) {
  say(line(heading, STATES));
  for (const row of rows)
    say(
      line(
        row.group,
        STATES.map((state) => row[state]),
      ),
    );
  say("");
}

function line(name, columns) {
  return name.padEnd(20) + columns.map((column) => String(column).padStart(9)).join("");
}

function say(text) {
  process.stdout.write(`${text}\n`);
}
