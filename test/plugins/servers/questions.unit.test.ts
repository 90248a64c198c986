import type { Json, Peer } from "propylon";
import { expect, it } from "vitest";
import { clientError } from "../../../plugins/mcp/call/asks.ts";
import { type Exchange, Pending } from "../../../plugins/servers/wire/exchange.ts";
import { Owners, Questions } from "../../../plugins/servers/connection/questions.ts";

function setUp(...asks: ((method: string) => Promise<Json>)[]) {
  const pending = new Pending<Exchange>();
  for (const [index, ask] of asks.entries())
    pending.add({ id: `id${index}`, call: { peer: { key: `client ${index}`, ask } } } as never);
  const exchanges = [...pending.values()];
  const replies: Json[] = [];
  const refused = { count: 0 };
  const server = { hears: false };
  let replied = (): void => {};
  const questions = new Questions({
    pending,
    owners: new Owners(pending, {
      canAsk: () => true,
      ping: (done) => queueMicrotask(() => done(server.hears)),
    }),
    unclear: () => void refused.count++,
    reply: (message) => {
      replies.push(JSON.parse(message) as Json);
      replied();
    },
  });
  const nextReply = (): Promise<void> => new Promise((resolve) => (replied = resolve));
  /** A call of the client with this number is over. */
  const end = (index: number, answered: boolean): void => {
    const exchange = exchanges.find(({ id }) => id === `id${index}`)!;
    pending.delete(exchange);
    questions.release(Object.assign(exchange, { answered }));
  };
  return { questions, replies, nextReply, refused, end, server };
}

it("a client's refusal reaches the server with the client's own code and words", async () => {
  const { questions, replies, nextReply } = setUp(() =>
    Promise.reject(clientError({ code: -1, message: "User rejected", data: { why: "no" } })),
  );
  const reply = nextReply();
  questions.ask(7, "elicitation/create", {}, undefined);
  await reply;
  expect(replies).toEqual([
    { jsonrpc: "2.0", id: 7, error: { code: -1, message: "User rejected", data: { why: "no" } } },
  ]);
});

it("T5: questions of unclear owner are held in a bounded number, the rest is refused at once", () => {
  const never = (): Promise<Json> => new Promise(() => {});
  const { questions, replies, refused } = setUp(never, never);
  for (let id = 0; id < 1_000; id++) questions.ask(id, "roots/list", undefined, undefined);
  expect(replies.length).toBe(900);
  expect(refused.count).toBe(900);
  expect(replies[0]).toMatchObject({ id: 100, error: { code: -32603 } });
  questions.close();
});

it("T5: the end of a visit is told to nobody when two clients were given one id for it", () => {
  const { questions } = setUp();
  const peers = ["anna", "bert"].map((key) => ({ key }) as Peer);
  for (const peer of peers) questions.visits({ elicitationId: "1" }, peer);
  questions.visits({ elicitationId: "2" }, peers[0]!);
  expect(questions.visitor({ elicitationId: "1" })).toBeUndefined();
  expect(questions.visitor({ elicitationId: "2" })).toBe(peers[0]);
});

it("T5: a question behind a call that was given up goes to no other client, until the server answers that call", async () => {
  const asked: string[] = [];
  const { questions, replies, nextReply, end } = setUp(
    () => Promise.reject(new Error("This one is gone.")),
    (method) => Promise.resolve({ asked: asked.push(method) }),
  );
  end(0, false);
  questions.ask(1, "elicitation/create", {}, undefined);
  expect([asked, replies]).toEqual([[], []]);
  const reply = nextReply();
  questions.late("id0");
  await reply;
  expect(replies).toEqual([{ jsonrpc: "2.0", id: 1, result: { asked: 1 } }]);
});

it("T5: with more calls given up than are remembered, no question goes to anyone", () => {
  const many = Array.from({ length: 1_001 }, () => () => Promise.resolve({}));
  const { questions, replies, end } = setUp(...many);
  for (let index = 0; index < 1_000; index++) end(index, false);
  for (let index = 0; index < 1_000; index++) questions.late(`id${index}`);
  questions.ask(1, "elicitation/create", {}, undefined);
  expect(replies).toEqual([]);
  questions.close();
});

it("a server that heard of a call that was given up asks about the others again", async () => {
  const { questions, replies, nextReply, end, server } = setUp(
    () => Promise.reject(new Error("This one is gone.")),
    () => Promise.resolve({ asked: true }),
  );
  server.hears = true;
  end(0, false);
  questions.ask(1, "elicitation/create", {}, undefined);
  expect(replies).toEqual([]);
  questions.ask(2, "elicitation/create", {}, undefined);
  await Promise.resolve();
  const reply = nextReply();
  questions.ask(3, "elicitation/create", {}, undefined);
  await reply;
  expect(replies).toEqual([{ jsonrpc: "2.0", id: 3, result: { asked: true } }]);
  questions.close();
});
