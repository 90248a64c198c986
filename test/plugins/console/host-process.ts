import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { startModel } from "../../fixtures/model/model.mjs";
import type { ModelServerOptions } from "../../fixtures/model/types.ts";
import { mortal } from "../../fixtures/process/mortal.mjs";
import { makeFolder } from "../../kit/folder.ts";
import { until } from "../../kit/until.ts";

const CLI = fileURLToPath(new URL("../../../dist/plugins/cli.js", import.meta.url));

/** A gateway with agents that is a process of its own. */
export interface HostProcess {
  readonly url: string;
  /** Ends it as `kill -9` does, and resolves when it is gone. */
  readonly kill: () => Promise<void>;
  /** Starts it on the same port; resolves when it serves its registry. */
  readonly start: () => Promise<void>;
}

/** What agents and servers the process has. */
export interface HostSetup {
  readonly port: number;
  readonly agents: object;
  readonly servers: object;
  readonly script: NonNullable<ModelServerOptions["script"]>;
}

/** Starts one that ends with the running test. */
export async function startHostProcess(setup: HostSetup): Promise<HostProcess> {
  const model = await startModel({ script: setup.script });
  onTestFinished(() => model.close());
  const file = join(makeFolder(), "gateway.json");
  writeFileSync(file, JSON.stringify(configOf(setup, model.url)));
  const url = `http://127.0.0.1:${setup.port}`;
  let child: ChildProcess | undefined;
  const kill = async (): Promise<void> => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
  };
  const start = async (): Promise<void> => {
    child = spawn(...mortal(process.execPath, [CLI, "start", file]), { stdio: "ignore" });
    await until(() => isUp(`${url}/.well-known/mcp/server.json`), 30_000);
  };
  onTestFinished(kill);
  await start();
  return { url, kill, start };
}

function configOf({ port, agents, servers }: HostSetup, model: string): object {
  return {
    listeners: { main: { host: "127.0.0.1", port } },
    servers,
    agents,
    plugins: {
      agents: {
        providers: { scripted: { type: "openai-compatible", baseUrl: model } },
        model: "scripted/scripted",
      },
      registry: {},
      health: { interval: "200ms" },
      progress: {},
    },
  };
}

function isUp(url: string): Promise<boolean> {
  return fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );
}
