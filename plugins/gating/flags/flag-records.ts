import { setTimeout as wait } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { isGatewayError, type PluginContext } from "propylon";
import { digestOf } from "propylon/kit";
import { storeKey, type Entry, type Kv, type Store } from "propylon/store";
import { z } from "zod";
import { Agreement } from "./agreement.ts";
import type { StateFile } from "./file.ts";
import { flagsOf, isServerOn, isToolOn, withFlags, type FlagMap } from "./flags.ts";
import type { Snapshot, StateKeeper } from "./keeper.ts";
import type { Flag, FlagChange } from "../service.ts";
import { STATE_VERSION, type ConnectionHistory, type Remembered } from "./state.ts";

/** How long another gateway may take to take the state file over, and the pause between two looks, in milliseconds. */
const TAKE_OVER_MS = 5_000;
const LOOK_MS = 50;

/** Longest key that is readable in the store; longer ones are a digest. */
const MAX_KEY = 512;

const flagSchema = z.object({
  server: z.string(),
  tool: z.string().exactOptional(),
  // What cannot be read must not switch anything on.
  enabled: z.boolean().catch(false),
  by: z.string().catch("unknown"),
  /** The replica that switched it, where several share the store. */
  replica: z.string().exactOptional(),
});
const historySchema = z.object({
  server: z.string(),
  lastInit: z.string().nullable(),
  lastError: z.string().nullable(),
  attempts: z.int().min(0),
});

type StoredFlag = z.output<typeof flagSchema>;
type StoredHistory = z.output<typeof historySchema>;

/** What {@link FlagRecords} are made of. */
export interface FlagRecordsOptions {
  readonly store: Store;
  readonly log: PluginContext["log"];
  /** The state file that counted before there was a store. */
  readonly former: StateFile | undefined;
  /** Another replica switched something. */
  onChange(changes: readonly FlagChange[]): void;
}

/** Flags in the gateway's store, one key each, so that two replicas never write over each other's. */
export class FlagRecords implements StateKeeper {
  readonly place = "store";
  readonly isForeign = false;
  readonly isShared: boolean;
  readonly #options: FlagRecordsOptions;
  readonly #flags: Kv<StoredFlag>;
  readonly #history: Kv<StoredHistory>;
  /** What is in the store, as far as known. */
  readonly #known = new Map<string, Entry<StoredFlag>>();
  readonly #knownHistory = new Map<string, ConnectionHistory>();
  /** Keys that are being written, with what was told of them meanwhile. */
  readonly #busy = new Map<string, Entry<StoredFlag> | undefined>();
  /** Flags of which it is not known whether they were written. */
  readonly #unsure = new Map<string, FlagChange>();
  readonly #agreement: Agreement;
  #isLoaded = false;
  #ends: (() => void | Promise<void>)[] = [];

  constructor(options: FlagRecordsOptions) {
    const { store } = options;
    this.#options = options;
    this.isShared = store.shared;
    this.#flags = store.kv("flags", { schema: flagSchema });
    this.#history = store.kv("connections", { schema: historySchema });
    this.#agreement = new Agreement(store, (key) => this.#known.get(key)?.rev ?? 0);
  }

