import type { PanelTools } from "./panel-tools.ts";

/** How an agent is. */
export interface Health {
  readonly status: "ok" | "degraded" | "error";
  readonly message: string | null;
}

/** An agent of a picker. */
export interface Agent {
  readonly id: string;
  readonly title: string;
  readonly label: string;
  readonly health: Health | null;
}

/** The agents of a workspace, and what to say where it has no teams. */
export interface Picker {
  readonly agents: readonly Agent[];
  readonly message?: string;
}

/** Something with a name. */
export interface Named {
  readonly id: string;
  readonly name: string;
}

/** A workspace with the ids of its teams. */
export interface Workspace extends Named {
  readonly teams: readonly string[];
}

/** The routes of the console that the page Chat uses. */
export class Gateway {
  readonly #fetch: PanelTools["fetch"];

  constructor({ fetch }: Pick<PanelTools, "fetch">) {
    this.#fetch = fetch;
  }

  async workspaces(): Promise<readonly Workspace[]> {
    return (await this.#read<{ workspaces: Workspace[] }>("workspaces")).workspaces;
  }

  async instances(): Promise<readonly Named[]> {
    return (await this.#read<{ instances: Named[] }>("instances")).instances;
  }

  picker(workspace: string): Promise<Picker> {
    return this.#read<Picker>(`workspaces/${encodeURIComponent(workspace)}/agents`);
  }

  async attach(workspace: string, teams: readonly string[]): Promise<void> {
    await this.#send("PUT", `workspaces/${encodeURIComponent(workspace)}/teams`, { teams });
  }

  /** The events of the answer. */
  async talk(
    workspace: string,
    agent: string,
    message: string,
  ): Promise<ReadableStream<Uint8Array>> {
    const path = `workspaces/${encodeURIComponent(workspace)}/chat`;
    return (await this.#send("POST", path, { agent, message })).body!;
  }

  async #read<T>(path: string): Promise<T> {
    return (await (await this.#ask(path)).json()) as T;
  }

  #send(method: string, path: string, body: object): Promise<Response> {
    const headers = { "content-type": "application/json" };
    return this.#ask(path, { method, headers, body: JSON.stringify(body) });
  }

  /** @throws {Error} with the sentence of the gateway, and what to do about it */
  async #ask(path: string, init?: RequestInit): Promise<Response> {
    const response = await this.#fetch(`api/v1/${path}`, init);
    if (response.ok) return response;
    const said = (await response.json().catch(() => ({}))) as Envelope;
    const { message = `The gateway answered ${response.status}.`, hint } = said.error ?? {};
    throw new Error(hint === undefined ? message : `${message} ${hint}`);
  }
}

interface Envelope {
  readonly error?: { readonly message?: string; readonly hint?: string };
}
