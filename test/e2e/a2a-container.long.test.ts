import { rm } from "node:fs/promises";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { freePort } from "../../core/testing/index.ts";
import { send } from "../plugins/a2a-contract/kit.ts";
import { PATIENCE } from "../fixtures/ci.ts";
import { startRuntimeProcess, writeConfig } from "./a2a-runtime.ts";
import { main, workFolder } from "./build.ts";

let folder: string;

beforeAll(async () => {
  folder = await workFolder();
});

afterAll(() => rm(folder, { recursive: true }));

it(
  "R012, R013, R045, R047, R050: a gateway whose config names only the plugin is what the container says",
  { timeout: PATIENCE * 60_000 },
  async () => {
    const port = await freePort();
    const runtime = await startRuntimeProcess(main, await writeConfig(folder), {
      A2A_PORT: String(port),
      TERMINATION_GRACE_PERIOD: "400ms",
    });
    onTestFinished(() => void runtime.child.kill("SIGKILL"));
    const url = `http://127.0.0.1:${port}`;
    expect(await (await fetch(`${url}/health`)).json()).toEqual({ status: "ok" });
    const card = await fetch(`${url}/.well-known/agent-card.json`);
    expect(await card.json()).toMatchObject({ supportedInterfaces: [{ url: `${url}/` }, { url }] });
    expect(await (await fetch(`${url}/runtime-contract.json`)).json()).toMatchObject({
      server: { port },
    });
    expect((await send(url, "hello")).status.state).toBe("completed");
    runtime.child.kill("SIGTERM");
    expect((await runtime.exit).code).toBe(0);
    const ending = runtime.lines
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .find(({ msg }) => msg === "shutting down");
    expect(ending).toMatchObject({ signal: "SIGTERM", graceMs: 400 });
  },
);

it("R012: without A2A_PORT it listens on 8080", async () => {
  const config = await writeConfig(folder);
  const served = await startRuntimeProcess(main, config, { A2A_PORT: "" }).then(
    async ({ child, url }) => {
      onTestFinished(() => void child.kill("SIGKILL"));
      const health = await (await fetch(`${url}/health`)).text();
      return [url, health, (await send(url, "hello")).status.state].join(" ");
    },
    (error: Error) => error.message,
  );
  // Another program may have that port.
  expect(served).toMatch(
    /^http:\/\/127\.0\.0\.1:8080 \{"status":"ok"\} completed$|port 8080 on 127\.0\.0\.1 is already in use/,
  );
});
