import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, readFile, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { connectClient, freePort } from "../../core/testing/index.ts";
import { TEMPLATES } from "../../templates/src/template.ts";
import { startServer } from "../plugins/postgres/kit.ts";
import { PATIENCE } from "../fixtures/ci.ts";
import { until } from "../kit/until.ts";
import { workFolder } from "./build.ts";
import { readDockerfile } from "./dockerfile.ts";
import {
  createProject,
  fakeNpm,
  openWorkshop,
  readKey,
  remove,
  run,
  runScript,
  succeed,
  type Workshop,
} from "./template-project.ts";

const OXFMT = fileURLToPath(new URL("../../node_modules/oxfmt/bin/oxfmt", import.meta.url));

/** `npm run campaign -- templates`: all that is slow, for every way to create a project. */
const ALL = process.env["TEMPLATES_ALL"] === "1";

const NAMES = TEMPLATES.map(({ name }) => name);
const GATEWAYS = NAMES.filter((name) => name !== "plugin");

/** Every way to create a project. Their names have different lengths, because a name changes how lines are broken. */
const WAYS = {
  yes: { name: "gw", flags: ["--yes"] },
  flags: {
    name: "a-project-with-a-name-that-is-rather-long-for-a-name-of-project",
    flags: [
      "--import=../mcp.json",
      "--with=docker,compose,kubernetes",
      "--no-install",
      "--git",
      "--no-start",
      "--pm=npm",
      "--propylon=^0.1.0",
      "--overwrite",
      "--json",
      "--yes",
    ],
  },
  production: { name: "production-gateway", flags: ["--yes", "--production"] },
  postgres: { name: "gw-with-postgres", flags: ["--yes", "--with=kubernetes,postgres"] },
  workers: {
    name: "gw-on-every-core",
    flags: ["--yes", "--with=docker,compose,kubernetes,workers"],
  },
  cluster: { name: "gw-of-a-cluster", flags: ["--yes", "--with=cluster"] },
} as const;

/** Flags that mean nothing to a plugin. */
const FOR_GATEWAYS = /^--(?:import|with|start|no-start|production)/;

const WAY_NAMES = Object.keys(WAYS) as (keyof typeof WAYS)[];

/** One way for each template, so that every way is that of one; the campaign takes all of them. */
const waysOf = (template: (typeof NAMES)[number]): (keyof typeof WAYS)[] =>
  WAY_NAMES.filter(
    (way, index) =>
      fits(template, way) && (ALL || (index + NAMES.indexOf(template)) % WAY_NAMES.length === 0),
  );

/** Gateways of a2a-runtime share their work by its queue; tables in a file belong to one process. */
const UNFIT: Readonly<Partial<Record<string, readonly (keyof typeof WAYS)[]>>> = {
  "a2a-runtime": ["workers", "cluster"],
  "team-console": ["workers"],
};

const fits = (template: (typeof NAMES)[number], way: keyof typeof WAYS): boolean =>
  !(UNFIT[template] ?? []).includes(way);

const IMPORTED = {
  mcpServers: {
    imported: {
      command: "npx",
      args: ["-y", "@modelcontextprotocol/server-everything"],
      env: { TOKEN: "secret-of-the-server" },
    },
  },
};

/** What proves that an image works: a tool of the gateway, or of a server that it starts, and what the answer has in it. */
const CALLS: Readonly<
  Record<string, readonly { path?: string; name: string; args: object; said: string }[]>
> = {
  minimal: [
    { name: "greet", args: { name: "Ada" }, said: "Hello, Ada!" },
    { name: "echo", args: { message: "hi" }, said: "Echo: hi" },
  ],
  "mcp-openapi": [
    { name: "count_words", args: { text: "one two" }, said: '\\"words\\":2' },
    { name: "list_allowed_directories", args: {}, said: "/data" },
  ],
  "agent-team": [{ path: "/agents/engineering/mcp", name: "get_health", args: {}, said: "model" }],
  lifecycle: [{ name: "agent_status", args: { agent_ids: ["nobody"] }, said: "Agent not found" }],
  "team-console": [{ name: "recent_changes", args: {}, said: "[]" }],
  "a2a-runtime": [
    { name: "checksum", args: { text: "" }, said: "e3b0c44298fc1c149afbf4c8996fb924" },
    { name: "list_allowed_directories", args: {}, said: "/workspace" },
  ],
};

