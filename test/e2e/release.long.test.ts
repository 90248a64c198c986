import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { connectClient, freePort } from "../../core/testing/index.ts";
import { cleanEnvironment, run as runProgram } from "../create-gateway/creator.ts";
import { PATIENCE } from "../fixtures/ci.ts";
import { openCheckout, type Checkout } from "../fixtures/checkout.ts";
import { keepOnlyPropylon, startRegistry, type Registry } from "../fixtures/registry.ts";

/** `npm run campaign -- release` does all of it; a run of every commit leaves out what only a release has. */
const ALL = process.env["RELEASE_ALL"] === "1";

/** Steps of the workflow that are no part of a dry run. A step that is neither here nor runs fails the test. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  "sudo apt-get update -qq && sudo apt-get install -y -qq nats-server redis-server postgresql haproxy bsdutils util-linux":
    "changes the machine",
  "npm ci": "the checkout has its packages",
  "npm test": "is what runs this",
  "npm run conformance": "is a job of its own",
};

interface Ran {
  readonly step: string;
  readonly code: number | null;
  readonly output: string;
}

let checkout: Checkout;
let registry: Registry;
let work: string;
const ran: Ran[] = [];
const npmHere = () => ({
  npm_config_registry: registry.url,
  npm_config_cache: join(work, "cache"),
  npm_config_fetch_retries: "0",
});
const packages = () => join(checkout.folder, "packages");

beforeAll(async () => {
  checkout = openCheckout();
  work = mkdtempSync(join(tmpdir(), "propylon-release-"));
  registry = await startRegistry();
  const text = readFileSync(join(checkout.folder, ".github/workflows/release.yml"), "utf8");
  const { jobs } = parse(text) as {
    jobs: Record<string, { steps: { run?: string }[] }>;
  };
  for (const { run: step } of jobs["publish"]!.steps)
    if (step !== undefined && !(step in ELSEWHERE) && (ALL || !isOfRelease(step)))
      ran.push(await runStep(step));
}, 600_000);

afterAll(async () => {
  await registry?.close();
  checkout?.close();
  if (work) rmSync(work, { recursive: true, force: true });
});

/** Whether a step lists or publishes packages that are packed. */
function isOfRelease(step: string): boolean {
  return step.includes("npm sbom") || step.startsWith("npm publish");
}

/** As GitHub runs a step, with nothing sent to a registry. */
async function runStep(step: string): Promise<Ran> {
  const command = step.replaceAll(/^npm publish .*$/gm, "$& --dry-run");
  const { version } = readJson(join(checkout.folder, "package.json")) as { version: string };
  const ended = await run(checkout.folder, ["sh", "-ec", command], {
    GITHUB_REF_NAME: `v${version}`,
    GITHUB_SERVER_URL: "https://github.com",
    GITHUB_REPOSITORY: "propylon/propylon",
    RUNNER_TEMP: work,
    ...npmHere(),
  });
  return { step, ...ended };
}

async function run(
  cwd: string,
  [program, ...words]: readonly [string, ...string[]],
  more: Readonly<Record<string, string>>,
): Promise<Omit<Ran, "step">> {
  const env = cleanEnvironment(more) as NodeJS.ProcessEnv;
  const { code, stdout, stderr } = await runProgram(program, words, { cwd, env });
  return { code, output: stdout + stderr };
}

const readJson = (file: string): unknown => JSON.parse(readFileSync(file, "utf8"));

describe("the release workflow, in a clean clone and without a network", () => {
  it("22: every step ends well", () => {
    expect(ran.filter(({ code }) => code !== 0)).toEqual([]);
    expect(ran.length).toBeGreaterThanOrEqual(ALL ? 6 : 3);
  });

  it("22: has no step left out that is not in it", () => {
    const text = readFileSync(join(checkout.folder, ".github/workflows/release.yml"), "utf8");
    for (const step of Object.keys(ELSEWHERE)) expect(text).toContain(`- run: ${step}\n`);
  });

  it("22: publishes both packages, each with its program and its repository", () => {
    const published = ran.filter(({ step }) => step.startsWith("npm publish"));
    const programs = ["dist/plugins/cli.js", "dist/create-gateway.mjs"];
    expect(published).toHaveLength(ALL ? programs.length : 0);
    for (const [index, { output }] of published.entries())
      expect(output).toContain(` ${programs[index]}\n`);
    for (const folder of ["", "templates"])
      expect(readJson(join(checkout.folder, folder, "package.json"))).toHaveProperty(
        "repository.url",
      );
  });

  it.each(ALL ? ["sbom.spdx.json"] : [])("22: lists what the package brings in %s", (file) => {
    const bill = readJson(join(packages(), file)) as { packages: { name: string }[] };
    expect(bill.packages.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["propylon", "zod", "commander", "prom-client", "tdigest"]),
    );
  });

  // What is in the packages is unpacked and run by ui-package.long.test.ts and test/create-gateway.
  it.each(ALL ? ["npm"] : [])(
    "22: %s installs its packages, scaffolds and runs",
    { timeout: PATIENCE * 300_000 },
    async () => {
      const [creator, propylon] = ["create-gateway-", "propylon-"].map((name) =>
        join(
          packages(),
          readdirSync(packages()).find((file) => file.startsWith(name))!,
        ),
      ) as [string, string];
      const npm = npmHere();
      const words = [
        "exec",
        "--yes",
        `--package=${creator}`,
        "--",
        "create-gateway",
        "gw",
        "--yes",
      ];
      const made = await run(work, ["npm", ...words, "--propylon", propylon], npm);
      expect(made).toMatchObject({ code: 0 });
      const project = join(work, "gw");
      keepOnlyPropylon(join(project, "package.json"));
      const installing = ["npm", "install", "--engine-strict", "--no-audit", "--no-fund"] as const;
      const installed = await run(project, installing, npm);
      expect(installed).toMatchObject({ code: 0 });
      expect(installed.output).not.toMatch(/EBADENGINE|deprecated/);
      expect(existsSync(join(project, "node_modules/propylon/dist/core/index.js"))).toBe(true);
      const checked = await run(project, ["npm", "run", "--silent", "check"], npm);
      expect(checked).toEqual({ code: 0, output: "The config is right.\n" });
      expect(await greet(project, npm)).toContain("Hello, Ada!");
    },
  );
});

async function greet(project: string, npm: Readonly<Record<string, string>>): Promise<string> {
  const port = String(await freePort());
  const child = spawn(join(project, "node_modules/.bin/propylon"), ["start"], {
    cwd: project,
    env: cleanEnvironment({ ...npm, PORT: port }),
    stdio: "ignore",
  });
  const ended = once(child, "exit");
  try {
    const url = `http://127.0.0.1:${port}`;
    await expect
      .poll(
        () =>
          fetch(`${url}/livez`).then(
            ({ ok }) => ok,
            () => false,
          ),
        { timeout: PATIENCE * 30_000 },
      )
      .toBe(true);
    const key = /^GATEWAY_KEY=(.+)$/m.exec(readFileSync(join(project, ".env"), "utf8"))![1]!;
    const headers = { authorization: `Bearer ${key}` };
    const client = await connectClient(`${url}/mcp`, { headers });
    const answer = await client.callTool({ name: "greet", arguments: { name: "Ada" } });
    await client.close();
    return JSON.stringify(answer);
  } finally {
    child.kill();
    await ended;
  }
}
