import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { IncomingMessage, ServerResponse } from "node:http";
import { describe, expect, it, onTestFinished, type TestContext, vi } from "vitest";
import { definePlugin } from "../../../core/index.ts";
import { requirePresent } from "../../fixtures/programs.ts";
import { until } from "../../kit/until.ts";
import { Program } from "./attempt.ts";
import { documentOf, sendJson, serveDocuments } from "./client-documents.ts";
import { type LoginRig, setupLogin } from "./kit.ts";
import { OFFICIAL_CLIENTS, type OfficialClient } from "./official-clients.ts";

const ADMIN = "the-master-key-of-the-tests";
const ADA = "user:login:ada";

/** On loopback, where any port is as good. */
const REDIRECTS = ["http://localhost/callback", "http://localhost/oauth/callback"];

/** Has a call that runs until it is cancelled. */
const slow = definePlugin({
  name: "slow",
  setup(gateway) {
    gateway.tool("wait", {
      description: "Runs until it is cancelled.",
      run: (_args, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason as Error));
        }),
    });
  },
});

/** How a program is known: the document, where it has one, and which paths of its host were asked for. */
interface Known {
  readonly document: string | undefined;
  readonly paths: readonly string[];
}

const KNOWN: Readonly<Record<string, () => Promise<Known>>> = {
  "a registration": async () => ({ document: undefined, paths: [] }),
  "its metadata document": async () => {
    const { url: document, paths } = await serveDocuments((_req, res, own) =>
      sendJson(res, {
        ...documentOf(own),
        redirect_uris: REDIRECTS,
      }),
    );
    return { document, paths };
  },
};

interface Rig extends Awaited<ReturnType<typeof setupLogin>> {
  readonly client: OfficialClient;
  readonly known: Known;
}

/** @returns whether each session in which something was posted since has its stream, which clients ask for beside their calls */
function watchStreams(): () => boolean {
  const called = new Set<string>();
  const streams = new Map<string, ServerResponse>();
  const note = (message: unknown): void => {
    const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
    const id = request.headers["mcp-session-id"];
    if (typeof id !== "string") return;
    if (request.method === "GET") streams.set(id, response);
    else called.add(id);
  };
  subscribe("http.server.request.start", note);
  onTestFinished(() => void unsubscribe("http.server.request.start", note));
  return () => [...called].every((id) => streams.get(id)?.headersSent);
}

const KINDS = OFFICIAL_CLIENTS.map((kind) => [kind.name, kind] as const);

describe.each(KINDS)("%s", (_kind, { start, missing, atOnce = 2 }) => {
  describe.each(Object.entries(KNOWN))("with %s", (_name, setupKnown) => {
    const check = async (context: TestContext): Promise<void> => {
      const name = await missing?.();
      // Neither npm nor apt has it, so not in CI either: PYTHON names an interpreter that does.
      requirePresent(name ?? "", name === undefined, context, false);
    };
    const setup = async (context: TestContext, rig: LoginRig = {}): Promise<Rig> => {
      await check(context);
      const { document, paths } = await setupKnown();
      const gateway = await setupLogin({
        ...rig,
        options: { allowedAddresses: ["127.0.0.1"], ...rig.options },
      });
      const client = await start({ endpoint: gateway.endpoint, document });
      return { ...gateway, client, known: { document, paths } };
    };

    it("logs in at the provider and calls", async (context) => {
      const { client, endpoint, url, known } = await setup(context);
      expect(await client.call("who")).toBe(ADA);
      expect(client.asked).toHaveLength(1);
      const [asked] = client.asked;
      expect(asked!.searchParams.get("resource")).toBe(endpoint);
      expect(client.answer.searchParams.get("iss")).toBe(url);
      const id = client.saved().client_id;
      expect(asked!.searchParams.get("client_id")).toBe(id);
      const registered = [expect.stringMatching(/^ppi_/), []];
      const { document, paths } = known;
      expect([id, paths]).toEqual(
        document === undefined ? registered : [document, ["/client.json"]],
      );
    });

    it("refreshes a token that is over, for several calls at once, without its person", async (context) => {
      const haveStreams = watchStreams();
      const { client } = await setup(context, { options: { accessToken: "5m" } });
      expect(await client.call("who")).toBe(ADA);
      // A stream that is asked for with the old token would be one more refresh beside those of the calls.
      await until(haveStreams);
      const before = client.saved();
      // jose asks for the date, which sockets and timers do not need.
      vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 6 * 60_000 });
      onTestFinished(() => void vi.useRealTimers());
      client.later(6 * 60_000);
      const calls = Array.from({ length: atOnce }, () => client.call("who"));
      expect(new Set(await Promise.all(calls))).toEqual(new Set([ADA]));
      const after = client.saved();
      expect(after.client_id).toBe(before.client_id);
      expect(after.access_token).not.toBe(before.access_token);
      expect(after.refresh_token).not.toBe(before.refresh_token);
      expect(client.asked).toHaveLength(1);
    });

    it("that signs out ends its running call, and has to log in anew", async (context) => {
      const { client, gateway, url } = await setup(context, { plugins: [slow] });
      const ended = client.call("wait").catch((error: Error) => error.message);
      await expect.poll(() => gateway.inFlight).toBe(1);
      const { client_id, refresh_token } = client.saved();
      const revoked = await fetch(`${url}/oauth/revoke`, {
        method: "POST",
        body: new URLSearchParams({ token: refresh_token!, client_id }),
      });
      expect(revoked.status).toBe(200);
      expect(await ended).toContain("The program logged out.");
      expect(await client.callAnew("who")).toBe(ADA);
      expect(client.asked).toHaveLength(2);
    });

    it("whose login an administrator ends loses its running call, and has to log in anew", async (context) => {
      const { client, gateway, url } = await setup(context, {
        plugins: [slow],
        config: { auth: { apiKey: ADMIN }, management: { mutations: true } },
      });
      const ended = client.call("wait").catch((error: Error) => error.message);
      await expect.poll(() => gateway.inFlight).toBe(1);
      const gone = await fetch(`${url}/_meta/oauth/people/ada`, {
        method: "DELETE",
        headers: { authorization: `Bearer ${ADMIN}` },
      });
      expect(await gone.json()).toEqual({ ended: 1 });
      expect(await ended).toContain("An administrator ended the login.");
      expect(await client.callAnew("who")).toBe(ADA);
      expect(client.asked).toHaveLength(2);
    });

    it("logs in once more for a scope that is missing (step-up)", async (context) => {
      await check(context);
      const { document } = await setupKnown();
      const { endpoint, url } = await setupLogin({
        // mcp-remote takes all scopes that there are for its own choice, and asks for what it was told first.
        resource: { scopes: { look: "viewer", "mcp:call": "caller", "mcp:operate": "operator" } },
        options: { allowedAddresses: ["127.0.0.1"] },
      });
      const program = new Program(url);
      if (document === undefined) await program.register({ redirect_uris: REDIRECTS });
      else program.id = document;
      const { access_token } = await program.tokens({}, { scope: "look" });
      const before = { client_id: program.id, access_token: access_token! };
      const client = await start({ endpoint, document, before });
      expect(await client.call("who")).toBe(ADA);
      expect(client.asked).toHaveLength(1);
      const scopes = client.asked[0]!.searchParams.get("scope")!;
      expect(scopes.split(" ").toSorted()).toEqual(["look", "mcp:call"]);
    });
  });
});
