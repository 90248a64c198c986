import type { GatewayError } from "propylon";
import { STATES } from "../../../plugins/a2a/contract/index.ts";
import { type JobsReplica, MAX_EACH, testJobs } from "../../fixtures/jobs.ts";
import { type Deferred, deferred } from "../../kit/deferred.ts";
import { makeFolder } from "../../kit/folder.ts";
import { until } from "../../kit/until.ts";
import { say, startRuntime } from "./kit.ts";

/** Works until the test says so. */
const SKILL = `
export default {
  run: ({ text, signal }) => new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
    globalThis.jobGate(text).then(resolve);
  }),
};
`;

const gates = new Map<string, Deferred<string>>();
/** Texts whose work has begun. */
const begun = new Set<string>();
const gateOf = (text: string) => {
  const known = gates.get(text) ?? deferred<string>();
  gates.set(text, known);
  return known;
};
Object.assign(globalThis, {
  jobGate: (text: string) => {
    begun.add(text);
    return gateOf(text).promise;
  },
});

testJobs("tasks of a2a", async (kept, { bounded = false } = {}): Promise<JobsReplica> => {
  const limits = { maxRunning: 2 * MAX_EACH, maxShare: 0.5 };
  const { runtime } = await startRuntime({
    cwd: makeFolder({ "skill.mjs": SKILL }),
    skills: [{ id: "skill", function: "./skill.mjs" }],
    options: bounded ? { tasks: limits } : {},
    plugins: [kept.plugin],
    config: { store: "kept" },
  });
  const texts = new Map<string, string>();
  return {
    async begin(principal) {
      const text = `work ${gates.size + texts.size + Math.random()}`;
      const { id } = await runtime().send(say(text), { principal });
      texts.set(id, text);
      await until(() => begun.has(text));
      return id;
    },
    finish: (id) => gateOf(texts.get(id)!).resolve("done"),
    state: (id, who) =>
      runtime()
        .look(id, who)
        .then(
          ({ status }) => STATES[status.state].mcp,
          (error: GatewayError) => {
            if (error.code === "not_found") return undefined;
            throw error;
          },
        ),
    cancel: (id, who) => runtime().cancel(id, who),
  };
});
