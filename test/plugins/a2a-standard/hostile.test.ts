import { createPrincipal } from "../../../core/kit.ts";
import { describe, expect, it } from "vitest";
import type { RequestHandler } from "../../../plugins/a2a/tasks/request-handler.ts";
import { rpc, send, startTck, type RawAnswer } from "./kit.ts";

/** A message that the skill of the kit works on for seconds. */
const LONG = "test-resubscribe-message-id";

/** JSON nested so deeply that whatever walks it runs out of stack. */
function nested(depth: number): string {
  return `${"[".repeat(depth)}${"]".repeat(depth)}`;
}

/** A request whose message has this as its data. */
function withData(data: string): string {
  return `{"message":{"messageId":"m-1","role":"ROLE_USER","parts":[{"text":"hello"},{"data":${data}}]}}`;
}

describe("a hostile body over HTTP+JSON", () => {
  it.each([65, 20_000])(
    "that nests %i levels deep is refused, and the gateway lives on",
    async (depth) => {
      const { url } = await startTck();
      const answer = await send(`${url}/message:send`, { body: withData(nested(depth)) });
      expect(answer).toMatchObject({ status: 400, body: { error: { code: 400 } } });
      expect((await fetch(`${url}/health`)).status).toBe(200);
    },
  );

  it("that is no UTF-8 is refused", async () => {
    const { url } = await startTck();
    const body = Buffer.from(withData('"\u00ff"'), "latin1");
    const headers = { "a2a-version": "1.0", "content-type": "application/json" };
    const response = await fetch(`${url}/message:send`, { method: "POST", headers, body });
    expect(response.status).toBe(400);
  });

  it.each(["contextId", "messageId"])(
    "whose %s is longer than a key should be is refused",
    async (name) => {
      const { url } = await startTck();
      const message = { messageId: "m-1", role: "ROLE_USER", parts: [{ text: "hello" }] };
      const body = { message: { ...message, [name]: "x".repeat(1_025) } };
      const answer = await send(`${url}/message:send`, { body });
      expect(answer).toMatchObject({
        status: 400,
        body: { error: { message: expect.stringContaining("1024") as string } },
      });
    },
  );
});

describe("a list of a message beyond its maximum", () => {
  const message = { messageId: "m-1", role: "ROLE_USER", parts: [{ text: "hello" }] };
  const many = (count: number, item: unknown): unknown[] =>
    Array.from({ length: count }, () => item);
  const REQUESTS = {
    acceptedOutputModes: { message, configuration: { acceptedOutputModes: many(1_001, 1) } },
    extensions: { message: { ...message, extensions: many(1_001, "urn:x") } },
    referenceTaskIds: { message: { ...message, referenceTaskIds: many(1_001, "t") } },
    parts: { message: { ...message, parts: many(10_001, { text: "" }) } },
  };

  it.each(Object.entries(REQUESTS))("S1-1: is refused: %s", async (name, body) => {
    const { url } = await startTck();
    const told = expect.stringMatching(new RegExp(`\\b${name} has more than [\\d,]+ entries`));
    expect(await send(`${url}/message:send`, { body })).toMatchObject({
      status: 400,
      body: { error: { message: told as string } },
    });
    const answer = await rpc(url, "SendMessage", body);
    expect(answer.body).toMatchObject({ error: { message: told as string } });
  });
});

it("S1-1: a page of tasks has at most 4 MiB, and the pages all of them", async () => {
  const { url } = await startTck();
  const ids: string[] = [];
  for (let at = 0; at < 7; at++) {
    const parts = [{ text: "x".repeat(1_800_000) }];
    const message = { messageId: `large-${at}`, role: "ROLE_USER", parts };
    const { body } = await rpc(url, "SendMessage", { message });
    ids.push(body.result!.task.id);
  }
  const found: string[] = [];
  const sizes: number[] = [];
  for (let pageToken = ""; found.length < ids.length;) {
    const { body } = await rpc(url, "ListTasks", { pageToken });
    const page = body.result as unknown as { tasks: { id: string }[]; nextPageToken: string };
    found.push(...page.tasks.map(({ id }) => id));
    sizes.push(JSON.stringify(page).length);
    if (page.nextPageToken === "") break;
    pageToken = page.nextPageToken;
  }
  expect(found).toEqual(ids.toReversed());
  expect(sizes.length).toBeGreaterThan(1);
  expect(Math.max(...sizes)).toBeLessThan(4.1 * 1_048_576);
});

describe("a body that turns out to be too large", () => {
  // Without a length, which the gateway would refuse before it knows for whom the body is.
  const post = async (url: string, body: string): Promise<Response> =>
    fetch(url, {
      method: "POST",
      headers: { "a2a-version": "1.0", "content-type": "application/json" },
      body: new Blob([body]).stream(),
      duplex: "half",
    });
  const message = withData(JSON.stringify("x".repeat(2_000)));
  const config = { limits: { body: "1KiB" } };

  it("is refused in the words of HTTP+JSON", async () => {
    const { url } = await startTck({ config });
    const response = await post(`${url}/message:send`, message);
    expect(response.status).toBe(413);
    expect(response.headers.get("content-type")).toBe("application/a2a+json");
    expect(await response.json()).toMatchObject({ error: { code: 413 } });
  });

  it("is refused in the words of JSON-RPC", async () => {
    const { url } = await startTck({ config });
    const rest = `"id":1,"method":"SendMessage","params":${message}`;
    const response = await post(url, `{"jsonrpc":"2.0",${rest}}`);
    expect(response.status).toBe(413);
    const { error } = (await response.json()) as { error: { message: string } };
    expect(error.message).toBe("The request body is larger than 1024 bytes.");
  });
});

describe("a runtime that takes no work now", () => {
  it.each(["SendMessage", "SendStreamingMessage"])(
    "says so to breakers and retries as well: %s is answered with the status of HTTP and an error of JSON-RPC",
    async (method) => {
      const { url, runtime } = await startTck({ options: { tasks: { maxRunning: 1 } } });
      const sent = (id: string): Promise<RawAnswer> => {
        const message = { messageId: id, role: "ROLE_USER", parts: [{ text: "hello" }] };
        return rpc(url, method, { message, configuration: { returnImmediately: true } });
      };
      const first = await runtime().send(
        { messageId: LONG, role: "user", parts: [{ text: "hello" }] },
        { principal: createPrincipal({ id: "somebody", kind: "user", roles: new Set() }) },
      );
      expect(await sent("m-1")).toMatchObject({
        status: 429,
        body: { id: 1, error: { code: -32603 } },
      });
      await runtime().cancel(
        first.id,
        createPrincipal({ id: "somebody", kind: "user", roles: new Set() }),
      );
      (runtime() as unknown as RequestHandler).drain();
      expect(await sent("m-2")).toMatchObject({
        status: 503,
        body: { id: 1, error: { code: -32603 } },
      });
    },
  );
});
