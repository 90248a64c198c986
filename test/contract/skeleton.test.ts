import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { parseSync } from "vite";
import { describe, expect, it } from "vitest";
import { circlesIn, importGraph } from "./imports.ts";

const graph = importGraph();
const PLUGINS = readdirSync("plugins", { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

/** Programs of their own, for browsers. */
const BROWSER = /^plugins\/[\w-]+\/web\//;

const filesOf = (plugin: string): readonly string[] =>
  [...graph.keys()].filter((file) => file.startsWith(`plugins/${plugin}/`) && !BROWSER.test(file));
const read = (file: string): string => readFileSync(file, "utf8");
const has = (file: string): boolean => graph.has(file);

/** What a plugin does in its setup, in the order in which its index does it. */
const STEPS = [
  [/^gateway\.keep$/],
  [/^gateway\.use$/],
  [/^gateway\.tool$/, /^registerTools$/],
  [/^gateway\.route$/, /^registerRoutes$/],
  [/^registerPanels$/],
  [/^gateway\.hook$/],
  [/^gateway\.onStart$/],
] as const;

/** Names of files that say what is in them, and what they export. */
const FILES = {
  "options.ts": "optionsSchema",
  "routes.ts": "registerRoutes",
  "tools.ts": "registerTools",
  "panels.ts": "registerPanels",
  "metrics.ts": "registerMetrics",
  "events.ts": "events",
} as const;

/** Plugins without options of their own whose `options.ts` has those of the entries of `servers` that they serve. */
const ENTRIES = { "a2a-client": "agentOptions", rest: "apiOptions" } as const;

/** What is registered in files whose names end so, by how it looks. */
const REGISTRATIONS = {
  "routes.ts": /\bgateway\.route\(\s*[^(),;]+,[^,;]+,/,
  "tools.ts": /\bgateway\.tool\(/,
  "metrics.ts": /\bnew (?:Counter|Gauge|Histogram|Summary)\(|\bregisterMetric\(/,
} as const;

/** Files that register something under another name, or an index that decides, and why. */
const PLACES: Readonly<Record<string, string>> = {
  "plugins/metrics/exposition.ts": "the histograms of the metrics page itself",
  "plugins/oauth/index.ts": "tells the audit of logins, and of no other use of a code",
  "plugins/progress/index.ts": "a plugin of one page, to learn from",
  "plugins/telemetry/histogram.ts": "a histogram of its own, for OpenTelemetry",
  "plugins/telemetry/index.ts": "takes the tracer of the application around the gateway",
};

/** Plugins that are under way to their places. */
const UNDER_WAY: readonly string[] = ["team-auth"];

/** Names that every plugin has for the same thing. */
const COMMON: readonly string[] = [...Object.values(FILES), "commands", "selectorsOf"];

/** Files besides `options.ts` that read the environment, and why. */
const ENVIRONMENT: Readonly<Record<string, string>> = {
  "plugins/sidecar/index.ts": "hands it to settings.ts, where options and environment meet",
  "plugins/sidecar/process.ts": "the command sidecar makes the options out of it",
  "plugins/sidecar/runtime/child.ts": "hands variables that the options name to the runtime",
};

/** Exports of a module: what it declares, and nothing that it passes on. */
function declared(file: string): readonly string[] {
  const declaration =
    /^export (?:declare |abstract |async )*(?:interface|type|class|const|let|function\*?|enum) (\w+)/gm;
  return [...read(file).matchAll(declaration)].map(([, name]) => name!);
}

/** The steps of a setup, by their place in {@link STEPS}. */
function stepsOf(text: string): readonly number[] {
  const calls = [...text.matchAll(/\b(gateway\.\w+|register\w+)(?=\()/g)].map(([, name]) => name!);
  return calls
    .map((call) => STEPS.findIndex((names) => names.some((name) => name.test(call))))
    .filter((step) => step >= 0);
}

interface Node {
  readonly type?: string;
  readonly start: number;
  readonly end: number;
  readonly test?: Node;
  readonly alternate?: Node | null;
  readonly argument?: Node;
  readonly left?: Node;
  readonly right?: Node;
}

/** What decides something, whatever it asks. */
const DECISIONS = /^(?:Switch|For|ForIn|While|DoWhile|Try)Statement$/;
/** Whether something is there, a list has something in it, or a predicate holds that has a name. */
const QUESTION =
  /^(?:[\w.?#]+|[\w.?]+ [!=]== undefined|[\w.?]+\.length > 0|(?:[\w.?]+\.)?(?:is|has)[A-Z]\w*\([\w., ]*\))$/;

/** The decisions of an index: what is more than asking whether something is there, and then doing one thing. */
function decisionsOf(text: string): readonly string[] {
  const textOf = ({ start, end }: Node): string => text.slice(start, end);
  const isQuestion = (node: Node): boolean => {
    if (node.type === "LogicalExpression") return isQuestion(node.left!) && isQuestion(node.right!);
    if (node.type === "UnaryExpression") return isQuestion(node.argument!);
    return QUESTION.test(textOf(node));
  };
  const isDecision = (node: Node): boolean => {
    if (node.type === "IfStatement") return Boolean(node.alternate) || !isQuestion(node.test!);
    if (node.type === "ConditionalExpression") return !isQuestion(node.test!);
    return DECISIONS.test(node.type ?? "");
  };
  const visit = (node: object): readonly string[] => [
    ...(isDecision(node as Node) ? [textOf(node as Node)] : []),
    ...Object.values(node)
      .filter((part: unknown) => typeof part === "object" && part !== null)
      .flatMap((part) => visit(part)),
  ];
  return visit(parseSync("index.ts", text).program);
}

/** What a file of a plugin registers that belongs into one of another name. */
function misplacedIn(file: string): readonly string[] {
  const text = read(file).replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "");
  const wanted = Object.entries(REGISTRATIONS).filter(([, looks]) => looks.test(text));
  const places = wanted.map(([place]) => place).filter((place) => !file.endsWith(place));
  const decisions = /^plugins\/[\w-]+\/index\.ts$/.test(file) ? decisionsOf(text) : [];
  return [...places, ...decisions].map((what) => `${file}: ${what}`);
}

/** The folders of a plugin below its own, and which import which. */
function foldersOf(plugin: string): ReadonlyMap<string, readonly string[]> {
  const root = join("plugins", plugin);
  const folders = new Map<string, readonly string[]>();
  for (const file of filesOf(plugin)) {
    const folder = dirname(file);
    const others = (graph.get(file) ?? [])
      .map((path) => dirname(normalize(path)))
      .filter((path) => path !== folder && path !== root && path.startsWith(`${root}/`));
    if (folder !== root) folders.set(folder, [...(folders.get(folder) ?? []), ...others]);
  }
  return folders;
}

/** What a plugin must have by its definition, or by the files that are there, and has not. */
function wrongParts(plugin: string, index: string): readonly string[] {
  const files = filesOf(plugin);
  const serves = plugin in ENTRIES;
  const exports = Object.entries(FILES).flatMap(([file, name]) => {
    const path = `plugins/${plugin}/${file}`;
    const elsewhere = files.filter((each) => each !== path && declared(each).includes(name));
    const isMissing = files.includes(path) && !declared(path).includes(name);
    return [...elsewhere, ...(isMissing && !(serves && file === "options.ts") ? [path] : [])];
  });
  const words = plugin.split("-").map((word) => `${word[0]!.toUpperCase()}${word.slice(1)}`);
  const type = `${words.join("")}Options`;
  const options = `plugins/${plugin}/options.ts`;
  const hasType = serves || !files.includes(options) || declared(options).includes(type);
  const wanted = {
    [options]: serves || index.includes("config: optionsSchema"),
    [`plugins/${plugin}/service.ts`]: /^ {2}provides:/m.test(index),
  };
  const parts = Object.entries(wanted).filter(([file, isWanted]) => isWanted && !has(file));
  return [...exports, ...(hasType ? [] : [type]), ...parts.map(([file]) => file)];
}

describe.each(PLUGINS)("the plugin %s", (plugin) => {
  const index = read(`plugins/${plugin}/index.ts`);

  it("has an index with a doc comment, in the order of all others", () => {
    expect(index).toMatch(/\*\/\nexport default definePlugin\(/);
    const steps = stepsOf(index);
    expect(steps).toEqual(steps.toSorted((a, b) => a - b));
  });

  it("has its parts in the files that are named after them", () => {
    expect(wrongParts(plugin, index)).toEqual([]);
  });

  it("has no circle of folders", () => {
    expect(circlesIn(foldersOf(plugin))).toEqual([]);
  });

  it("reads the environment in its options alone", () => {
    const readers = filesOf(plugin).filter((file) => read(file).includes("process.env"));
    const allowed = [`plugins/${plugin}/options.ts`, ...Object.keys(ENVIRONMENT)];
    expect(readers.filter((file) => !allowed.includes(file))).toEqual([]);
  });
});

const misplacedOf = (plugin: string): readonly string[] =>
  filesOf(plugin)
    .filter((file) => !(file in PLACES))
    .flatMap(misplacedIn);

it.each(PLUGINS.filter((plugin) => !UNDER_WAY.includes(plugin)))(
  "%s registers and decides where its files say so",
  (plugin) => {
    expect(misplacedOf(plugin)).toEqual([]);
  },
);

it.each(UNDER_WAY)("%s is under way still", (plugin) => {
  expect(misplacedOf(plugin)).not.toEqual([]);
});

it("no name is exported by two plugins, but for those that mean the same in all", () => {
  const owners = new Map<string, Set<string>>();
  for (const plugin of PLUGINS)
    for (const name of filesOf(plugin).flatMap(declared))
      owners.set(name, (owners.get(name) ?? new Set()).add(plugin));
  const twice = [...owners].filter(([name, plugins]) => plugins.size > 1 && !COMMON.includes(name));
  expect(twice.map(([name, plugins]) => `${name}: ${[...plugins].join(", ")}`)).toEqual([]);
  expect(owners.size).toBeGreaterThan(1_000);
});

it("every exception is one still", () => {
  for (const file of Object.keys(ENVIRONMENT)) expect(read(file)).toContain("process.env");
  for (const file of Object.keys(PLACES)) expect(misplacedIn(file)).not.toEqual([]);
  for (const [plugin, name] of Object.entries(ENTRIES))
    expect(declared(`plugins/${plugin}/options.ts`)).toContain(name);
});

it("finds a decision", () => {
  const found = [
    'if (a.kind === "x") b();',
    "if (a) b(); else c();",
    "a(b(c) ? d : e);",
    "for (;;) a();",
  ];
  expect(found.flatMap(decisionsOf)).toHaveLength(found.length);
  const none =
    "if (a.b && !isC(d)) e(f); g(h ? i : undefined); if (j.length > 0) k(); for (const l of m) n(l);";
  expect(decisionsOf(none)).toEqual([]);
});

it("finds a wrong order and a circle of folders", () => {
  expect(stepsOf("gateway.hook(); registerRoutes(); gateway.keep()")).toEqual([5, 3, 0]);
  const circle = new Map([
    ["a", ["b"]],
    ["b", ["a"]],
  ]);
  expect(circlesIn(circle)).toHaveLength(1);
});
