import { expect, it } from "vitest";
import { rpc, say, startTck, type RawBody } from "./kit.ts";

/** A message that has its task ask, with webhooks named along with it. */
function asking(config: object, taskId?: string): object {
  return {
    message: {
      messageId: say("tck-input-required").messageId,
      role: "ROLE_USER",
      parts: [{ text: "hi" }],
      ...(taskId !== undefined && { taskId }),
    },
    configuration: { taskPushNotificationConfig: config },
  };
}

async function start() {
  const { url } = await startTck({ options: { push: { enabled: true } } });
  const send = async (params: object): Promise<RawBody> =>
    (await rpc(url, "SendMessage", params)).body;
  const webhooks = async (taskId: string): Promise<readonly { url: string }[]> => {
    const { body } = await rpc(url, "ListTaskPushNotificationConfigs", { taskId });
    return (body.result as unknown as { configs: readonly { url: string }[] }).configs;
  };
  const { id } = (await send(asking({ url: "https://example.com/0" }))).result!.task;
  return { send, webhooks, id };
}

it("a webhook that a client names with every message of a task is one webhook", async () => {
  const { send, webhooks, id } = await start();
  for (let count = 0; count < 17; count++)
    expect((await send(asking({ url: "https://example.com/0" }, id))).error).toBeUndefined();
  expect(await webhooks(id)).toHaveLength(1);
});

it("a message whose webhook has no room is not taken", async () => {
  const { send, webhooks, id } = await start();
  for (let count = 1; count < 16; count++)
    await send(asking({ url: `https://example.com/${count}` }, id));
  const refused = await send(asking({ url: "https://example.com/16" }, id));
  expect(refused.error?.message).toContain("16 webhooks at most");
  expect(await webhooks(id)).toHaveLength(16);
  const last = await send(asking({ url: "https://example.com/0" }, id));
  const { history } = last.result!.task as unknown as { history: readonly { role: string }[] };
  // The messages before, and the last one; not the one that was refused.
  expect(history.filter(({ role }) => role === "ROLE_USER")).toHaveLength(17);
});
