import { readFileSync } from "node:fs";
import { describe, expect, it, vi } from "vitest";
import type { ContractLevel } from "../../../plugins/conformance/report.ts";
import { check, commandOf, ORDERS, troubleIn } from "./runtime.ts";

/** What is said of a task that was cut off and reported as completed. */
const CUT =
  /^failed: The task was reported as completed after \d+ ms with another answer, and undisturbed it takes \d+ ms/;

/** Every defect of full.mjs: up to which level to look, and what the kit must find, exactly. */
const DEFECTS: Readonly<
  Record<string, readonly [ContractLevel, Readonly<Record<string, string>>]>
> = {
  "health-body": [1, { R061: 'failed: Expected {"status":"ok"}, got {"status":"up"}.' }],
  "health-type": [1, { R017: "failed: Expected application/json, got text/plain." }],
  "no-skills": [
    1,
    {
      R031: "failed: The card has no skill.",
      R062: expect.stringMatching(/^failed: Not a valid AgentCard: skills: /),
    },
  ],
  "skill-without-tags": [
    1,
    {
      R031: expect.stringContaining("failed: A skill lacks id, name, description or tags"),
      R062: expect.stringContaining("skills.0.tags"),
    },
  ],
  "card-without-version": [
    1,
    {
      R034: "failed: The card lacks version.",
      R062: expect.stringContaining("version"),
    },
  ],
  "no-task": [
    1,
    {
      R063: expect.stringContaining("failed: Not a valid Task: id: "),
      R023: expect.stringContaining("skipped: "),
      R064: expect.stringContaining("skipped: "),
      R065: expect.stringContaining("skipped: "),
      R066: expect.stringContaining("skipped: "),
    },
  ],
  "wrong-id": [1, { R064: expect.stringMatching(/^failed: Expected the taskId conformance-/) }],
  "ignores-message-id": [
    1,
    { R064: expect.stringMatching(/^failed: Expected the messageId conformance-/) },
  ],
  working: [
    1,
    {
      R023: "failed: The state of the answer was working.",
      R065: expect.stringMatching(/^skipped: No task completed, they were working and working/),
    },
  ],
  "no-artifact": [1, { R065: "failed: A completed task had no artifact." }],
  "failed-without-message": [1, { R066: "failed: A failed task had no status.message." }],
  "failed-500": [
    1,
    {
      R026: "failed: A failed task was answered with 500.",
      R066: expect.stringContaining("skipped: "),
    },
  ],
  "bad-json-500": [1, { R027: expect.stringContaining("was answered with 500") }],
  "takes-text": [1, { R028: "failed: The type text/plain was answered with 200." }],
  "ignores-sigterm": [
    2,
    {
      R071: expect.stringContaining("failed: A new task was answered with 200"),
      R068: "failed: It still ran 6 s after SIGTERM, and was killed.",
      R057: expect.stringMatching(/^failed: The task went on for \d+ ms, and the grace period was/),
    },
  ],
  "accepts-late": [
    2,
    { R071: expect.stringContaining("failed: A new task was answered with 200") },
  ],
  "closes-door": [
    2,
    { R071: expect.stringContaining("failed: A new task got no answer while another was") },
  ],
  "drops-work": [
    2,
    {
      R071: expect.stringContaining("skipped: The runtime was gone before a new task"),
      R056: expect.stringContaining("failed: The task in flight got no answer: "),
    },
  ],
  "cut-at-signal": [
    2,
    {
      R071: expect.stringContaining("skipped: The runtime was gone before a new task"),
      R056: expect.stringMatching(CUT),
      R057: expect.stringMatching(CUT),
    },
  ],
  "cut-at-grace": [2, { R057: expect.stringMatching(CUT) }],
  "claims-traces": [
    2,
    {
      R070: expect.stringContaining("failed: The trace id was in no span"),
      R079: "failed: It claims traceContext, and R070 failed; level 2, and R070 failed.",
    },
  ],
  "exit-code": [2, { R068: expect.stringMatching(/^failed: It ended .* with exit code 3, not/) }],
  "never-cancels": [2, { R057: expect.stringContaining("failed: The task went on for ") }],
  "plain-log": [
    2,
    {
      R069: expect.stringContaining("failed: This line is not a JSON object: [info] "),
      R070: expect.stringContaining("failed: The trace id was in no span"),
    },
  ],
  silent: [
    2,
    {
      R069: "failed: Nothing was written to standard output.",
      R070: expect.stringContaining("failed: The trace id was in no span"),
    },
  ],
  "no-trace": [2, { R070: expect.stringContaining("failed: The trace id was in no span") }],
  "stream-unserved": [3, { R073: "failed: Expected text/event-stream, got application/json." }],
  "stream-without-working": [3, { R073: expect.stringContaining("Expected the state working") }],
  "stream-without-artifact": [3, { R073: "failed: There was no TaskArtifactUpdateEvent." }],
  "streaming-untold": [3, { R074: 'failed: capabilities was {"streaming":false}.' }],
  forgets: [
    3,
    {
      R076: expect.stringMatching(/^failed: Told to remember zq/),
      R075: expect.stringContaining("skipped: No metadata told of a compaction"),
    },
  ],
  "one-context": [3, { R076: "failed: The word of one context was known in another." }],
  "compacts-silently": [
    3,
    {
      R075: expect.stringContaining("skipped: No metadata told of a compaction within 4 messages"),
    },
  ],
};

