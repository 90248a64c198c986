import { pino } from "pino";
import { GatewayError } from "propylon";
import { askOnce } from "propylon/store";
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { GatewayStore } from "../../../core/store/gateway-store.ts";

/** A gateway that answers itself. */
async function start(answer: (body: unknown, signal: AbortSignal) => AsyncIterable<unknown>) {
  const gateway = GatewayStore.inMemory(pino({ level: "silent" }));
  onTestFinished(() => gateway.close());
  const store = gateway.scope("tests");
  await store.answer("sum", answer);
  return (body: unknown, timeout = 5_000) =>
    askOnce(store, store.replica, { topic: "sum", body, schema: z.number(), timeout });
}

it("the first answer counts, and whoever gives more is told to end", async () => {
  let hasEnded = false;
  const ask = await start(async function* (body, signal) {
    signal.addEventListener("abort", () => (hasEnded = true));
    for (let more = 0; !signal.aborted; more++) {
      yield Number(body) + more;
      await new Promise((resolve) => setImmediate(resolve));
    }
  });
  expect(await ask(7)).toBe(7);
  await expect.poll(() => hasEnded).toBe(true);
});

it("no answer, none in time and one of another form are unavailable; a failure is told", async () => {
  const ask = await start(async function* (body, signal) {
    if (body === "fail") throw new GatewayError("not_found", "Nothing is here.");
    if (body === "wait") await new Promise((resolve) => signal.addEventListener("abort", resolve));
    if (body === "word") yield "no number";
  });
  await expect(ask("fail")).rejects.toMatchObject({ code: "not_found" });
  for (const [body, timeout] of [["wait", 50], ["word"], ["none"]] as const)
    await expect(ask(body, timeout)).rejects.toMatchObject({
      code: "unavailable",
      message: "The replica that was asked did not answer.",
    });
});
