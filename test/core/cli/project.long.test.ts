import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { workFolder } from "../../e2e/build.ts";
import { useCommands } from "./propylon.ts";

const { propylon, propylonEach } = useCommands();

const GREETER = `
import { definePlugin, GatewayError } from "propylon";

export default definePlugin({
  name: "greeter",
  commands: {
    greet: {
      description: "Greet somebody.",
      arguments: "<name> [others...]",
      flags: [
        { flag: "-h, --heartily", description: "with an exclamation mark" },
        { flag: "--word <word>", description: "what to say", default: "Hello", env: "GREET_WORD" },
        { flag: "--in <language>", description: "language", choices: ["en", "de"] },
        { flag: "--tag <tag>", description: "may be repeated", repeatable: true },
        { flag: "--times <count>", description: "how often", read: (text) => {
          if (Number(text) > 0) return Number(text);
          throw new Error("It must be a number above 0.");
        } },
        { flag: "--port <port>", description: "port", read: "port" },
        { flag: "--set <variable>", description: "variable", read: "variable", repeatable: true },
        { flag: "--key <key>", description: "key", read: "key" },
      ],
      run({ arguments: words, flags, rest }) {
        console.log(JSON.stringify({ words, flags, rest }));
        if (words[0] === "nobody") return 5;
        if (words[0] === "robot") throw new GatewayError("unauthorized", "Robots are not greeted.");
        if (words[0] === "bug") throw new TypeError("oops");
      },
    },
    manners: {
      description: "Learn them.",
      commands: {
        list: { description: "List them.", run: () => console.log("please, thanks") },
      },
    },
    start: { description: "Not to be had.", run() {} },
    "No Name": { description: "Not to be had.", run() {} },
  },
  setup() {
    throw new Error("nothing is set up for a command");
  },
});
`;

