import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";

/** A team as the issuer has it. */
export interface ScriptedTeam {
  readonly name: string;
  active: boolean;
  jti: string;
  workspaces: readonly string[];
}

/** What a console has to know of a team that can be used. */
export interface IssuedTeam {
  readonly id: string;
  readonly jti: string | null;
  readonly workspaces: readonly string[];
}

/** One request, as it came. */
export interface Received {
  readonly method: string;
  readonly path: string;
  readonly team: string;
  readonly body: Record<string, unknown>;
  readonly correlation: string | undefined;
  readonly authorization: string | undefined;
}

/**
 * What goes wrong with a request: `down` does nothing and answers 503, `cut` does nothing and answers nothing, `error` does it and
 * answers 500, `lost` does it and its answer is cut off, `late` does it after its client was cut off, `silent` does nothing ever.
 */
export type Fault = "down" | "cut" | "error" | "lost" | "late" | "silent";

export type IssuerAnswer = readonly [status: number, body?: unknown];

/** An issuer over real HTTP whose requests go wrong as a test wants. */
export abstract class FaultyIssuer {
  readonly received: Received[] = [];
  /** Teams whose token was replaced, in order. */
  readonly rotated: string[] = [];
  onRotate: (team: string) => void = () => {};
  account = "daedalus-service:secret-of-the-account";
  fault: (request: Received) => Fault | undefined = () => undefined;
  readonly #server: Server;
  readonly #late: (() => unknown)[] = [];

  constructor(server: Server) {
    this.#server = server;
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      this.#serve(request, response).catch((error: unknown) => response.destroy(error as Error));
    });
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Requests of one kind. */
  of(method: string, end: string): Received[] {
    return this.received.filter((each) => each.method === method && each.path.endsWith(end));
  }

  /** Does what it was asked to do and had not done when its client gave up. */
  async catchUp(): Promise<void> {
    for (const commit of this.#late.splice(0)) await commit();
  }

  /** The teams that are there. */
  abstract active(): readonly IssuedTeam[] | Promise<readonly IssuedTeam[]>;

  /** Whether a team can be used. */
  abstract isActive(team: string): boolean | Promise<boolean>;

  /** Forgets everything. */
  abstract clear(): void | Promise<void>;

  /** Does what a request asks for. */
  protected abstract commit(request: Received): IssuerAnswer | Promise<IssuerAnswer>;

  protected noteRotation(team: string): void {
    this.rotated.push(team);
    this.onRotate(team);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const received = await readRequest(request);
    this.received.push(received);
    const fault = this.fault(received);
    if (fault === "silent") return;
    if (fault === "cut") return void response.destroy();
    if (fault === "down") return send(response, [503]);
    const isKnown = received.authorization === `Basic ${btoa(this.account)}`;
    if (!isKnown) return send(response, [401]);
    if (fault === "late") {
      this.#late.push(() => this.commit(received));
      return void response.destroy();
    }
    const answer = await this.commit(received);
    if (fault === "lost") return void response.destroy();
    send(response, fault === "error" ? [500] : answer);
  }
}

/** An issuer that does what its script says. */
export class ScriptedIssuer extends FaultyIssuer {
  readonly teams = new Map<string, ScriptedTeam>();

  active(): readonly IssuedTeam[] {
    return [...this.teams]
      .filter(([, { active }]) => active)
      .map(([id, { jti, workspaces }]) => ({ id, jti, workspaces }));
  }

  isActive(team: string): boolean {
    return this.teams.get(team)?.active === true;
  }

  clear(): void {
    this.teams.clear();
  }

  protected commit({ method, path, team: id, body }: Received): IssuerAnswer {
    if (method === "POST" && !path.endsWith("/rotate/")) return this.#create(body);
    const team = this.teams.get(id);
    if (!team) return [404, { detail: "Not found." }];
    if (method === "DELETE") {
      team.active = false;
      return [204];
    }
    if (method === "PUT") {
      team.workspaces = [...new Set(body["workspace_ids"] as string[])];
      return [200, { workspace_ids: team.workspaces }];
    }
    if (method === "GET") return [200, detailOf(id, team)];
    team.jti = randomUUID();
    this.noteRotation(id);
    return [200, { jwt: jwtOf(id, team.jti) }];
  }

  #create({ id, name }: Record<string, unknown>): IssuerAnswer {
    const known = this.teams.get(String(id));
    if (known) return [200, { id, name: known.name, active: known.active }];
    const jti = randomUUID();
    this.teams.set(String(id), { name: String(name), active: true, jti, workspaces: [] });
    return [201, { id, name, jwt: jwtOf(String(id), jti) }];
  }
}

/** Starts one that ends with the running test. */
export async function startIssuer(): Promise<ScriptedIssuer> {
  return new ScriptedIssuer(await listen());
}

/** A server that ends with the running test. */
export async function listen(): Promise<Server> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return server;
}

/** The jti of a token. */
export function jtiOf(jwt: string): string {
  const [, payload = ""] = jwt.split(".");
  return (JSON.parse(Buffer.from(payload, "base64url").toString()) as { jti: string }).jti;
}

function jwtOf(id: string, jti: string): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const claims = { iss: "mnemosyne", sub: `team:${id}`, typ: "team", jti };
  return `${part({ alg: "HS256", kid: "1" })}.${part(claims)}.c2lnbmF0dXJl`;
}

function detailOf(id: string, { name, active, jti, workspaces }: ScriptedTeam): object {
  return { id, name, active, active_jti: jti, workspace_ids: workspaces };
}

async function readRequest(request: IncomingMessage): Promise<Received> {
  const body = await text(request);
  const { pathname } = new URL(request.url ?? "/", "http://issuer");
  return {
    method: request.method ?? "",
    path: pathname,
    team: /\/teams\/([^/]+)\//.exec(pathname)?.[1] ?? "",
    body: body === "" ? {} : (JSON.parse(body) as Record<string, unknown>),
    correlation: request.headers["x-request-id"] as string | undefined,
    authorization: request.headers.authorization,
  };
}

function send(response: ServerResponse, [status, body]: IssuerAnswer): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(body === undefined ? "" : JSON.stringify(body));
}
