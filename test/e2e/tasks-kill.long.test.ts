import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { until } from "../kit/until.ts";
import { modernMeta, postModern } from "../plugins/mcp/kit.ts";
import { KNOWS } from "../plugins/tasks/support.ts";
import { TaskServer } from "../plugins/tasks/task-server.ts";
import { GatewayProcess, usePlace } from "./gateway-process.ts";
import { PATIENCE } from "../fixtures/ci.ts";

const SERVER = fileURLToPath(new URL("../fixtures/process/scripted-server.mjs", import.meta.url));
/** `npm run campaign -- tasks-kill` has more. */
const KILLS = Number(process.env["TASK_KILLS"] ?? 2);
/** Tasks of each kind in each life. */
const COUNT = 5;

type Json = Record<string, unknown>;

const place = usePlace();

/** A client that knows tasks. */
function clientOf(url: string) {
  let id = 0;
  const send = async (method: string, params: Json): Promise<Json> => {
    const name = params["taskId"];
    const response = await postModern(
      new URL(`${url}/mcp`),
      ++id,
      method,
      { ...params, _meta: modernMeta(KNOWS) },
      typeof name === "string" ? { "mcp-name": name } : {},
    );
    const { result, error } = (await response.json()) as { result?: Json; error?: unknown };
    if (!result) throw new Error(JSON.stringify(error));
    return result;
  };
  const begin = async (tool: string, args: Json = {}): Promise<string> => {
    const { taskId } = await send("tools/call", { name: tool, arguments: args });
    expect(taskId).toEqual(expect.any(String));
    return String(taskId);
  };
  const show = (taskId: string): Promise<Json> => send("tasks/get", { taskId });
  return { send, begin, show };
}

it(
  `each task is there behind ${KILLS} kill -9, ended with a reason or going on at its server`,
  { timeout: PATIENCE * (60_000 + KILLS * 20_000) },
  async () => {
    const far = new TaskServer();
    const url = await far.start();
    const gateway = await GatewayProcess.create(place, (port) => ({
      store: "sqlite:./data/gateway.db",
      listeners: { main: { port } },
      servers: { child: { command: process.execPath, args: [SERVER] }, far: { url } },
      // Those of the other server are told of when the server has begun them, and so outlive a kill.
      plugins: {
        tasks: {
          after: 0,
          tools: { "far.*": { after: "1h" } },
          // One client has them all. Past this bound a call is no task, and "hang" is held for as long as calls may run.
          maxTasksEach: KILLS * 3 * COUNT,
        },
      },
    }));
    const { send, begin, show } = clientOf(gateway.url);
    const hasTools = async (): Promise<boolean> => {
      const { tools } = await send("tools/list", {}).catch(() => ({ tools: [] }));
      const names = (tools as Json[]).map(({ name }) => name);
      return names.includes("long") && names.includes("echo");
    };
    const each = <T>(make: () => Promise<T>): Promise<T[]> =>
      Promise.all(Array.from({ length: COUNT }, make));
    const ended = new Map<string, Json>();
    await gateway.begin();
    for (let kill = 0; kill < KILLS; kill++) {
      await until(hasTools, 30_000);
      const done = await each(() => begin("echo", { text: `life ${kill}` }));
      for (const id of done)
        await until(async () => (await show(id))["status"] === "completed", 30_000);
      for (const id of done) ended.set(id, await show(id));
      const [cut, ongoing] = await Promise.all([
        each(() => begin("hang")),
        each(() => begin("long")),
      ]);
      await gateway.kill();
      await gateway.begin();
      for (const [id, told] of ended) expect(await show(id)).toEqual(told);
      for (const id of cut) {
        const lost = await show(id);
        expect(lost).toMatchObject({
          status: "failed",
          error: {
            message: expect.stringContaining("restarted while the task was running") as string,
            data: { code: "unavailable" },
          },
        });
        ended.set(id, lost);
      }
      for (const id of ongoing) expect(await show(id)).toMatchObject({ status: "working" });
      const result = { content: [{ type: "text", text: `life ${kill}` }] };
      for (const id of far.tasks.keys()) far.tell(id, { status: "completed", result });
      for (const id of ongoing) {
        await until(async () => (await show(id))["status"] === "completed", 30_000);
        const last = await show(id);
        expect(last).toMatchObject({ result });
        ended.set(id, last);
      }
    }
    // Nothing was called twice.
    expect(far.of("tools/call")).toHaveLength(KILLS * COUNT);
  },
);
