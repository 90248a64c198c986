import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import pino from "pino";
import type { GatewayError } from "propylon";
import { type StdioChannel, spawnStdio } from "propylon/process";
import { afterEach } from "vitest";
import { isAlive as isPidAlive, processes, processOf } from "../../fixtures/processes.ts";
import { type StdioOptions } from "../../../core/kit/process/stdio.ts";
import { deferred } from "../../kit/deferred.ts";

/** Path of a script in test/fixtures/process. */
export function fixture(name: string): string {
  return fileURLToPath(new URL(`../../fixtures/process/${name}`, import.meta.url));
}

/** A process as it named itself; the start time tells it from a later one with the same number. */
export interface Process {
  readonly pid: number;
  readonly start?: string;
}

/** Whether a process runs, and not a later one with its id. */
export function isAlive({ pid, start }: Process): boolean {
  return isPidAlive(pid) && (start === undefined || processOf(pid)?.start === start);
}

/** Open descriptors of this process. */
export function descriptors(): number {
  return readdirSync("/proc/self/fd").length;
}

/** Running children of a process. */
export function children(parent: number = process.pid): number[] {
  const own = processes().filter((each) => each.parent === parent);
  return own.map(({ pid }) => pid).filter((pid) => isPidAlive(pid));
}

/** A channel with what came out of it. */
export interface Recorded extends StdioChannel {
  readonly messages: string[];
  readonly oversize: { readonly head: string; readonly length: number }[];
  /** Resolves with the reason when the channel has ended. */
  readonly ended: Promise<GatewayError>;
  /** How often `onClose` was called. */
  readonly ends: () => number;
  /** Resolves with the first message that satisfies the test, now or later. */
  until(test: (message: string) => boolean): Promise<string>;
}

const open = new Set<StdioChannel>();

afterEach(async () => {
  await Promise.all([...open].map((channel) => channel.close()));
  open.clear();
});

/** Starts a child and records what it sends; closed after the test, with little patience. */
export async function record(
  command: string,
  args: readonly (string | number)[] = [],
  options: Partial<StdioOptions> = {},
): Promise<Recorded> {
  const messages: string[] = [];
  const oversize: { head: string; length: number }[] = [];
  const waiting = new Set<() => void>();
  let ends = 0;
  const { promise: ended, resolve: end } = deferred<GatewayError>();
  const channel = await spawnStdio({
    name: "sample",
    command,
    args: args.map(String),
    env: {},
    cwd: process.cwd(),
    maxMessage: 64 * 1024 * 1024,
    log: pino({ level: "silent" }),
    times: { eof: 100, term: 200, orphans: 100 },
    onMessage(chunks) {
      messages.push(Buffer.concat(chunks).toString());
      for (const look of waiting) look();
    },
    onOversize: (head, length) => void oversize.push({ head: head.toString("latin1"), length }),
    onClose(error) {
      ends += 1;
      end(error);
    },
    ...options,
  });
  open.add(channel);
  const until = (test: (message: string) => boolean) =>
    new Promise<string>((settle) => {
      const look = () => {
        const found = messages.find(test);
        if (found === undefined) return;
        waiting.delete(look);
        settle(found);
      };
      waiting.add(look);
      look();
    });
  return {
    messages,
    oversize,
    ended,
    until,
    ends: () => ends,
    pid: channel.pid,
    send: (message) => channel.send(message),
    close: () => channel.close(),
    get stderrTail() {
      return channel.stderrTail;
    },
  };
}
