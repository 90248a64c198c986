import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { until, useDriver, useServer } from "./kit.ts";

/** How often the writer is killed: few times in the suite, more by hand. */
const KILLS = Number(process.env["STORE_KILLS"] ?? 4);
const WRITER = fileURLToPath(new URL("writer.mjs", import.meta.url));

interface News {
  readonly about?: number;
  readonly done?: number;
}

/** Lets a writer go on from a step for a random time, and kills it; tells the steps it confirmed, and the one it was at. */
async function killWriter(url: string, start: number): Promise<{ done: number[]; about: number }> {
  // Of the package as it is built: without the conditions of this process.
  const child = fork(WRITER, [url, String(start)], { execArgv: [] });
  const closed = once(child, "close");
  const done: number[] = [];
  let about = start;
  child.on("message", (news: News) => {
    if (news.about !== undefined) about = news.about;
    if (news.done !== undefined) done.push(news.done);
  });
  await until(() => done.length > 0 || child.exitCode !== null, 30_000);
  expect(child.exitCode).toBeNull();
  await new Promise((resolve) => setTimeout(resolve, Math.random() * 60));
  child.kill("SIGKILL");
  await closed;
  return { done, about };
}

it(
  `a writer that is killed ${KILLS} times loses nothing that was confirmed, and leaves no half value`,
  async () => {
    const server = await useServer();
    const driver = await useDriver(server.url, { timing: { partAge: -1 } });
    const confirmed = new Map<string, number>();
    const logged: number[] = [];
    /** Written or not: nobody heard. */
    const open = new Set<number>();
    let start = 0;
    for (let kill = 0; kill < KILLS; kill++) {
      const { done, about } = await killWriter(server.url, start);
      for (const step of done) confirmed.set(`key${step % 5}`, step);
      open.add(about);
      logged.push(...done);
      for (const [key, least] of confirmed) {
        const { value } = (await driver.get("b", key))!;
        const step = Number(value.slice(0, value.indexOf(" ")));
        expect(value).toBe(`${step} `.repeat(step % 3 === 0 ? 300_000 : 1));
        expect(step === least || (open.has(step) && step > least)).toBe(true);
      }
      start = about + 1;
    }
    const values: string[] = [];
    for (let after = 0; ;) {
      const page = await driver.read("log", after, 1_000);
      if (page.length === 0) break;
      values.push(...page.map(({ value }) => value));
      after = page.at(-1)!.seq;
    }
    const found = new Set(values);
    for (const step of logged) {
      expect(found.has(`${step}`)).toBe(true);
      expect(found.has(`${step}'`)).toBe(true);
    }
    // All of an addition or none, and none twice.
    expect(values.length).toBe(found.size);
    expect(values.filter((value) => value.endsWith("'")).length).toBe(values.length / 2);
    expect(logged.length).toBeGreaterThan(KILLS);
    await driver.sweep();
    const left = new Map([...confirmed.keys()].map((key) => [key, driver.get("b", key)]));
    for (const [, reading] of left) expect(await reading).toBeDefined();
  },
  30_000 + KILLS * 5_000,
);
