import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { StateFile } from "../../../plugins/gating/flags/file.ts";
import { FlagStore } from "../../../plugins/gating/flags/flag-store.ts";
import { makeFolder } from "../../kit/folder.ts";

it("a store that is closed takes its file no more, whatever it hears then", async () => {
  const path = join(makeFolder(), "state.json");
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const log = { warn() {} } as never;
  const store = new FlagStore({ log, relist() {}, changed() {} });
  const release = await store.open(new StateFile(path));
  await release();
  await store.close();
  store.note("house", { lastError: "gone" });
  expect(vi.getTimerCount()).toBe(0);
  const late = store.set([{ server: "house", enabled: false }], "test");
  await expect(late).rejects.toMatchObject({ code: "draining" });
  expect(existsSync(`${path}.lock`)).toBe(false);
});
