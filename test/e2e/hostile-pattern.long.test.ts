import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fakeUpstream } from "propylon/testing";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { mortal } from "../fixtures/process/mortal.mjs";
import { main, workFolder } from "./build.ts";

/** An ordinary slug. It takes 2^33 steps to say no to 33 letters and one more character. */
const SLUG = { type: "string", pattern: "^(?:[a-z0-9]+-?)+$" };
const WORST = `${"a".repeat(33)}!`;
/** Longest wait for an answer of a process that may be stuck for minutes. */
const PATIENCE_MS = 15_000;

let folder: string;

beforeAll(async () => {
  folder = await workFolder();
});

afterAll(() => rm(folder, { recursive: true }));

async function startGateway(url: string): Promise<{ gateway: ChildProcess; base: string }> {
  const file = join(folder, "gateway.json");
  await writeFile(
    file,
    JSON.stringify({
      listeners: { main: { port: 0 } },
      log: { format: "json" },
      servers: { shop: { url } },
      plugins: { openapi: {} },
    }),
  );
  const gateway = spawn(...mortal(process.execPath, [main, "start", file]), {
    stdio: ["ignore", "pipe", "ignore"],
  });
  onTestFinished(() => void gateway.kill("SIGKILL"));
  for await (const line of createInterface({ input: gateway.stdout })) {
    const { msg, endpoints } = JSON.parse(line) as { msg: string; endpoints?: { url: string }[] };
    if (msg !== "gateway ready") continue;
    gateway.stdout.resume();
    return { gateway, base: new URL(endpoints![0]!.url).origin };
  }
  throw new Error("the gateway ended before it was ready");
}

it.each([
  ["pattern", { type: "object", properties: { slug: SLUG } }, { slug: WORST }],
  [
    "patternProperties",
    { type: "object", patternProperties: { [SLUG.pattern]: {} } },
    { [WORST]: 1 },
  ],
  ["propertyNames", { type: "object", propertyNames: SLUG }, { [WORST]: 1 }],
  [
    "format",
    { type: "object", properties: { site: { type: "string", format: "url" } } },
    { site: `http://${"a".repeat(60)}!` },
  ],
])("T23: no %s of a server runs in the event loop", async (_, input, args) => {
  const shop = await fakeUpstream({ find: { input, run: () => "found" } });
  const { gateway, base } = await startGateway(shop.url);
  const answer = await fetch(`${base}/shop/find`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(args),
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  // Its server judges: this one takes it.
  expect(await answer.json()).toMatchObject({ ok: true, result: "found" });
  gateway.kill("SIGTERM");
  expect(await once(gateway, "exit")).toEqual([0, null]);
});