let workshop: Workshop;
const folders: string[] = [];

beforeAll(async () => {
  workshop = await openWorkshop(await workFolder());
  folders.push(workshop.folder);
  await mkdir(join(workshop.folder, "projects"));
});
afterAll(() => Promise.all(folders.map(remove)));

/** A folder until all tests have ended. */
async function openFolder(prefix: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), prefix));
  folders.push(folder);
  return folder;
}

/** A project in a folder of its own, so that two of one name can be made. */
async function create(template: string, way: keyof typeof WAYS): Promise<string> {
  const folder = await openFolder("create-gateway-");
  await writeFile(join(folder, "mcp.json"), JSON.stringify(IMPORTED));
  const { name, flags } = WAYS[way];
  const fitting = flags.filter((flag) => template !== "plugin" || !FOR_GATEWAYS.test(flag));
  const words = fitting.map((flag) => flag.replace("../mcp.json", join(folder, "mcp.json")));
  return createProject({ ...workshop, folder }, name, ["-t", template, ...words]);
}

const git = (directory: string, ...words: string[]) =>
  run(directory, ["git", "-c", "user.name=test", "-c", "user.email=test@example.org", ...words]);

const matrix = NAMES.flatMap((template) =>
  WAY_NAMES.filter((way) => fits(template, way)).map((way) => ({ template, way })),
);

describe("a project of every template", () => {
  it.each(NAMES)(
    "%s: its config is right, and a formatter leaves it alone",
    { timeout: PATIENCE * 90_000 },
    async (template) => {
      const found = await Promise.all(
        waysOf(template).map(
          async (way) => [way, await look(await create(template, way))] as const,
        ),
      );
      const well = { check: "The config is right.\n", changed: "" };
      expect(Object.fromEntries(found)).toEqual(
        Object.fromEntries(waysOf(template).map((way) => [way, well])),
      );
    },
  );
});

describe("the types of a project", () => {
  it.each(GATEWAYS)("%s: are right", { timeout: PATIENCE * 60_000 }, async (template) => {
    expect(await succeed(runScript(await create(template, "yes"), "typecheck"))).toBe("");
  });
});

/** What the gateway says of a project's config, and what a formatter changes. */
async function look(directory: string): Promise<{ check: string; changed: string }> {
  const { output: check } = await runScript(directory, "check");
  await succeed(git(directory, "add", "--all"));
  await succeed(git(directory, "commit", "--quiet", "--message", "as created"));
  await succeed(run(directory, [process.execPath, OXFMT, "."]));
  return { check, changed: await succeed(git(directory, "status", "--porcelain")) };
}

describe("a project's own tests", () => {
  // The config of each template runs in templates.long.test.ts, too.
  const some = ["minimal", "a2a-runtime", "plugin"];
  const chosen = ALL
    ? matrix
    : matrix.filter(({ template, way }) => way === "yes" && some.includes(template));
  it.each(chosen)("$template with $way: pass", async ({ template, way }) => {
    const directory = await create(template, way);
    const output = await succeed(runScript(directory, "test"));
    expect(output).toMatch(/Tests +\d+ passed/);
  });
});

