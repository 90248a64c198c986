import { type PluginContext, toGatewayError } from "propylon";
import { within } from "propylon/kit";
import type { ConnectedAgents } from "./agents/connected-agents.ts";
import type { HostKeys } from "./agents/host-keys.ts";
import type { Instances } from "./agents/instances.ts";
import type { KeyedQueue } from "./data/keyed-queue.ts";
import type { RegistryReader } from "./registry/registry-reader.ts";
import type { ConsoleTeams } from "./console-teams.ts";
import type { TeamChange, Workspaces } from "./agents/workspaces.ts";

/** Longest that a request waits for what follows its change, in milliseconds: it is done already, and what follows goes on. */
const PATIENCE_MS = 2_000;

/** What a {@link Console} works with. */
export interface ConsoleParts {
  readonly log: PluginContext["log"];
  readonly instances: Instances;
  readonly workspaces: Workspaces;
  readonly registry: RegistryReader;
  readonly keys: HostKeys;
  readonly queue: KeyedQueue;
  /** Absent without an issuer. */
  readonly teams: ConsoleTeams | undefined;
  readonly agents: Pick<ConnectedAgents, "sync">;
  /** Aborts when the plugin ends. */
  readonly signal: AbortSignal;
}

/** A host as it is registered. */
export interface NewHost {
  readonly url: string | undefined;
  readonly name: string | undefined;
  /** What the host wants to be shown. */
  readonly key: string | undefined;
}

/** What people do with instances and workspaces: each change is in the tables first, and then the others are told. */
export class Console {
  readonly #parts: ConsoleParts;

  constructor(parts: ConsoleParts) {
    this.#parts = parts;
  }

  /** @throws {GatewayError} `upstream_error` or `timeout` for a registry that cannot be read; as {@link Instances.create} */
  async register({ url, name, key }: NewHost): Promise<string> {
    const { instances, registry, keys, signal } = this.#parts;
    const registryUrl = url === undefined ? undefined : registry.check(url);
    const hostKey = key === undefined ? undefined : keys.seal(key);
    const reading =
      registryUrl === undefined
        ? undefined
        : await registry.read(
            registryUrl,
            signal,
            keys.headersFor(registryUrl, { registry_url: registryUrl, host_key: hostKey ?? null }),
          );
    const id = await instances.create({
      name: name ?? new URL(registryUrl!).hostname,
      registryUrl,
      hostKey,
      agents: reading?.agents ?? [],
    });
    await this.#follow("on_registered", [id]);
    return id;
  }

  /** Has another key of the host, or none; its agents are connected again with it. */
  async setHostKey(id: string, key: string | null): Promise<void> {
    const { instances, keys, agents } = this.#parts;
    await instances.setHostKey(id, key === null ? null : keys.seal(key));
    await agents.sync();
    await this.refresh(id);
  }

  /** @returns whether there was such an instance */
  async delete(id: string): Promise<boolean> {
    const wasThere = await this.#parts.instances.delete(id);
    if (!wasThere) return false;
    await this.#parts.agents.sync();
    await this.#follow("on_deleted", [id]);
    return true;
  }

  /** @returns whether the issuer knows of it already */
  async attach(workspace: string, instance: string): Promise<boolean> {
    const isNew = await this.#parts.workspaces.attach(workspace, instance);
    return this.#changed({ attached: isNew ? [instance] : [], detached: [] });
  }

  /** @returns whether the issuer knows of it already */
  async detach(workspace: string, instance: string): Promise<boolean> {
    const wasAttached = await this.#parts.workspaces.detach(workspace, instance);
    return this.#changed({ attached: [], detached: wasAttached ? [instance] : [] });
  }

  /** Attaches exactly these. @returns whether the issuer knows of it already */
  async replaceTeams(workspace: string, instances: readonly string[]): Promise<boolean> {
    return this.#changed(await this.#parts.workspaces.replaceTeams(workspace, instances));
  }

  /** @returns whether there was such a workspace */
  async deleteWorkspace(id: string): Promise<boolean> {
    const detached = await this.#parts.workspaces.delete(id);
    if (!detached) return false;
    await this.#parts.agents.sync();
    await this.#follow("on_workspace_deleted", detached);
    return true;
  }

  /** Reads the registry of an instance again; when that fails, the previous agents stay. @returns why it failed */
  refresh(id: string): Promise<string | undefined> {
    // Not in the turn of the team: a registry that hangs must not hold up what the issuer is to be told.
    return this.#parts.queue.run(`registry of ${id}`, "refresh", () => this.#read(id));
  }

  async #read(id: string): Promise<string | undefined> {
    const { instances, registry, keys, signal, log } = this.#parts;
    const row = await instances.find(id);
    if (row == null || row.registry_url === null) return undefined;
    const url = row.registry_url;
    try {
      const { agents, leftOut } = await registry.read(url, signal, keys.headersFor(url, row));
      if (leftOut > 0) log.warn({ instance: id, leftOut }, "entries of a registry are left out");
      await instances.replaceAgents(id, agents);
      await this.#parts.agents.sync();
      return undefined;
    } catch (error) {
      const { message } = toGatewayError(error);
      if (!signal.aborted) await instances.markStale(id, message);
      return message;
    }
  }

  async #changed({ attached, detached }: TeamChange): Promise<boolean> {
    await this.#parts.agents.sync();
    const refreshed = within(Promise.all(attached.map((id) => this.refresh(id))), PATIENCE_MS);
    const told = await Promise.all([
      this.#follow("on_detached", detached),
      this.#follow("on_attached", attached),
    ]);
    await refreshed;
    return told.every(Boolean);
  }

  /** @returns whether it is in force, as far as is known after a moment */
  async #follow(hook: string, ids: readonly string[]): Promise<boolean> {
    const followed = this.#parts.teams?.follow(hook, ids) ?? Promise.resolve(true);
    return (await within(followed, PATIENCE_MS)) && followed;
  }
}
