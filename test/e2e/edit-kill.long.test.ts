import { fork } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { loadConfig } from "../../core/file/load.ts";
import { sweepTemporary } from "../../core/kit/replace-file.ts";
import { main, workFolder } from "./build.ts";
import { PATIENCE } from "../fixtures/ci.ts";

const LOOP = fileURLToPath(new URL("edit-loop.mjs", import.meta.url));
/** Many more in `npm run campaign`. */
const KILLS = Number(process.env["EDIT_KILLS"] ?? 4);

/** Every state that is ever committed, by its count; 0 is the one it starts from. */
const stateOf = (count: number): string => `# kept to the byte
name: n${count}   # who
listeners:
    main: {port: 0}

x-notes: [ a,   b ]
timeouts: { grace: ${count} } # last
`;

const library = join(dirname(main), "../core/index.js");

let folder: string;
beforeAll(async () => {
  folder = await workFolder();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Kills a gateway amid its edits; resolves with the last count it said was committed. */
async function killed(file: string, afterCommits: number, delay: number): Promise<number> {
  const child = fork(LOOP, [library, file], { execArgv: [] });
  let last = 0;
  const enough = new Promise<void>((resolve) => {
    child.on("message", (message: { committed?: string }) => {
      if (message.committed !== undefined) last = Number(message.committed.slice(1));
      if (last >= afterCommits) resolve();
    });
  });
  const gone = once(child, "exit");
  await Promise.race([enough, gone]);
  // Not a wait for anything: the moment of death is what varies, finer than a timer could.
  const until = performance.now() + delay;
  while (performance.now() < until);
  child.kill("SIGKILL");
  const [code, signal] = (await gone) as [number | null, string | null];
  expect([code, signal]).toEqual([null, "SIGKILL"]);
  return last;
}

it(
  `M027: ${KILLS} gateways killed while they edit their config: it is always whole, one of the committed states, and the last one or the next`,
  { timeout: PATIENCE * (30_000 + KILLS * 5_000) },
  async () => {
    const file = join(folder, "gateway.yaml");
    for (let kill = 0; kill < KILLS; kill++) {
      await writeFile(file, stateOf(0));
      const last = await killed(file, kill % 3, Math.random() * 8);
      const text = await readFile(file, "utf8");
      const count = Number(/^name: n(\d+)/m.exec(text)?.[1]);
      expect(text).toBe(stateOf(count));
      expect(count).toBeGreaterThanOrEqual(last);
      const { config } = await loadConfig(file);
      expect(config.values.name).toBe(`n${count}`);
      await sweepTemporary(file);
      const names = await readdir(folder);
      expect(names.filter((name) => name.endsWith(".tmp"))).toEqual([]);
    }
  },
);
