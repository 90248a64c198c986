import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { startModel } from "../../fixtures/model/model.mjs";
import type { ModelServerRequest, ScriptedReply } from "../../fixtures/model/types.ts";
import { makeFolder } from "../../kit/folder.ts";
import { check, ORDERS, troubleIn } from "./runtime.ts";

const MAIN = fileURLToPath(new URL("../../../dist/plugins/cli.js", import.meta.url));

/** A model that does what full.mjs does, and knows of the past only what the runtime shows it. */
function follow({ text, body }: ModelServerRequest): ScriptedReply {
  const [, order, argument = ""] = /^(\w+)(?: (\S+))?/.exec(text) ?? [];
  if (order === "sleep") return { text: "Slept.", delay: Number(argument) };
  if (order !== "recall") return { text: `Done: ${text.slice(0, 20)}` };
  const word = /remember (zq\w+)/.exec(JSON.stringify(body["messages"]))?.[1];
  return { text: word ?? "I was told nothing." };
}

/** The config of a deployed agent, as docs/plugins/a2a.md has it, with a model that costs nothing. */
function configOf(model: string): object {
  return {
    agents: { worker: { instructions: "You do what you are told." } },
    plugins: {
      agents: {
        model: "local/scripted",
        providers: { local: { type: "openai-compatible", baseUrl: model } },
      },
      a2a: {
        name: "worker",
        description: "Does what it is told.",
        skills: [
          { id: "work", description: "Does what it is told.", tags: ["work"], agent: "worker" },
        ],
        sessions: { compaction: { maxTokens: 1_000 } },
      },
      telemetry: {},
    },
    log: { format: "json" },
  };
}

it("R012, R013, R014, R032, R072: an agent of ours, started by the command line, reaches level 3", async () => {
  const model = await startModel({ script: follow });
  onTestFinished(() => model.close());
  const folder = makeFolder();
  const config = join(folder, "gateway.json");
  writeFileSync(config, JSON.stringify(configOf(model.url)));
  const report = await check({
    command: [process.execPath, MAIN, "start", config],
    level: 3,
    probes: { ...ORDERS, failing: undefined },
    filling: { rounds: 8, characters: 2_000 },
    grace: 6_000,
    traceWait: 8_000,
  });
  expect(troubleIn(report)).toEqual({});
  expect(report.levels).toEqual({ asked: 3, reached: 3 });
  expect(report.results.map(({ id }) => id)).toContain("R078");
});
