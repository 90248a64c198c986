import { mkdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { toGatewayError, type GatewayError } from "propylon";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadConfig } from "../../../core/file/load.ts";
import type { WatchOptions } from "../../../core/gateway/check/config-source.ts";
import { ConfigWatcher } from "../../../core/file/watch.ts";
import { replaceFile } from "../../../core/kit/replace-file.ts";
import { makeFolder } from "../../kit/folder.ts";

type Event = { name: string } | { error: GatewayError };

/** Events of a watcher, to be waited for one by one. */
class Events {
  readonly #queue: Event[] = [];
  readonly #waiting: ((event: Event) => void)[] = [];

  push(event: Event): void {
    const waiting = this.#waiting.shift();
    if (waiting) waiting(event);
    else this.#queue.push(event);
  }

  next(): Promise<Event> {
    const event = this.#queue.shift();
    return event ? Promise.resolve(event) : new Promise((resolve) => this.#waiting.push(resolve));
  }

  get pending(): number {
    return this.#queue.length;
  }
}

let folder: string;
let file: string;
let events: Events;
let watcher: ConfigWatcher;

async function start(
  options: Partial<WatchOptions> = {},
  more: readonly string[] = [],
): Promise<void> {
  watcher = new ConfigWatcher({
    files: () => [file, join(folder, ".env"), ...more],
    onChange: load,
    settle: 50,
    // Events alone must do, unless a test says otherwise.
    poll: 1_000_000,
    ...options,
  });
  await watcher.start();
}

async function load(): Promise<void> {
  try {
    const { config } = await loadConfig(file, { environment: {} });
    events.push({ name: config.values.name });
  } catch (error) {
    events.push({ error: toGatewayError(error) });
  }
}

/** As a whole: a write empties the file first, and on a busy machine it stays so for long enough to be told of. */
function replace(text: string): Promise<void> {
  return replaceFile(file, text);
}

async function nextGood(): Promise<{ name: string }> {
  let event = await events.next();
  while (!("name" in event)) event = await events.next();
  return event;
}

beforeEach(async () => {
  folder = makeFolder();
  file = join(folder, "gateway.yaml");
  await writeFile(file, "name: one\n");
  events = new Events();
});
afterEach(() => watcher.close());

describe("ConfigWatcher", () => {
  it("notices a write, and one by rename over the file, again and again", async () => {
    await start();
    await writeFile(file, "name: two\n");
    expect(await nextGood()).toEqual({ name: "two" });
    for (const name of ["three", "four", "five"]) {
      await replace(`name: ${name}\n`);
      expect(await events.next()).toEqual({ name });
    }
  });

  it("notices the symlink swap of a Kubernetes ConfigMap", async () => {
    await rm(file);
    for (const name of ["one", "two"]) {
      await mkdir(join(folder, `..${name}`));
      await writeFile(join(folder, `..${name}`, "gateway.yaml"), `name: ${name}\n`);
    }
    await symlink("..one", join(folder, "..data"));
    await symlink(join("..data", "gateway.yaml"), file);
    await start();
    await symlink("..two", join(folder, "..data_tmp"));
    await rename(join(folder, "..data_tmp"), join(folder, "..data"));
    expect(await events.next()).toEqual({ name: "two" });
  });

  it("notices .env and files of plugins", async () => {
    const plugin = join(folder, "plugins", "echo.ts");
    await mkdir(join(folder, "plugins"));
    await writeFile(plugin, "1");
    await writeFile(file, "name: ${NAME:-one}\n");
    await start({}, [plugin]);
    await replaceFile(join(folder, ".env"), "NAME=from-env\n");
    expect(await events.next()).toEqual({ name: "from-env" });
    await writeFile(plugin, "2");
    expect(await events.next()).toEqual({ name: "from-env" });
  });

  it("tells of a wrong, an empty and a missing file, and goes on with the next good one", async () => {
    await start();
    const wrong = [
      "name: [1\n",
      "",
      "a: 1\nbogus: 2\n",
      "servers:\n  a: { command: 1 }\n",
      undefined,
    ];
    const lines: unknown[] = [];
    for (const [index, text] of wrong.entries()) {
      if (text === undefined) await rm(file);
      else await replace(text);
      const event = await events.next();
      expect(event).toMatchObject({
        error: { hint: expect.any(String) as string },
      });
      lines.push("error" in event && event.error.place?.line);
      await replace(`name: good-${index}\n`);
      expect(await events.next()).toEqual({ name: `good-${index}` });
    }
    expect(lines).toEqual([1, 1, 1, 2, undefined]);
  });

  it("M015: runs one reload at a time and ends with the last content", async () => {
    let running = 0;
    let most = 0;
    await start({
      settle: 1,
      onChange: async () => {
        most = Math.max(most, ++running);
        await load();
        running--;
      },
    });
    for (let count = 1; count <= 30; count++) {
      await replace(`name: n${count}\n`);
    }
    let event = await nextGood();
    while (event.name !== "n30") event = await nextGood();
    expect(most).toBe(1);
  });

  it("does nothing when the content is the same", async () => {
    await start();
    await replace("name: one\n");
    await watcher.look();
    expect(events.pending).toBe(0);
  });

  it("finds changes by polling where nothing tells of them", async () => {
    await start({ settle: 1_000_000, poll: 10 });
    await replace("name: polled\n");
    expect(await events.next()).toEqual({ name: "polled" });
  });

  it("survives that its folder is removed and made again", async () => {
    await start({ poll: 20 });
    await rm(folder, { recursive: true });
    expect(await events.next()).toMatchObject({ error: { code: "no_config" } });
    await mkdir(folder);
    await writeFile(file, "name: back\n");
    expect(await nextGood()).toEqual({ name: "back" });
  });
});
