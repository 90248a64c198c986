import { GatewayError, type Principal } from "propylon";
import { digestOf } from "propylon/kit";
import { createKey } from "../../../plugins/keys/key.ts";
import type { JobState } from "../../../plugins/tasks/index.ts";
import { type JobsReplica, MAX_EACH, testJobs } from "../../fixtures/jobs.ts";
import { type Deferred, deferred } from "../../kit/deferred.ts";
import { until } from "../../kit/until.ts";
import { type Reply, start } from "./kit.ts";

const KEYS = new Map(["alice", "bob"].map((id) => [id, createKey("caller")]));
const keys = Object.fromEntries(
  [...KEYS].map(([id, key]) => [id, { role: "caller" as const, hash: `sha256:${digestOf(key)}` }]),
);

type Told = Readonly<Record<string, string>>;

const stateOf = ({ status, stop_reason: reason }: Told): JobState => {
  if (status === "completed") return "completed";
  if (status !== "stopped") return "working";
  return reason === "requested" ? "cancelled" : "failed";
};

testJobs("agents of lifecycle", async (kept, { bounded = false } = {}): Promise<JobsReplica> => {
  const gates = new Map<string, Deferred<Reply>>();
  const gateOf = (id: string) => {
    const known = gates.get(id) ?? deferred<Reply>();
    gates.set(id, known);
    return known;
  };
  // One runs, and the others wait for its place.
  const options = bounded ? { concurrency: 1, maxWaitingEach: MAX_EACH - 1 } : {};
  const { url, agents } = await start(({ id }) => gateOf(id).promise, options, {
    kept,
    client: false,
    config: { auth: { keys } },
  });
  const ask = async (who: Principal, method: string, path = "", body?: object): Promise<Told> => {
    const response = await fetch(`${url}/api/agents${path}`, {
      method,
      headers: { authorization: `Bearer ${KEYS.get(who.id)!}`, "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
    const answer = (await response.json()) as Told & { error?: { code: "internal" } };
    if (!response.ok) throw new GatewayError(answer.error!.code, "Refused.");
    return answer;
  };
  return {
    async begin(who) {
      const { agent_id: id } = await ask(who, "POST", "", { contract: "work", start: true });
      if (!bounded) await until(() => agents.asked.some((asked) => asked.id === id));
      return id!;
    },
    finish: (id) => gateOf(id).resolve({ text: "All done. [CONTRACT COMPLETE]" }),
    state: (id, who) =>
      ask(who, "GET", `/${id}`).then(stateOf, (error: GatewayError) => {
        if (error.code === "not_found") return undefined;
        throw error;
      }),
    cancel: (id, who) => ask(who, "POST", `/${id}/stop`),
  };
});
