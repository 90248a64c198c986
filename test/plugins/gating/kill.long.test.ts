import { fork } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { parseState, toState } from "../../../plugins/gating/flags/state.ts";
import { withFlags, type FlagMap } from "../../../plugins/gating/flags/flags.ts";
import type { Flag } from "propylon/plugins/gating";
import { makeFolder } from "../../kit/folder.ts";

/** How often the writer is killed: few times in the suite, a thousand in `npm run campaign -- state`. */
const KILLS = Number(process.env["STATE_KILLS"] ?? 4);
const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));

interface News {
  readonly about?: readonly Flag[];
  readonly done?: true;
}

/** Starts the writer, lets it write for a random time, kills it; tells the states the file may have. */
async function killWriter(file: string, before: FlagMap): Promise<readonly string[]> {
  const child = fork(
    path("toggler.mjs"),
    [path("../../../plugins/gating/flags/flag-store.ts"), file],
    {
      env: {
        ...process.env,
        ALIAS: JSON.stringify({
          "propylon/kit": path("propylon.ts"),
          "propylon/internal": path("propylon.ts"),
          propylon: path("propylon.ts"),
        }),
      },
    },
  );
  let confirmed = before;
  let about: FlagMap | undefined;
  let hasWritten: () => void = () => {};
  const written = new Promise<void>((resolve) => (hasWritten = resolve));
  child.on("message", ({ about: flags, done }: News) => {
    if (flags) about = withFlags(confirmed, flags).flags;
    if (done) confirmed = about ?? confirmed;
    if (done) hasWritten();
  });
  await once(child, "message");
  child.send("go");
  // A slow machine may kill the others before they write; one must leave a file.
  if (before.size === 0) await written;
  await new Promise((resolve) => setTimeout(resolve, 5 + Math.random() * 40));
  child.kill("SIGKILL");
  await once(child, "close");
  return [confirmed, about ?? confirmed].map(textOf);
}

function textOf(flags: FlagMap): string {
  const { servers } = toState(flags, new Map(), "");
  return JSON.stringify(servers);
}

it(
  `M027, M104: killed ${KILLS} times while writing, the file is always readable and one of the states that were committed`,
  async () => {
    const folder = makeFolder();
    const file = join(folder, "gateway_state.json");
    let flags: FlagMap = new Map();
    let written = 0;
    for (let kill = 0; kill < KILLS; kill++) {
      const allowed = await killWriter(file, flags);
      if (!existsSync(file)) continue;
      flags = parseState(await readFile(file, "utf8")).flags;
      expect(allowed).toContain(textOf(flags));
      written++;
    }
    expect(written).toBeGreaterThan(KILLS / 2);
    const drafts = (await readdir(folder)).filter((name) => name.endsWith(".tmp"));
    // Each start swept what the one before left.
    expect(drafts.length).toBeLessThanOrEqual(1);
  },
  20_000 + KILLS * 2_000,
);
