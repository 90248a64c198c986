import { pino } from "pino";
import { expect, it } from "vitest";
import { GatewayStore } from "../../../core/store/gateway-store.ts";
import { Conversations } from "../../../plugins/a2a/tasks/conversations.ts";

const LIMITS = { maxSessions: 10, maxTotalSize: 2_000, ttl: 60_000 };

it("conversations have room together: the longest unused goes first, one in use stays", async () => {
  const conversations = new Conversations(
    GatewayStore.inMemory(pino({ level: "silent" })).scope("a2a"),
  );
  const { signal } = new AbortController();
  const say = async (key: string, text: string): Promise<number> => {
    let before = 0;
    await conversations.use(key, LIMITS, signal, ({ messages }) => {
      before = messages.length;
      const parts = [{ type: "text" as const, text }];
      return Promise.resolve({ messages: [...messages, { role: "user", parts }] });
    });
    return before;
  };
  await say("first", "x".repeat(900));
  await say("second", "x".repeat(900));
  expect(await say("first", "x")).toBe(1);
  await say("third", "x".repeat(900));
  expect(conversations.size).toBe(2);
  expect(await say("first", "x")).toBe(2);
  expect(await say("second", "x")).toBe(0);
});
