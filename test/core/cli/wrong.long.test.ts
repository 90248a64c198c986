import { readFile } from "node:fs/promises";
import { beforeAll, expect, it } from "vitest";
import { makeFolder } from "../../kit/folder.ts";
import { propylon, useCommands } from "./propylon.ts";

const commands = useCommands();

/** Nothing listens there. */
const NOBODY = "http://127.0.0.1:9";
/** A key that no header can hold, and a canary: no message may show it. */
const KEY = "canary-of-a-key\n";

const LOGIN = [
  [[], "missing required argument"],
  [["x", "--target", "http://["], "is not a URL"],
  [["x", "--target", NOBODY, "--timeout", "soon"], "is not a duration"],
  [["x", "--target", NOBODY, "--api-key", KEY], "no header can hold"],
] as const;

/** Wrong words of every command, and what is said of them. */
const WRONG: Record<string, readonly (readonly [words: readonly string[], says: string])[]> = {
  start: [
    [["--port", "70000"], "a number from 0 to 65535"],
    [["--host", "a b"], "open to the network"],
    [["--listener", "__proto__"], "There is no listener"],
    [["--api-key", "short"], "at least 16 characters"],
    [["--api-key", KEY], "no header can hold"],
    [["--log-level", "loud"], "Allowed choices"],
    [["--workers", "0"], "a number from 1 to 256, or auto"],
    [["--tool-timeout", "soon"], "a duration such as 30s"],
    [["--tool-timeout-max", "soon"], "a duration such as 30s"],
    [["--plugin", "nobody"], "There is no plugin"],
    [["--plugin", "__proto__"], "There is no plugin"],
    [["broken.yaml"], "broken.yaml:1:6"],
    [["."], "is not a config"],
  ],
  dev: [
    [["--port", "x"], "a number from 0 to 65535"],
    [["--tool-timeout", "-1"], "a duration such as 30s"],
    [["--tool-timeout-max", ""], "a duration such as 30s"],
    [["--log-level", ""], "Allowed choices"],
    [["--api-key", KEY], "no header can hold"],
    [["nowhere.yaml"], "does not exist"],
  ],
  mcpo: [
    [["--port", "x"], "a number from 0 to 65535"],
    [["--config", "nowhere.json"], "does not exist"],
    [["--config", "."], "is not a config"],
    [["--config", "mcp.json", "--name", "", "--port", "0"], "at least 1 character"],
    [["--config", "mcp.json", "--env", "x", "--port", "0"], "NAME=value"],
    [["--config", "mcp.json", "--env-path", ".", "--port", "0"], "cannot be read"],
    [["--config", "mcp.json", "--ssl-certfile", "nowhere", "--port", "0"], "tls.key is missing"],
    [["--config", "mcp.json", "--log-level", "LOUD"], "The log level is not known"],
    [["--config", "mcp.json", "--plugin", "__proto__"], "There is no plugin"],
    [["--config", "mcp.json", "--header", '{"A":"b"}'], "not for the servers of a file"],
    [["--server-type", "what", "--", "x"], "The server type is not known"],
    [["--server-type", "sse", "--header", "{", "--", NOBODY], "a JSON object"],
    [["--server-type", "sse", "--port", "0", "--", "notaurl"], "must be an http or https URL"],
    [["--api-key", KEY], "no header can hold"],
    [["--tool-timeout", "soon"], "a duration such as 30s"],
    [["--tool-timeout-max", "soon"], "a duration such as 30s"],
    [["--config", "mcp.json", "--client-header-forwarding", "nope"], "wants a JSON object"],
  ],
  sidecar: [
    [["--name", "a b"], "1 to 64 letters, digits, - and _"],
    [["--runtime", "notaurl"], "a URL such as"],
    [["--runtime", "ftp://host"], "a URL such as"],
    [["--nats", ""], "addresses such as nats://"],
    [["--nats", "http://host", "--port", "0"], "looks like nats://host:4222"],
    [["--manifest", ".", "--port", "0"], "The manifest cannot be read"],
    [["--runtime-key", KEY], "no header can hold"],
    [["--env", "NOT_SET_ANYWHERE"], "is not set"],
    [["--env", "=x"], "NAME or NAME=value"],
    [["--concurrency", "9999"], "a whole number from 1 to 1000"],
    [["--max-deliver", "0"], "a whole number from 1 to 1000"],
    [["--ack-wait", "x"], "a duration such as 30s"],
    [["--timeout", "x"], "a duration such as 30s"],
    [["--startup-timeout", "x"], "a duration such as 30s"],
    [["--grace", "-1"], "a duration such as 30s"],
    [["--port", "-1"], "a number from 0 to 65535"],
    [["--host", "a b", "--port", "0"], "without authentication"],
    [["--api-key", KEY], "no header can hold"],
    [["--log-level", "loud"], "Allowed choices"],
    [["--port", "0", "--"], "No command follows --"],
  ],
  check: [
    [["nowhere.yaml"], "does not exist"],
    [["broken.yaml"], "broken.yaml:1:6"],
    [["--explain", "__proto__"], "has no plugin"],
  ],
  "plugin new": [
    [["a b"], "cannot be the name of a plugin"],
    [["../x"], "cannot be the name of a plugin"],
  ],
  graph: [[["broken.yaml"], "broken.yaml:1:6"]],
  build: [
    [["nowhere.yaml"], "does not exist"],
    [["--out", "mcp.json"], "cannot be written"],
  ],
  schema: [[["."], "is not a config"]],
  import: [
    [["what"], "There is: pallas"],
    [["pallas", "nowhere"], "There is no agents.yaml"],
  ],
  key: [
    [["--role", "boss", "--name", "x"], "Allowed choices"],
    [["--role", "viewer", "--name", "a b"], "letters, digits"],
  ],
  tools: [
    [["notathing"], "is not a config"],
    [["http://["], "is not a URL"],
    [[NOBODY, "--timeout", "soon"], "is not a duration"],
    [[NOBODY, "--api-key", KEY], "no header can hold"],
  ],
  call: [
    [[], "missing required argument"],
    [["x", "--target", "http://["], "is not a URL"],
    [["x", "--target", NOBODY, "--timeout", "0"], "is not a duration"],
    [["x", "--target", NOBODY, "--api-key", KEY], "no header can hold"],
  ],
  calls: [
    [["--target", "http://["], "is not a URL"],
    [["--target", NOBODY, "--timeout", "soon"], "is not a duration"],
    [["--target", NOBODY, "--api-key", KEY], "no header can hold"],
  ],
  stderr: [
    [[], "missing required argument"],
    [["x", "--target", "http://["], "is not a URL"],
    [["x", "--target", NOBODY, "--timeout", "soon"], "is not a duration"],
    [["x", "--target", NOBODY, "--lines", "1001"], "a whole number from 1 to 1000"],
    [["x", "--target", NOBODY, "--api-key", KEY], "no header can hold"],
  ],
  login: LOGIN,
  logout: LOGIN,
  "client-config": [
    [["nobody"], "There is no client"],
    [["claude", "http://["], "is not a URL"],
    [["claude", "nowhere"], "is not a config"],
  ],
  "conformance runtime": [
    [["notaurl"], "is not a URL"],
    [[NOBODY, "--level", "9"], "Allowed choices"],
    [[NOBODY, "--rounds", "x"], "is not a whole number"],
    [[NOBODY, "--characters", "-1"], "is not a whole number"],
    [[NOBODY, "--timeout", "x"], "is not a duration"],
    [[NOBODY, "--grace", "x"], "is not a duration"],
    [[NOBODY, "--startup-timeout", "x"], "is not a duration"],
    [[NOBODY, "--json", "."], "No report can be written"],
    [[NOBODY, "--junit", "nowhere/x"], "No report can be written"],
    [[NOBODY, "--api-key", KEY], "no header can hold"],
    [["--env", "NOT_SET_ANYWHERE", "--", "x"], "is not set"],
    [["--", "./nowhere"], "cannot be started"],
  ],
  "conformance mcp": [
    [["notaurl"], "is not a URL"],
    [[NOBODY, "--era", "x"], "Allowed choices"],
    [[NOBODY, "--timeout", "x"], "is not a duration"],
    [[NOBODY, "--json", "."], "No report can be written"],
    [[NOBODY, "--junit", "."], "No report can be written"],
    [[NOBODY, "--api-key", KEY], "no header can hold"],
  ],
  "conformance fixture": [[["--port", "99999"], "a number from 0 to 65535"]],
};

