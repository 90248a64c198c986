import { STATES } from "propylon/contract";
import { atLevel, demand, shown, Unobservable } from "../check.ts";
import { readTask, taskIn } from "./answer.ts";
import { demandJson, memberOf } from "./exchange.ts";
import type { Scene } from "./scene.ts";

/** How every runtime answers tasks, and what is not one. */
export const TASKS = atLevel<Scene>(1, [
  {
    id: "R063",
    title: "POST / takes a SendMessageRequest and answers a valid Task",
    async run({ named, unnamed }) {
      readTask((await named()).reply);
      readTask((await unnamed()).reply);
    },
  },
  {
    id: "R016",
    title: "POST / answers application/json",
    run: async ({ named }) => demandJson((await named()).reply),
  },
  {
    id: "R023",
    title: "a task is answered as completed, failed or input-required",
    async run({ named, unnamed }) {
      for (const { reply } of [await named(), await unnamed()]) {
        const { state } = taskIn(reply).status;
        demand(STATES[state].answer === state, `The state of the answer was ${state}.`);
      }
    },
  },
  {
    id: "R064",
    title: "the id of a task is taskId, or else messageId",
    async run({ named, unnamed }) {
      for (const { reply, taskId, messageId } of [await named(), await unnamed()]) {
        const { id } = taskIn(reply);
        const wanted = taskId ?? messageId;
        const where = taskId === undefined ? "messageId" : "taskId";
        demand(id === wanted, `Expected the ${where} ${wanted}, got ${shown(id)}.`);
      }
    },
  },
  {
    id: "R065",
    title: "a completed task has an artifact",
    async run({ named, unnamed }) {
      const tasks = [await named(), await unnamed()].map(({ reply }) => taskIn(reply));
      const completed = tasks.filter(({ status }) => status.state === "completed");
      if (completed.length === 0)
        throw new Unobservable(
          `No task completed, they were ${tasks.map(({ status }) => status.state).join(" and ")}. Give a message that completes with --message.`,
        );
      for (const { artifacts = [] } of completed)
        demand(artifacts.length > 0, "A completed task had no artifact.");
    },
  },
  {
    id: "R066",
    title: "a failed task has status.message",
    async run({ failing }) {
      const reply = (await failing()).find(({ text }) => stateIn(text) === "failed");
      if (!reply)
        throw new Unobservable("No task failed. Give a message that fails with --failing.");
      const { message } = taskIn(reply).status;
      demand(message, "A failed task had no status.message.");
      demand(message.parts.length > 0, "The status.message of a failed task was empty.");
    },
  },
  {
    id: "R026",
    title: "the code of a task is 200, even of one that failed",
    async run({ named, failing }) {
      const { status } = (await named()).reply;
      demand(status === 200, `A task was answered with ${status}.`);
      for (const reply of await failing())
        demand(
          reply.status === 200 || stateIn(reply.text) === undefined,
          `A failed task was answered with ${reply.status}.`,
        );
    },
  },
  {
    id: "R027",
    title: "a body of invalid JSON is answered with 400",
    async run({ subject }) {
      for (const body of ['{"message":', "not json", ""]) {
        const { status } = await subject.post(body);
        demand(
          status === 400,
          `The body ${shown(JSON.stringify(body))} was answered with ${status}.`,
        );
      }
    },
  },
  {
    id: "R028",
    title: "a body that is not application/json is answered with 415",
    async run({ subject, options }) {
      for (const type of ["text/plain", "application/xml"]) {
        const { status } = await subject.send(
          { text: options.probes.message },
          { "content-type": type },
        );
        demand(status === 415, `The type ${type} was answered with ${status}.`);
      }
    },
  },
]);

function stateIn(text: string): unknown {
  const status = memberOf(text, "status");
  return memberOf(JSON.stringify(status ?? null), "state");
}
