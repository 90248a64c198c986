import { expect, it, onTestFinished, vi } from "vitest";
import { PingReader } from "../../../plugins/servers/http/ping-reader.ts";

it("a ping that was given up before it got a connection ends as soon as it has one", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const reader = new PingReader("p1");
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await reader.outcome).toEqual({ status: undefined, isNamed: false });
  const abort = vi.fn<() => void>();
  reader.onRequestStart({ abort } as never);
  expect(abort).toHaveBeenCalledOnce();
});

it("an answer names its ping in its first 64 KiB, in one piece or in several, or not at all", async () => {
  const [named, late] = [new PingReader("p1"), new PingReader("p1")];
  named.onResponseStart(200);
  named.onResponseData(Buffer.from('{"id":"p'));
  named.onResponseData(Buffer.from('1"}'));
  expect(await named.outcome).toEqual({ status: 200, isNamed: true });
  late.onResponseStart(403);
  late.onResponseData(Buffer.alloc(64 * 1024 + 1));
  late.onResponseData(Buffer.from('{"id":"p1"}'));
  expect(await late.outcome).toEqual({ status: 403, isNamed: false });
  for (const reader of [named, late]) reader.onResponseEnd();
});