describe("the steps of a Dockerfile, without Docker", () => {
  const chosen = ALL ? GATEWAYS : ["a2a-runtime"];
  it.each(chosen)(
    "%s: end in a gateway that is well and answers",
    { timeout: PATIENCE * 120_000 },
    async (template) => {
      const { image, key } = await imageOf(template);
      const { url, healthy } = await startImage(image, key);
      for (const { path = "/mcp", name, args, said } of CALLS[template]!) {
        const authorization = `Bearer ${key}`;
        const client = await connectClient(`${url}${path}`, { headers: { authorization } });
        onTestFinished(() => client.close());
        await expect
          .poll(async () =>
            JSON.stringify(await client.callTool({ name, arguments: { ...args } })).replaceAll(
              "\\\\",
              "\\",
            ),
          )
          .toContain(said);
      }
      expect(await healthy()).toBe(0);
    },
  );
});

describe("a task of a2a-runtime outlives kill -9 of its image", () => {
  it("in a file that its agent cannot read", async () => {
    const { image, key } = await imageOf("a2a-runtime");
    const first = await startImage(image, key);
    const id = await sum(first.url, key);
    await first.kill();
    const { url } = await startImage(image, key);
    expect(await readTask(url, key, id)).toContain(SUM);
    const file = join(image.workdir, ".store/gateway.db");
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const headers = { authorization: `Bearer ${key}` };
    const client = await connectClient(`${url}/mcp`, { headers });
    onTestFinished(() => client.close());
    const read = () => client.callTool({ name: "read_text_file", arguments: { path: file } });
    await expect
      .poll(async () => JSON.stringify(await read()))
      .toContain("outside allowed directories");
  });

  // A second image, which only differs in its store.
  it.each(ALL ? ["PostgreSQL"] : [])("in %s, which it is told of when it starts", async () => {
    const server = await startServer();
    const directory = await create("a2a-runtime", "postgres");
    const image = await buildImage(directory);
    const key = await readKey(directory);
    const first = await startImage(image, key, { STORE: server.url });
    const id = await sum(first.url, key);
    await first.kill();
    const { url } = await startImage(image, key, { STORE: server.url });
    expect(await readTask(url, key, id)).toContain(SUM);
  });
});

/** SHA-256 of "Ada". */
const SUM = "99a563ab2f6e21e96998f9fddd2a2bab82b70ac019579502b8d7fc0032ff62bb";

/** Has a text summed, which needs no model. */
async function sum(url: string, key: string): Promise<string> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const message = { role: "user", parts: [{ text: "Ada" }], metadata: { skill: "checksum" } };
  const body = JSON.stringify({ message: { messageId: "m-1", ...message } });
  const answer = await fetch(url, { method: "POST", headers, body });
  const { id, status } = (await answer.json()) as { id: string; status: { state: string } };
  expect(status.state).toBe("completed");
  return id;
}

async function readTask(url: string, key: string, id: string): Promise<string> {
  const headers = { authorization: `Bearer ${key}`, "A2A-Version": "1.0" };
  return (await fetch(`${url}/tasks/${id}`, { headers })).text();
}

describe("servers that were taken over", () => {
  it(
    "26: run in an image without a registry, asked for with Compose alone",
    { timeout: PATIENCE * 120_000 },
    async () => {
      const folder = await openFolder("create-gateway-");
      const package_ = "@modelcontextprotocol/server-memory@latest";
      const memory = { command: "npx", args: ["-y", package_] };
      await writeFile(join(folder, "mcp.json"), JSON.stringify({ mcpServers: { memory } }));
      const flags = ["--yes", "--with=compose", `--import=${join(folder, "mcp.json")}`];
      const directory = await createProject({ ...workshop, folder }, "gw", flags);
      const image = await buildImage(directory);
      const key = await readKey(directory);
      const { url } = await startImage(image, key);
      const client = await connectClient(`${url}/mcp`, {
        headers: { authorization: `Bearer ${key}` },
      });
      onTestFinished(() => client.close());
      const names = async () => (await client.listTools()).tools.map(({ name }) => name);
      await expect.poll(names, { timeout: PATIENCE * 40_000 }).toContain("read_graph");
    },
  );
});

