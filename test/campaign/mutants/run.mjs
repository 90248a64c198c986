/**
 * npm run campaign -- mutants
 *
 * Random one-token mutants of the plugins, each against the tests that reach it. One that no test sees fails the campaign, unless
 * equal.json says why no caller can see it. MUTANTS is their number, MUTANT_SEED which they are, MUTANT_PLUGINS of which plugins;
 * MUTANTS_AGAIN=1 takes those that survived the last time.
 */
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { setPriority, tmpdir } from "node:os";
import { dirname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { root } from "../../../playground/ready.mjs";
import { copyTo } from "./copy.mjs";
import { Lane, spread } from "./lanes.mjs";
import { mutantsOf, sample } from "./mutants.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const PLUGINS = [
  "access",
  "keys",
  "oauth",
  "oauth-client",
  "oauth-resource",
  "sessions",
  "sidecar",
  "tasks",
  "team-auth",
];
/** Tests of theirs that are in other folders. */
const ELSEWHERE = [
  "test/contract/oauth-security.test.ts",
  "test/core/config/selectors.test.ts",
  "test/core/http/guessing.test.ts",
  "test/e2e/oauth-conformance.test.ts",
  "test/e2e/oauth-forged.test.ts",
  "test/e2e/principals.test.ts",
  "test/e2e/queue-fixtures.test.ts",
  "test/e2e/tasks-kill.long.test.ts",
  "test/e2e/team-auth/forged-tokens.long.test.ts",
  "test/plugins/servers/identity.test.ts",
  "test/plugins/ui/session.long.test.ts",
];
const count = Number(process.env.MUTANTS ?? 300);
const seed = Number(process.env.MUTANT_SEED ?? 41);
const plugins = process.env.MUTANT_PLUGINS?.split(",") ?? PLUGINS;
const LANES = Number(process.env.MUTANT_LANES ?? 2);
/** Where the last run is kept, and what each test reached. */
const CACHE = join(root, "node_modules/.cache/propylon");
const LAST = join(CACHE, "mutants.json");
const REACH = join(CACHE, "mutants-reach.json");
/** A mutant may take this many times what its tests take without it, and as long on top of it. */
const PATIENCE = 4;
const EXTRA_MS = 45_000;

setPriority(15);
const pluginOf = (file) => file.split("/")[1];

function sourcesOf(plugin) {
  return readdirSync(join(root, "plugins", plugin), { recursive: true, encoding: "utf8" })
    .filter(
      (name) => name.endsWith(".ts") && !name.startsWith(`web${sep}`) && !name.endsWith(".d.ts"),
    )
    .map((name) => `plugins/${plugin}/${name.replaceAll("\\", "/")}`)
    .toSorted();
}

const textOf = (file) => readFileSync(join(root, file), "utf8");
const every = PLUGINS.flatMap(sourcesOf).flatMap((file) => mutantsOf(file, textOf(file)));
const equal = JSON.parse(readFileSync(join(here, "equal.json"), "utf8"));

function checkEqual() {
  const names = new Set(every.map(({ name }) => name));
  const stale = Object.keys(equal).filter((name) => !names.has(name));
  if (stale.length > 0)
    throw new Error(`equal.json names mutants that are not there any more:\n${stale.join("\n")}`);
}

function chosen() {
  const taken = sample(every, count, seed).filter(({ file }) => plugins.includes(pluginOf(file)));
  const before = process.env.MUTANTS_AGAIN ? readIf(LAST) : undefined;
  const wanted = taken.filter(
    ({ name }) => !before || (before[name]?.state ?? "survived") === "survived",
  );
  return wanted.map((mutant, id) => ({ ...mutant, id }));
}

function testsOf() {
  const own = plugins.flatMap((plugin) =>
    readdirSync(join(root, "test/plugins", plugin), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".test.ts"))
      .map((name) => `test/plugins/${plugin}/${name.replaceAll("\\", "/")}`),
  );
  return process.env.MUTANT_TESTS?.split(",") ?? [...own, ...ELSEWHERE];
}

const readIf = (file) => (existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {});
const digestOf = (file) => createHash("sha256").update(textOf(file)).digest("hex");

/** Which mutants each test file reaches, and how long it takes. What fails without a mutant is left out. */
async function reachOf(lanes, digests, folder) {
  const files = [...digests.keys()];
  const known = process.env.MUTANTS_AGAIN ? readIf(REACH) : {};
  const left = files.filter((file) => known[file]?.digest !== digests.get(file));
  await spread(lanes, left, async (lane, file) => {
    known[file] = {
      digest: digests.get(file),
      ...(await lookAt(lane, file, join(folder, "reach"))),
    };
    mkdirSync(CACHE, { recursive: true });
    writeFileSync(REACH, JSON.stringify(known));
  });
  return files.map((file) => ({ file, ...known[file] })).filter(({ names }) => names.length > 0);
}

