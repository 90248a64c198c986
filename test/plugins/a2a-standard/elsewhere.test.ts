import { describe, expect, it } from "vitest";
import { ALICE, BOB, folder, say, startRuntime, type TestRuntime } from "../a2a/kit.ts";
import { useServer as startNats } from "../nats/kit.ts";
import { startServer as startPostgres } from "../postgres/kit.ts";
import { until } from "../../fixtures/until.ts";
import { send } from "./kit.ts";

/** Writes a word and stays until it is cancelled; or asks, and says what it was answered. */
const SKILL = `
export default {
  async run({ text, signal, write, ask }) {
    if (text === "stay") {
      write("begun");
      await new Promise((_done, fail) => signal.addEventListener("abort", () => fail(signal.reason)));
    }
    return text === "ask" ? ask("What?") : "heard " + text;
  },
};
`;

/** Two gateways of one store. */
async function start(store: string): Promise<[TestRuntime, TestRuntime]> {
  const cwd = await folder({ "skill.mjs": SKILL });
  const skills = [{ id: "skill", function: "./skill.mjs" }];
  const one = (): Promise<TestRuntime> => startRuntime({ cwd, skills, config: { store } });
  return [await one(), await one()];
}

const begun = { artifacts: [{ parts: [{ text: "begun" }] }], status: { state: "working" } };

describe.each([
  ["PostgreSQL", startPostgres],
  ["NATS", startNats],
] as const)("gateways of one %s", { timeout: 60_000 }, (_name, open) => {
  it("a task at work at one of them is shown and cancelled at another, for its owner alone", async () => {
    const [here, there] = await start((await open()).url);
    const { id } = await here.runtime().send(say("stay"), { principal: ALICE });
    await until(() => here.runtime().get(id, ALICE).task.artifacts?.length === 1);
    expect(await there.runtime().look(id, ALICE)).toMatchObject({ id, ...begun });
    const refused = { code: "not_found" };
    await expect(there.runtime().look(id, BOB)).rejects.toMatchObject(refused);
    await expect(there.runtime().cancel(id, BOB)).rejects.toMatchObject(refused);
    expect(await there.runtime().cancel(id, ALICE)).toMatchObject({
      status: { state: "canceled" },
    });
    for (const { runtime } of [here, there]) {
      expect(await runtime().look(id, ALICE)).toMatchObject({ status: { state: "canceled" } });
      await expect(runtime().cancel(id, ALICE)).rejects.toMatchObject({ code: "exists" });
    }
  });

  it("one that waits at one of them is answered at another, and the first shows how it went on", async () => {
    const [here, there] = await start((await open()).url);
    const post = ({ url }: TestRuntime, text: string, more: object = {}) => {
      const message = { messageId: `m-${text}`, role: "ROLE_USER", parts: [{ text }], ...more };
      return send(`${url}/message:send`, { body: { message } });
    };
    const get = ({ url }: TestRuntime, id: string) => send(`${url}/tasks/${id}`, { method: "GET" });
    const { body } = await post(here, "ask");
    const { id: taskId, contextId } = (body as unknown as { task: Record<string, string> }).task;
    const waits = { status: { state: "TASK_STATE_INPUT_REQUIRED" } };
    expect((await get(there, taskId!)).body).toMatchObject(waits);
    expect((await get(here, taskId!)).body).toMatchObject(waits);
    const ended = { id: taskId, contextId, status: { state: "TASK_STATE_COMPLETED" } };
    expect((await post(there, "more", { taskId })).body).toMatchObject({ task: ended });
    for (const runtime of [here, there])
      expect((await get(runtime, taskId!)).body).toMatchObject({
        ...ended,
        artifacts: [{ parts: [{ text: "heard more" }] }],
      });
    expect((await get(there, "nobody's")).status).toBe(404);
  });

  it("a message to a task that is at work at another one is refused as it is there", async () => {
    const [here, there] = await start((await open()).url);
    const { id } = await here.runtime().send(say("stay"), { principal: ALICE });
    for (const { runtime } of [here, there])
      await expect(
        runtime().send(say("more", { taskId: id }), { principal: ALICE }),
      ).rejects.toMatchObject({ code: "exists" });
    await here.runtime().cancel(id, ALICE);
  });
});
