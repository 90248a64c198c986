import { readdir, readFile, realpath } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { startChild } from "../../plugins/conformance/runtime/child.ts";
import { definePlugin } from "../../core/index.ts";
import { spawnChild } from "../../core/process.ts";
import { setupGateway } from "../../core/testing/index.ts";
import sidecar from "../../plugins/sidecar/index.ts";
import { makeFolder } from "../kit/folder.ts";
import { until } from "../kit/until.ts";
import { ALICE, say, startRuntime } from "../plugins/a2a/kit.ts";

/** What only the gateway may know, and what changes which code a program loads. */
const CANARIES = {
  PROPYLON_API_KEY: "canary-master",
  GATEWAY_KEY: "canary-gateway",
  OPENAI_API_KEY: "canary-provider",
  ANTHROPIC_API_KEY: "canary-provider",
  NATS_PASSWORD: "canary-queue",
  AWS_SECRET_ACCESS_KEY: "canary-cloud",
  OTEL_EXPORTER_OTLP_HEADERS: "authorization=canary",
  LD_LIBRARY_PATH: "/canary",
  NODE_OPTIONS: "--title=canary",
} as const;

/** A program that writes its environment into a file, and stays until its input ends. */
const TELL = `
const { writeFileSync, renameSync } = require("node:fs");
const [file] = process.argv.slice(2);
writeFileSync(file + ".new", JSON.stringify(process.env));
renameSync(file + ".new", file);
process.stdin.resume();
setInterval(() => {}, 1000);
process.stdin.on("end", () => process.exit(0));
`;

/** Starts a child; it is given its command and a folder, and one variable by name where its kind can. */
type Start = (command: readonly [string, ...string[]], cwd: string) => Promise<unknown>;

const kinds: Record<string, Start> = {
  "a server": ([command, ...args]) =>
    setupGateway({
      config: { servers: { child: { command, args, env: { DECLARED: "yes" } } } },
      client: false,
    }),
  "a command skill": async (command, workDir) => {
    const skills = [
      { id: "run", name: "Run", description: "Runs.", command: [...command], env: ["DECLARED"] },
    ];
    const { runtime } = await startRuntime({ skills, options: { workDir } });
    await runtime().send(say("go"), { principal: ALICE });
  },
  "the runtime of a sidecar": (command) => {
    const runtime = { command: [...command], env: { DECLARED: "yes" }, url: "http://127.0.0.1:9" };
    return setupGateway({ plugins: [[sidecar, { runtime }]], client: false });
  },
  "a plugin's child": ([command, ...args], cwd) => {
    const plugin = definePlugin({
      name: "own",
      async setup(gateway) {
        const env = { DECLARED: "yes" };
        const child = await spawnChild({ name: "own", command, args, cwd, env });
        gateway.onDispose(() => child.close(0));
      },
    });
    return setupGateway({ plugins: [plugin], client: false });
  },
  "a runtime that is checked": async (command) => {
    const around = { port: 9, grace: 1_000, startup: 1_000, collector: "http://127.0.0.1:9" };
    const child = await startChild(command, { ...around, env: { DECLARED: "yes" } });
    onTestFinished(() => child.destroy());
  },
};

it.each(Object.entries(kinds))("%s sees its own variables and no secret", async (_, start) => {
  for (const [name, value] of Object.entries(CANARIES)) vi.stubEnv(name, value);
  vi.stubEnv("DECLARED", "yes");
  onTestFinished(() => void vi.unstubAllEnvs());
  const cwd = await realpath(makeFolder({ "tell.cjs": TELL }));
  const file = join(cwd, "environment.json");
  await start([process.execPath, join(cwd, "tell.cjs"), file], cwd);
  const text = await until(() => readFile(file, "utf8").catch(() => undefined));
  const env = JSON.parse(text) as Record<string, string>;
  expect(env).toMatchObject({ PATH: process.env["PATH"], DECLARED: "yes" });
  expect(text).not.toContain("canary");
  expect(Object.keys(env).filter((name) => name in CANARIES)).toEqual([]);
});

it("nothing else starts a process", async () => {
  const folders = ["core", "plugins"];
  const listed = await Promise.all(
    folders.map(async (name) =>
      (await readdir(name, { recursive: true }))
        .filter((file) => file.endsWith(".ts"))
        .map((file) => join(name, file)),
    ),
  );
  const starting = await Promise.all(
    listed.flat().map(async (file) => {
      const text = await readFile(file, "utf8");
      return /["'](?:node:)?(?:child_process|cluster)["']/.test(text) ? [file] : [];
    }),
  );
  expect(starting.flat().toSorted()).toEqual([
    // Asks `ps` who has the terminal, where there is no /proc.
    "core/cli/sign-in.ts",
    "core/kit/process/child.ts",
    "core/kit/process/launch.ts",
    "core/kit/process/reaper.ts",
    "core/workers/worker-process.ts",
    "plugins/conformance/runtime/child.ts",
  ]);
});
