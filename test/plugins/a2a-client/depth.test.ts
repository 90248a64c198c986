import { describe, expect, it } from "vitest";
import { say, startBridge, textOf } from "./kit.ts";
import { reply, serve, startRuntime, tell } from "./runtime.ts";

const BINDINGS = ["JSONRPC", "HTTP+JSON"] as const;
type Binding = (typeof BINDINGS)[number];

const nested = (depth: number): string => `${"[".repeat(depth)}1${"]".repeat(depth)}`;

/** JSON text of a finished task whose only artifact holds this JSON. */
const taskOf = (data: string): string =>
  `{
  "task": {
    "id": "t", "contextId": "c", "status": { "state": "TASK_STATE_COMPLETED" },
    "artifacts": [{ "artifactId": "a", "parts": [{ "data": ${data} }] }]
  }
}`.replaceAll(/\n\s*/g, " ");

/** An agent that answers every message with the same text. */
async function startDeep(binding: Binding, streaming: boolean, data: string) {
  const url = await serve((req, res) => {
    if (req.method === "GET")
      return void res.writeHead(200, { "content-type": "application/json" }).end(
        JSON.stringify({
          name: "deep",
          description: "",
          version: "1",
          skills: [{ id: "talk", name: "Talk", description: "Talks.", tags: [] }],
          capabilities: { streaming },
          supportedInterfaces: [{ url: "/a2a", protocolBinding: binding, protocolVersion: "1.0" }],
        }),
      );
    let body = "";
    req.on("data", (chunk: Buffer) => (body += chunk.toString()));
    req.on("end", () => {
      const isRpc = binding === "JSONRPC";
      const id = isRpc ? (JSON.parse(body) as { id: unknown }).id : undefined;
      const result = taskOf(data);
      const answer = isRpc
        ? `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`
        : result;
      const type = streaming ? "text/event-stream" : "application/json";
      res.writeHead(200, { "content-type": type });
      res.end(streaming ? `data: ${answer}\n\n` : answer);
    });
  });
  return startBridge({ url });
}

describe.each(BINDINGS)("an agent of A2A 1.0 over %s", (binding) => {
  describe.each([true, false])("that streams: %s", (streaming) => {
    it.each([200, 5_000, 200_000])(
      "whose answer nests %i levels deep fails its call with a sentence",
      async (depth) => {
        const { gateway } = await startDeep(binding, streaming, nested(depth));
        await expect(say(gateway, "hello")).rejects.toMatchObject({
          code: "upstream_error",
          message: expect.stringContaining("nests deeper than 64 levels") as string,
        });
      },
    );

    it("is understood below that", async () => {
      const { gateway } = await startDeep(binding, streaming, nested(40));
      expect(textOf(await say(gateway, "hello"))).toContain(nested(40));
    });
  });
});

it.each([true, false])(
  "a runtime of contract v1 whose answer is deep fails its call with a sentence; streams: %s",
  async (streaming) => {
    const deep = JSON.parse(nested(2_000)) as unknown;
    const runtime = await startRuntime((message, res) => {
      const task = {
        id: message.messageId,
        status: { state: "completed" },
        artifacts: [{ parts: [{ data: { deep } }] }],
      };
      if (streaming) tell(res, { task });
      else reply(res, 200, task);
    }, streaming);
    const { gateway } = await startBridge({ url: runtime.url });
    await expect(say(gateway, "hello")).rejects.toMatchObject({
      code: "upstream_error",
      message: expect.stringContaining("nests deeper than 64 levels") as string,
    });
  },
);