/** Kinds of values that can be wrong; the others are texts. */
const CHECKED = /^(?:port|duration|count|level|era|role|urls?|json|file|variable|key|NAME=value)$/;
/** Checked by the same piece as a flag beside it, or only once something is reached. */
const ELSEWHERE = new Set(["mcpo --ssl-keyfile", "sidecar --nats-creds"]);

/** A line with this word serves before it fails, and ends its process. */
const SERVES = "--manifest";

let folder = "";
beforeAll(async () => {
  folder = makeFolder({
    "gateway.yaml": "listeners: { main: { port: 0 } }\n",
    "broken.yaml": "not: [valid\n",
    "mcp.json": '{"mcpServers":{}}',
  });
});

it.each(Object.entries(WRONG))(
  "wrong words of %s get a sentence and exit code 1",
  async (command, rows) => {
    const serving = rows.filter(([words]) => words.includes(SERVES));
    const others = rows.filter(([words]) => !words.includes(SERVES));
    const lineOf = ([words]: (typeof rows)[number]) => [...command.split(" "), ...words];
    const finished = [
      ...(await commands.propylonEach(others.map(lineOf), { cwd: folder })),
      ...(await Promise.all(serving.map((row) => propylon(lineOf(row), { cwd: folder })))),
    ];
    for (const [index, [words, says]] of [...others, ...serving].entries()) {
      const { code, stdout, stderr } = finished[index]!;
      const told = `${stdout}${stderr}`;
      expect({ words, told, code }).toEqual({
        words,
        told: expect.stringContaining(says) as string,
        code: 1,
      });
      expect(told).not.toMatch(/^\s+at |This is a bug|node:internal|TypeError|canary|Warning:/m);
    }
  },
);