/** A folder with these files. */
async function project(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await workFolder();
  onTestFinished(() => rm(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  return folder;
}

// What is wrong with the rest of the config, and variables that are not set, do no harm.
const CONFIG =
  "servers: { x: { url: '${NOT_SET_ANYWHERE}' } }\nplugins: { ./greeter.ts: { wrong: 1 } }\n";

it("a command of a plugin in a file runs with its words and flags", async () => {
  const cwd = await project({ "gateway.yaml": CONFIG, "greeter.ts": GREETER });
  const lines = [
    "greet Ada Bob Eve -h --in de --tag a --tag b --times 3 --port 80 --set A=1 --set NAMED -- --more words",
    "greet Ada --word Ho",
    "manners list",
  ].map((line) => line.split(" "));
  const env = { GREET_WORD: "Hi", NAMED: "7" };
  const [first, second, third] = await propylonEach(lines, { cwd, env });
  const { code, stdout, stderr } = first!;
  expect({ code, said: JSON.parse(stdout) as unknown }).toEqual({
    code: 0,
    said: {
      words: ["Ada", "Bob", "Eve"],
      flags: {
        word: "Hi",
        heartily: true,
        in: "de",
        tag: ["a", "b"],
        times: 3,
        port: 80,
        set: [
          ["A", "1"],
          ["NAMED", "7"],
        ],
      },
      rest: ["--more", "words"],
    },
  });
  expect(stderr.split("\n").filter(Boolean)).toEqual([
    'The command "start" of the plugin ./greeter.ts is left out: there is another one of that name.',
    'The command "No Name" of the plugin ./greeter.ts is left out: its name must be lower-case words with hyphens.',
  ]);
  expect(JSON.parse(second!.stdout)).toEqual({
    words: ["Ada"],
    flags: { word: "Ho" },
  });
  expect(third!.stdout).toBe("please, thanks\n");
});

it("its exit code is what it returns, or that of what it throws", async () => {
  const cwd = await project({ "gateway.yaml": CONFIG, "greeter.ts": GREETER });
  const wrong: readonly (readonly [words: readonly string[], says: string])[] = [
    [[], "error: missing required argument 'name'\nSee propylon greet --help.\n"],
    [["x", "--in", "fr"], "Allowed choices are en, de."],
    [["x", "--times", "0"], "argument '0' is invalid. It must be a number above 0."],
    [["x", "--port", "70000"], "It must be a number from 0 to 65535."],
    [["x", "--set", "NOT_SET_ANYWHERE"], "The variable NOT_SET_ANYWHERE is not set."],
    [["x", "--key", "canary\n"], "The key of --key has characters that no header can hold."],
    [["x", "--what"], "error: unknown option '--what'"],
  ];
  const lines = [["nobody"], ["robot"], ["bug"], ...wrong.map(([words]) => words)];
  const finished = await propylonEach(
    lines.map((words) => ["greet", ...words]),
    { cwd },
  );
  const [nobody, robot, bug, ...others] = finished.map(({ code, stderr }) => {
    expect(stderr).not.toMatch(/^\s+at /m);
    return { code, says: stderr.split("\n").slice(2).join("\n") };
  });
  expect(nobody).toEqual({ code: 5, says: "" });
  expect(robot).toEqual({ code: 3, says: "Robots are not greeted.\n" });
  expect(bug).toMatchObject({
    code: 1,
    says: "This is a bug in Propylon or a plugin: oops\n",
  });
  for (const [at, [, says]] of wrong.entries()) {
    const ended = others[at]!;
    expect(ended).toEqual({ code: 1, says: expect.stringContaining(says) as string });
    expect(ended.says).not.toContain("canary");
  }
});

it("the help names the commands of the project, and explains each", async () => {
  const cwd = await project({ "gateway.yaml": CONFIG, "greeter.ts": GREETER });
  const lists = [["--help"], ["-h"], ["help"], []];
  const explanations = [
    ["greet", "--help"],
    ["help", "greet"],
  ];
  const told = await propylonEach([...lists, ...explanations], { cwd });
  for (const [at, words] of lists.entries()) {
    const { code, stdout, stderr } = told[at]!;
    const help = words.length === 0 ? stderr : stdout;
    expect(help).toMatch(
      /^Commands of this project:\n {2}greet \[options\] <name> \[others\.\.\.\] +Greet somebody\.\n {2}manners +Learn them\.\n\n/m,
    );
    expect({ words, code }).toEqual({ words, code: words.length === 0 ? 1 : 0 });
  }
  for (const { stdout } of told.slice(lists.length)) {
    expect(stdout).toContain("Usage: propylon greet [options] <name> [others...]\n");
    expect(stdout).toContain("-h, --heartily");
  }
  expect((await propylon(["--help"], { cwd: await project({}) })).stdout).not.toContain("project");
});

it("a command of an npm package runs", async () => {
  const cwd = await project({
    "gateway.json": '{ "plugins": { "my-plugin": {}, "off": false } }',
    "node_modules/my-plugin/package.json": '{ "type": "module", "exports": "./index.js" }',
    "node_modules/my-plugin/index.js":
      'export default { name: "mine", setup() {}, commands: { mine: { description: "Mine.", run: () => { console.log("mine"); } } } };',
  });
  expect(await propylon(["mine"], { cwd })).toEqual({ code: 0, stdout: "mine\n", stderr: "" });
});

it("an unknown command says why a plugin could not be asked", async () => {
  const cwd = await project({
    "gateway.yaml": "plugins: { ./broken.ts: {}, nowhere: {}, ./greeter.ts: {}, ./also.ts: {} }\n",
    "broken.ts": "export default {",
    "greeter.ts": GREETER,
    "also.ts":
      'export default { name: "also", setup() {}, commands: { greet: { description: "x" } } };',
  });
  const [unknown, known] = await propylonEach([["gret"], ["greet", "Ada"]], { cwd });
  const { code, stderr } = unknown!;
  expect(code).toBe(1);
  expect(stderr).toMatch(/^The plugin \.\/broken\.ts cannot be asked for commands: broken\.ts:1:/m);
  expect(stderr).toContain(
    'The plugin nowhere cannot be asked for commands: There is no plugin "nowhere".',
  );
  expect(stderr).toContain('The command "greet" of the plugin ./also.ts is left out');
  expect(stderr).toContain(
    "error: unknown command 'gret'\n(Did you mean greet?)\nSee propylon --help.\n",
  );
  expect(known!.code).toBe(0);
});

it("a config that cannot be read leaves the general commands as they are", async () => {
  const cwd = await project({ "gateway.yaml": "not: [valid\n" });
  const said = "The plugins of the config cannot be asked for commands: gateway.yaml:1:6";
  const role = ["key", "--role", "viewer", "--name", "x"];
  const [help, wrong, key] = await propylonEach([["--help"], ["greet"], role], { cwd });
  expect(help).toMatchObject({ code: 0, stderr: expect.stringContaining(said) as string });
  expect(help!.stdout).toContain("client-config");
  expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining(said) as string });
  expect(key).toMatchObject({ code: 0, stderr: "" });
});

it("no plugin is asked for a command that is known", async () => {
  const cwd = await project({
    "gateway.yaml": "plugins: { ./loud.ts: {} }\n",
    "loud.ts": 'console.error("loaded"); export default { name: "loud", setup() {} };',
  });
  const known = [["--version"], ["mcpo", "--help"], ["help", "start"], ["start", "--help"]];
  const told = await propylonEach([...known, ["what"]], { cwd });
  const unknown = told.pop()!;
  for (const one of told) expect(one).toMatchObject({ code: 0, stderr: "" });
  expect(unknown.stderr).toContain("loaded");
});
