import type { Call, CallInput } from "propylon";
import { amendCall, Cancellation } from "propylon/kit";
import { expect, it } from "vitest";
import { completeCall } from "../../../core/server/tool-call.ts";

const make = (input: Partial<CallInput> = {}): Call =>
  completeCall({ server: "s", name: "n", args: { a: 1 }, ...input }, new Map());

it("a copy has every member of the call but those given, and neither makes a real signal", () => {
  const call = make({ meta: { x: 1 }, timeout: 7, progress: () => {} });
  const copy = amendCall(call, { args: { b: 2 }, meta: undefined });
  expect(call.cancellation!.isPristine).toBe(true);
  expect(Object.keys(copy).toSorted()).toEqual(Object.keys(call).toSorted());
  expect({ ...copy }).toEqual({ ...call, args: { b: 2 }, meta: undefined });
  expect(copy.signal).toBe(call.signal);
});

it("a copy is aborted with its call, whoever brought the signal", () => {
  const lazy = make();
  const copy = amendCall(amendCall(lazy, { name: "m" }), { name: "o" });
  lazy.cancellation!.abort("gone");
  expect(copy.signal.reason).toBe("gone");
  const { signal } = new AbortController();
  expect(amendCall(make({ signal }), { name: "m" }).signal).toBe(signal);
});

it("a signal or a cancellation that is given takes the place of the call's own", () => {
  const { signal } = new AbortController();
  expect(amendCall(make(), { signal }).signal).toBe(signal);
  const cancellation = new Cancellation();
  const copy = amendCall(make(), { cancellation });
  cancellation.abort("mine");
  expect(copy.signal.reason).toBe("mine");
});