it("has every command, and every flag whose value can be wrong", async () => {
  const page = await readFile("docs/reference/cli.md", "utf8");
  const sections = page.split(/^## propylon /m).slice(1);
  const found = sections.map((section) => section.slice(0, section.indexOf("\n")));
  expect(Object.keys(WRONG).toSorted()).toEqual(found.toSorted());
  const missing = sections.flatMap((section, at) => {
    const command = found[at]!;
    const words = new Set(WRONG[command]!.flatMap(([each]) => each));
    const flags = [...section.matchAll(/^ {2}(?:-\w, )?(--[\w-]+) <([^>]+)>/gm)];
    return flags
      .filter(([, flag, kind]) => CHECKED.test(kind!) && !words.has(flag!))
      .map(([, flag]) => `${command} ${flag}`);
  });
  expect(missing.filter((each) => !ELSEWHERE.has(each))).toEqual([]);
});

it.each([
  ["tools", NOBODY, "--timeout", "9999999d"],
  ["conformance", "runtime", NOBODY, "--startup-timeout", "9999999d", "--timeout", "9999999d"],
])("a wait longer than any timer is as long as one can be: %s", async (...words) => {
  const { code, stderr } = await commands.propylon(words, { cwd: folder });
  expect(stderr).toContain("cannot be reached");
  expect(stderr).not.toMatch(/^\s+at |This is a bug|Warning:/m);
  expect(code).toBe(2);
});
