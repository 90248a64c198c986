import type { PanelTools } from "propylon/panels";
import type { InstanceView, PickerView, WorkspaceView } from "propylon/plugins/console";

/** The routes of the console that the page Chat uses. */
export class Gateway {
  readonly #fetch: PanelTools["fetch"];

  constructor({ fetch }: Pick<PanelTools, "fetch">) {
    this.#fetch = fetch;
  }

  async workspaces(): Promise<readonly WorkspaceView[]> {
    return (await this.#read<{ workspaces: WorkspaceView[] }>("workspaces")).workspaces;
  }

  async instances(): Promise<readonly InstanceView[]> {
    return (await this.#read<{ instances: InstanceView[] }>("instances")).instances;
  }

  picker(workspace: string): Promise<PickerView> {
    return this.#read<PickerView>(`workspaces/${encodeURIComponent(workspace)}/agents`);
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