async function lookAt(lane, file, folder) {
  mkdirSync(folder, { recursive: true });
  const log = join(folder, file.replaceAll("/", "+"));
  writeFileSync(log, "");
  const { ms, errors, isLate } = await lane.run({ mutant: -1, files: [file], log }, 300_000);
  if (isLate || errors.length > 0) {
    console.log(
      `left out: ${file}: ${isLate ? "too long" : `${errors[0].test}: ${errors[0].message.slice(0, 200)}`}`,
    );
    return { ms, names: [] };
  }
  const ids = new Set(readFileSync(log, "utf8").split("\n").filter(Boolean).map(Number));
  console.log(`${file}: ${(ms / 1_000).toFixed(1)} s, reaches ${ids.size}`);
  return { ms, names: [...ids].map((id) => mutants[id].name) };
}

/** Those of its own plugin first, the fastest first. */
function testsFor({ name, file }, reach) {
  const rank = (test) =>
    (test.file.startsWith(`test/plugins/${pluginOf(file)}/`) ? 0 : 1e9) + test.ms;
  return reach.filter(({ names }) => names.includes(name)).toSorted((a, b) => rank(a) - rank(b));
}

async function judge(lane, mutant, reach) {
  const tests = testsFor(mutant, reach);
  if (tests.length === 0) return { state: "survived", by: "no test reaches it" };
  const files = tests.map(({ file }) => file);
  const usual = tests.reduce((sum, { ms }) => sum + ms, 0);
  const { errors, isLate } = await lane.run(
    { mutant: mutant.id, files },
    PATIENCE * usual + EXTRA_MS,
  );
  if (isLate)
    return (await passes(lane, files, usual))
      ? { state: "killed", by: "it never ends" }
      : judge(lane, mutant, reach);
  const [first] = errors;
  if (first?.file !== undefined && !files.includes(first.file))
    throw new Error(`${first.file} was not asked for.`);
  if (!first)
    return { state: "survived", by: `${files.length} test files, ${(usual / 1_000).toFixed(0)} s` };
  // A busy machine makes a test late, too: then it is late without the mutant.
  if (/timed out/i.test(first.message) && !(await passes(lane, [first.file ?? files[0]], usual)))
    return judge(lane, mutant, reach);
  return {
    state: "killed",
    by: `${first.file ?? files[0]}: ${first.test}`,
    message: first.message.slice(0, 300),
  };
}

async function passes(lane, files, usual) {
  const { errors, isLate } = await lane.run({ mutant: -1, files }, PATIENCE * usual + EXTRA_MS);
  return !isLate && errors.length === 0;
}

async function campaign(lanes, folder, digests) {
  const reach = await reachOf(lanes, digests, folder);
  const results = process.env.MUTANTS_AGAIN ? readIf(LAST) : {};
  let done = 0;
  await spread(lanes, mutants, async (lane, mutant) => {
    const result =
      mutant.name in equal
        ? { state: "equal", by: equal[mutant.name] }
        : await judge(lane, mutant, reach);
    results[mutant.name] = result;
    done++;
    console.log(`${done}/${mutants.length} ${result.state}: ${mutant.name} (${result.by})`);
    writeFileSync(LAST, JSON.stringify(results, undefined, 1));
  });
  return mutants.map(({ name }) => ({ name, ...results[name] }));
}

checkEqual();
const mutants = chosen();
const folder = mkdtempSync(join(tmpdir(), "propylon-mutants-"));
const folders = Array.from({ length: LANES }, (_, lane) => join(folder, `lane-${lane}`));
const lanes = folders.map((path) => new Lane(path));
process.once("exit", () => {
  for (const lane of lanes) lane.close();
  rmSync(folder, { recursive: true, force: true });
});
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));
// Of what is copied: somebody may go on writing.
const digests = new Map(testsOf().map((file) => [file, digestOf(file)]));
copyTo(folders, mutants);
const results = await campaign(lanes, folder, digests);
const of = (state) => results.filter((result) => result.state === state);
for (const { name, by } of of("survived")) console.log(`survived: ${name} (${by})`);
console.log(
  `seed ${seed}: ${results.length} mutants of ${every.length}, ${of("killed").length} killed, ${of("equal").length} equal, ${of("survived").length} survived`,
);
process.exit(of("survived").length === 0 ? 0 : 1);
