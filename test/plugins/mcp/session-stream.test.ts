import type { ServerResponse } from "node:http";
import { createHash } from "node:crypto";
import { expect, it, onTestFinished } from "vitest";
import { EndpointContext } from "../../../plugins/mcp/view/context.ts";
import { Session } from "../../../plugins/mcp/session/session.ts";
import { RemoteSessions } from "../../../plugins/mcp/replicas/remote-sessions.ts";
import { serve } from "./kit.ts";
import { Journals } from "../../../plugins/mcp/message/journal.ts";
import { RemoteStream } from "../../../plugins/mcp/replicas/remote-stream.ts";
import { SessionStream, streamPartSchema } from "../../../plugins/mcp/session/session-stream.ts";
import { EventStream, KeepAlive } from "../../../plugins/mcp/message/stream.ts";

/** A stream of a session that another gateway still tells, and a client that reads it. */
function createStream(queue = 64 * 1_048_576) {
  const session = { version: "2025-11-25", restoredAt: 0, resumable: undefined };
  const stream = new SessionStream(new Journals("gateway"), session);
  const res = new RemoteStream(new AbortController().signal);
  const unread: number[] = [];
  const onOverflow = (bytes: number): void => void unread.push(bytes);
  const settings = { pulse: new KeepAlive(), queue, onOverflow };
  const out = new EventStream(res as unknown as ServerResponse, settings);
  const read = async (): Promise<number[]> => {
    out.end();
    let text = "";
    for await (const chunk of res) text += chunk as string;
    return [...text.matchAll(/"step":(\d+)/g)].map(([, step]) => Number(step));
  };
  return { stream, out, res, unread, read };
}

const messageOf = (step: number, size: number): string =>
  JSON.stringify({ step, text: "x".repeat(size) });

it("what is remembered while another gateway tells is bounded, and its client is told of what is missing", async () => {
  const { stream, out, read } = createStream();
  for (let step = 0; step < 100; step++) stream.send(messageOf(step, 100_000));
  expect(stream.begin(out, undefined)).toBe(false);
  const steps = await read();
  expect(steps).toEqual(Array.from({ length: 10 }, (_, at) => 90 + at));
});

it("what fits is told when the other gateway is done, without a gap", async () => {
  const { stream, out, read } = createStream();
  for (let step = 0; step < 20; step++) stream.send(messageOf(step, 1_000));
  expect(stream.begin(out, undefined)).toBe(true);
  expect(await read()).toEqual(Array.from({ length: 20 }, (_, at) => at));
});

it("a client that does not read what another gateway tells is cut off, as one that does not read here", async () => {
  const { stream, out, res, unread } = createStream(1_048_576);
  for (let step = 0; step < 200; step++) {
    stream.show(out, [{ id: `1-_.${step}`, message: messageOf(step, 100_000) }]);
    // Frames of a turn are written at its end.
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(out.open).toBe(false);
  expect(res.destroyed).toBe(true);
  expect(unread).toEqual([expect.any(Number)]);
  expect(unread[0]).toBeLessThan(1_300_000);
});

it("streams that this gateway tells others are bounded, and those refused stay with it", async () => {
  const served = await serve([]);
  onTestFinished(() => served.close());
  const { store } = served.host;
  const context = new EndpointContext("mcp", served.host);
  const all = new Map<string, Session>();
  const sessions = {
    find: (key: string) => all.get(key),
    save: async () => {},
    saveLater: () => {},
  };
  const peers = new RemoteSessions(context, sessions);
  onTestFinished(() => peers.close());
  const topic = `sessions/${createHash("sha256").update("mcp").digest("base64url")}`;
  const left = new AbortController();
  onTestFinished(() => left.abort());
  const ask = (principal: string): Promise<string> => {
    const session = new Session(principal, "2025-11-25", {});
    const stream = new SessionStream(context.journals, session);
    session.stream = stream;
    stream.begin(createStream().out, undefined);
    all.set(session.key, session);
    const question = { session: session.key, principal, stream: {} };
    const parts = store.ask(store.replica, topic, question, left.signal);
    return parts[Symbol.asyncIterator]()
      .next()
      .then(
        () => "told",
        (error: { readonly code: string }) => error.code,
      )
      .then((outcome) => `${outcome} ${stream.open}`);
  };
  const outcomes = await Promise.all(Array.from({ length: 152 }, () => ask("user:ada")));
  expect(outcomes.slice(150)).toEqual(["unavailable true", "unavailable true"]);
});

it("a part of another gateway that would end an event early is refused", () => {
  const id = "0f0e0d0c-0000-4000-8000-000000000000_k-_.1";
  const message = '{"text":"a\u2028b"}';
  expect(streamPartSchema.parse([{ id, message }])).toEqual([{ id, message }]);
  expect(streamPartSchema.parse(null)).toBeNull();
  for (const part of [[{ id: "1\n\ndata: {}", message }], [{ id, message: "{}\n\n" }], {}, [7]])
    expect(streamPartSchema.safeParse(part).success).toBe(false);
});