// They wait most of the time.
vi.setConfig({ maxConcurrency: 10 });

describe("a whole runtime", () => {
  it("R072, R073, R074, R075, R076: reaches level 3 without a defect", async () => {
    const report = await check({ command: commandOf("full"), level: 3, probes: ORDERS });
    expect(troubleIn(report)).toEqual({});
    expect(report.levels).toEqual({ asked: 3, reached: 3 });
  });

  it.concurrent.each(Object.entries(DEFECTS))(
    "R060-R076: with the defect %s is told exactly that",
    async (defect, [level, trouble]) => {
      const command = commandOf("full", defect);
      const report = await check({ command, level, probes: ORDERS });
      expect(troubleIn(report)).toEqual(trouble);
      expect(report.levels!.reached).toBe(level - 1);
    },
    60_000,
  );

  it("knows no defect that is not tested", () => {
    const sources = ["full", "speech", "work"].map((name) =>
      readFileSync(new URL(`../../fixtures/reference/${name}.mjs`, import.meta.url), "utf8"),
    );
    const known = new Set(
      [...sources.join("").matchAll(/has\("([a-z0-9-]+)"\)/g)].map(([, name]) => name),
    );
    expect(known).toEqual(new Set(Object.keys(DEFECTS)));
  });
});

describe("the reference server", () => {
  it("R001, R004, R082: is smaller than 120 lines, without any package, and reaches level 1", async () => {
    const command = commandOf("reference");
    const source = readFileSync(command[1]!, "utf8");
    expect(source.split("\n").length).toBeLessThan(120);
    expect([...source.matchAll(/from "([^"]+)"/g)].map(([, name]) => name)).toEqual(
      expect.not.arrayContaining([expect.not.stringMatching(/^node:/)]),
    );
    const report = await check({ command });
    expect(troubleIn(report)).toEqual({});
    expect(report.levels).toEqual({ asked: 1, reached: 1 });
  });

  it("R067: does not reach level 2, and what could not be seen does not count as passed", async () => {
    const probes = { ...ORDERS, failing: undefined };
    const report = await check({ command: commandOf("reference"), level: 2, probes });
    expect(report.levels).toEqual({ asked: 2, reached: 1 });
    expect(troubleIn(report)).toEqual({
      R056: expect.stringContaining("skipped: No task was in flight when SIGTERM was sent."),
      R057: expect.stringContaining("skipped: No task was in flight when SIGTERM was sent."),
      R068: expect.stringContaining("with SIGTERM, not with 0"),
      R069: "failed: Nothing was written to standard output.",
      R070: expect.stringContaining("failed: The trace id was in no span"),
      R071: expect.stringContaining("skipped: No task was in flight when SIGTERM was sent."),
    });
  });
});

it("tells that a runtime cannot be reached: nobody there, a command that ends, one that never listens", async () => {
  await expect(check({ url: "http://user:pass@127.0.0.1:9" })).rejects.toThrow(
    /^The runtime at http:\/\/127\.0\.0\.1:9\/ cannot be reached: connect ECONNREFUSED/,
  );
  await expect(check({ command: [process.execPath, "-e", "0"] })).rejects.toThrow(
    /cannot be reached: its process ended on its own with code 0\.$/,
  );
  const idle = [process.execPath, "-e", "setInterval(() => {}, 1000)"];
  await expect(check({ command: idle, startup: 300 })).rejects.toMatchObject({
    code: "upstream_error",
    hint: expect.stringContaining("--startup-timeout"),
  });
  await expect(check({ command: ["no-such-program-here"] })).rejects.toMatchObject({
    code: "invalid",
  });
});