  async load(): Promise<Remembered> {
    await this.#takeOver();
    if (this.isShared)
      this.#ends = [
        await this.#flags.watch("", (key, entry) => this.#hear(key, entry)),
        await this.#agreement.serve(),
      ];
    else for await (const entry of this.#flags.list()) this.#known.set(entry.key, entry);
    for await (const { value } of this.#history.list())
      this.#knownHistory.set(value.server, withoutServer(value));
    this.#isLoaded = true;
    const flags = withFlags(
      new Map(),
      [...this.#known.values()].map(({ value }) => value),
    ).flags;
    return { version: STATE_VERSION, flags, history: new Map(this.#knownHistory) };
  }

  async change(changes: readonly FlagChange[]): Promise<() => void> {
    const undos: (() => Promise<unknown>)[] = [];
    const settle = (): void => this.#settle(changes);
    for (const change of changes) this.#busy.set(keyOf(change), undefined);
    try {
      // What cannot be finished nor undone leaves rather too much off.
      for (const change of changes.toSorted((a, b) => Number(a.enabled) - Number(b.enabled)))
        undos.push(await this.#put(change));
    } catch (error) {
      // What the store does not let undo counts as it stands there.
      for (const undo of undos.toReversed()) await undo().catch(() => {});
      settle();
      throw error;
    }
    return settle;
  }

  async follow({ flags, history }: Snapshot): Promise<void> {
    await this.#makeSure(flags);
    for (const flag of flagsOf(flags)) {
      const known = this.#known.get(keyOf(flag));
      const isOther = (known?.value.enabled ?? true) !== flag.enabled;
      if (isOther && !(known && this.isShared)) await this.#put({ ...flag, by: "gating" });
    }
    // A server that this gateway does not know may be one of another's config.
    if (!this.isShared) await this.#dropAllBut(flags);
    await this.#followHistory(history);
  }

  async agree(changes: readonly FlagChange[]): Promise<void> {
    if (!this.isShared) return;
    const keys = new Set(changes.map(keyOf));
    await this.#agreement.reach([...keys].map((key) => [key, this.#known.get(key)?.rev ?? 0]));
  }

  async release(): Promise<void> {
    for (const end of this.#ends.splice(0)) await end();
  }

  /** Adds what an earlier state file switched off, once for each content that it has. */
  async #takeOver(): Promise<void> {
    const { former, store, log } = this.#options;
    // A file that is not there belongs to nobody, and gateways of one folder start at the same moment.
    if (!former || !(await former.isThere())) return;
    const taken = store.kv<{ readonly at: string }>("files");
    try {
      const remembered = await loadSoon(former);
      const digest = former.digest;
      if (!remembered || digest === undefined || (await taken.get(digest))) return;
      for (const flag of flagsOf(remembered.flags))
        if (!flag.enabled) await this.#flags.put(keyOf(flag), { ...flag, by: "gating" });
      for (const [server, history] of remembered.history)
        await this.#history.create(historyKey(server), { server, ...history });
      await taken.put(digest, { at: new Date().toISOString() });
      log.info({ file: former.path }, "the state file was taken over into the store");
    } finally {
      await former.release();
    }
  }

  /** Writes over what may have been written although it was refused; what is shared is told by the watch. */
  async #makeSure(flags: FlagMap): Promise<void> {
    if (this.isShared) return this.#unsure.clear();
    for (const flag of this.#unsure.values()) {
      const { server, tool } = flag;
      const enabled =
        tool === undefined ? isServerOn(flags, server) : isToolOn(flags, server, tool);
      await this.#put({ ...flag, enabled });
    }
  }

  /** @returns undoes it, unless somebody else has written there since */
  async #put(change: FlagChange): Promise<() => Promise<unknown>> {
    const { server, tool, enabled, by } = change;
    const { replica } = this.#options.store;
    const about = { server, ...(tool !== undefined && { tool }), enabled, by };
    const value = { ...about, ...(this.isShared && { replica }) };
    const key = keyOf(value);
    const before = this.#known.get(key);
    this.#unsure.set(key, change);
    // Over what is known it is one way to the store in place of three.
    const over = before && (await this.#flags.update(key, value, before.rev));
    const rev = over ?? (await this.#flags.put(key, value));
    this.#unsure.delete(key);
    this.#known.set(key, { key, value, rev });
    return async () => {
      const old = { ...value, ...before?.value, enabled: before?.value.enabled ?? !enabled };
      const undone = await this.#flags.update(key, old, rev);
      if (undone !== undefined) this.#known.set(key, { key, value: old, rev: undone });
    };
  }

  #settle(changes: readonly FlagChange[]): void {
    for (const change of changes) {
      const key = keyOf(change);
      const told = this.#busy.get(key);
      this.#busy.delete(key);
      if (told) this.#hear(key, told);
    }
    this.#agreement.heard();
  }

  #hear(key: string, entry: Entry<StoredFlag> | undefined): void {
    if (this.#busy.has(key)) return void this.#busy.set(key, entry);
    const known = this.#known.get(key);
    // What was written here is told, too, and may be told late.
    if (known && entry && entry.rev <= known.rev) return;
    if (entry) this.#known.set(key, entry);
    else this.#known.delete(key);
    const value = entry?.value ?? (known && { ...known.value, enabled: true });
    if (!value || !this.#isLoaded) return;
    const { replica, ...change } = value;
    const isRemote = replica !== undefined && replica !== this.#options.store.replica;
    this.#options.onChange([{ ...change, ...(isRemote && { remote: true }) }]);
    this.#agreement.heard();
  }

  async #dropAllBut(flags: FlagMap): Promise<void> {
    for (const [key, { value, rev }] of this.#known) {
      const own = flags.get(value.server);
      if (value.tool === undefined ? own : own?.tools.has(value.tool)) continue;
      await this.#flags.delete(key, rev);
      this.#known.delete(key);
    }
  }

  async #followHistory(history: Snapshot["history"]): Promise<void> {
    for (const [server, own] of history) {
      if (isDeepStrictEqual(this.#knownHistory.get(server), own)) continue;
      await this.#history.put(historyKey(server), { server, ...own });
      this.#knownHistory.set(server, own);
    }
    if (this.isShared) return;
    for (const server of this.#knownHistory.keys()) {
      if (history.has(server)) continue;
      await this.#history.delete(historyKey(server));
      this.#knownHistory.delete(server);
    }
  }
}

function withoutServer({ server: _server, ...history }: StoredHistory): ConnectionHistory {
  return history;
}

/** Names of tools come from their servers and may be of any length. */
function keyOf({ server, tool }: Pick<Flag, "server" | "tool">): string {
  const key = tool === undefined ? storeKey(server) : storeKey(server, tool);
  if (key.length <= MAX_KEY) return key;
  return storeKey(server, digestOf(tool!));
}

function historyKey(server: string): string {
  return storeKey(server);
}

/** The state file, once another gateway that starts too has taken it over; one that goes on using it has it for good. */
async function loadSoon(file: StateFile): Promise<Remembered | undefined> {
  const end = performance.now() + TAKE_OVER_MS;
  for (;;) {
    try {
      return await file.load();
    } catch (error) {
      const isTaken = isGatewayError(error) && error.code === "exists";
      if (!isTaken || performance.now() > end) throw error;
      await wait(LOOK_MS);
    }
  }
}
