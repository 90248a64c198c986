import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { Ledger } from "../../../plugins/gating/ledger.ts";
import { temporaryFolder } from "./kit.ts";

it("a ledger that is closed takes its file no more, whatever it hears then", async () => {
  const path = join(await temporaryFolder(), "state.json");
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const log = { warn() {} } as never;
  const ledger = new Ledger({ log, relist() {}, changed() {} });
  const release = await ledger.open(path);
  await release();
  await ledger.close();
  ledger.note("house", { lastError: "gone" });
  expect(vi.getTimerCount()).toBe(0);
  const late = ledger.set([{ server: "house", enabled: false }], "test");
  await expect(late).rejects.toMatchObject({ code: "draining" });
  expect(existsSync(`${path}.lock`)).toBe(false);
});