describe("the templates", () => {
  it("have the same stand-in for a model", async () => {
    const read = (name: string) =>
      readFile(new URL(`../../templates/${name}/test/model.ts`, import.meta.url), "utf8");
    const [first, ...others] = await Promise.all(
      ["agent-team", "lifecycle", "a2a-runtime"].map(read),
    );
    expect(others).toEqual([first, first]);
  });
});

interface Image {
  readonly workdir: string;
  readonly env: Readonly<Record<string, string>>;
  readonly command: readonly string[];
  readonly healthcheck: readonly string[];
}

const images = new Map<string, Promise<{ readonly image: Image; readonly key: string }>>();

/** The image of a template, which is built once, and the key of its gateway. */
function imageOf(template: string): Promise<{ readonly image: Image; readonly key: string }> {
  const build = async () => {
    const directory = await create(template, "yes");
    return { image: await buildImage(directory), key: await readKey(directory) };
  };
  const image = images.get(template) ?? build();
  images.set(template, image);
  return image;
}

/** Does what docker build would, on a copy without what .dockerignore names. */
async function buildImage(directory: string): Promise<Image> {
  const root = await openFolder("image-");
  const context = `${root}/context`;
  const ignored = (await readFile(join(directory, ".dockerignore"), "utf8")).trim().split("\n");
  const patterns = ignored.map((text) => text.replaceAll(".", "\\.").replaceAll("*", "[^/]*"));
  const isIgnored = new RegExp(`^(?:${patterns.join("|")})$`);
  const isSent = (path: string): boolean => !isIgnored.test(relative(directory, path));
  await cp(directory, context, { recursive: true, filter: isSent });
  const recipe = await readDockerfile(join(directory, "Dockerfile"));
  const bin = await fakeNpm(root, join(directory, "node_modules"));
  const variables = { CONTEXT: context, ROOT: root, PATH: `${bin}:${process.env["PATH"]}` };
  await succeed(run(root, ["sh", "-c", recipe.script], variables));
  const inRoot = (text: string): string => text.replaceAll("$ROOT", root);
  const env = Object.entries(recipe.env).map(([name, value]) => [name, inRoot(value)] as const);
  const { command, healthcheck } = recipe;
  return { workdir: inRoot(recipe.workdir), env: Object.fromEntries(env), command, healthcheck };
}

/** Starts what an image would run, and waits until it is well. */
async function startImage(
  { workdir, env, command, healthcheck }: Image,
  key: string,
  more: Readonly<Record<string, string>> = {},
): Promise<{ url: string; healthy: () => Promise<number>; kill: () => Promise<void> }> {
  // An image is told its port before it starts.
  const port = String(await freePort());
  const variables = {
    PATH: process.env["PATH"],
    HOME: "/nonexistent",
    npm_config_registry: "http://127.0.0.1:9",
    ...env,
    PORT: port,
    A2A_PORT: port,
    GATEWAY_KEY: key,
    MODEL_URL: "http://127.0.0.1:9/v1",
    MODEL_API_KEY: "none",
    SECRET_KEY: "what-seals-secrets-in-this-test-only",
    MODEL: "none",
    ...more,
  };
  const [program = "", ...words] = command;
  const child = spawn(program, words, {
    cwd: workdir,
    env: variables,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill();
    await once(child, "exit");
  });
  const kill = async (): Promise<void> => {
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
  };
  const url = `http://127.0.0.1:${port}`;
  const [first = "", ...rest] = healthcheck;
  const healthy = async (): Promise<number> => {
    if (child.exitCode !== null) throw new Error(output);
    return (await run(workdir, [first, ...rest], variables)).code;
  };
  // To ask by its own check as long as it starts would be more work than its start.
  await until(() => {
    if (child.exitCode !== null) throw new Error(output);
    return fetch(`${url}/livez`).then(Boolean, () => false);
  }, 60_000);
  await expect.poll(healthy).toBe(0);
  return { url, healthy, kill };
}
